package series_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const fileBytes = 4096

func smallSeries() series.Config {
	return series.Config{FileBytes: fileBytes, Preallocation: series.Fallocated, RetryPause: time.Millisecond}
}

// lives runs one process after the other on one node. Each may crash it.
func lives(t *testing.T, processes ...func(n *sim.Node, h host.Host, dir host.Dir) error) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	w := sim.New(sim.Config{Seed: 1})
	node := w.NewNode("node")
	boot := func(h host.Host) error {
		dir, err := h.Disk("log")
		if err != nil {
			return err
		}
		return processes[node.Epoch()-1](node, h, dir)
	}
	node.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", node.Epoch(), err)
		}
		if node.Epoch() < len(processes) {
			w.At(0, func() { node.Start(boot) })
		}
	})
	node.Start(boot)
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	if node.Epoch() != len(processes) {
		t.Fatalf("%d of %d lives", node.Epoch(), len(processes))
	}
}

// threeFiles makes a series of three files at least, full of a byte.
func threeFiles(_ *sim.Node, h host.Host, dir host.Dir) error {
	s, err := series.Open(h, dir, smallSeries())
	if err != nil {
		return err
	}
	s.Start(h.Root(), 0)
	for base := int64(0); base < 3*fileBytes; base += fileBytes {
		if err := errors.Join(s.Await(base), s.WriteAt(bytes.Repeat([]byte{'x'}, fileBytes), base)); err != nil {
			return err
		}
	}
	return errors.Join(s.Sync(0, 3*fileBytes), s.Close())
}

// TestAFileThatAKilledStartRemovedStaysAway: the start removed the files behind a cut and was killed before it had synced their directory. The
// next one does not see them, and cuts. If power then goes they would be back behind a file that is too short, or with old records
// behind new ones. (Seed 70019319 of commitlog.)
func TestAFileThatAKilledStartRemovedStaysAway(t *testing.T) {
	for name, cut := range map[string]func(op *sim.DiskOp) bool{
		"behind a short file":     func(op *sim.DiskOp) bool { return op.Kind == sim.DiskAllocate },
		"behind a file cut whole": func(*sim.DiskOp) bool { return false },
	} {
		t.Run(name, func(t *testing.T) {
			lives(t, threeFiles, func(n *sim.Node, h host.Host, dir host.Dir) error {
				infos, err := dir.List()
				for _, info := range infos {
					if base, ok := series.ParseFileName(info.Name); ok && base > fileBytes {
						err = errors.Join(err, dir.Remove(info.Name))
					}
				}
				n.Crash(sim.KillProcess())
				return err
			}, func(n *sim.Node, h host.Host, dir host.Dir) error {
				n.Disk("log").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if cut(op) {
						n.Crash(sim.PowerCut(disk.Drop))
					}
					return sim.DiskEffect{}
				})
				s, err := series.Open(h, dir, smallSeries())
				if err == nil {
					err = s.Cut(fileBytes + 100)
				}
				n.Crash(sim.PowerCut(disk.Drop))
				return err
			}, func(n *sim.Node, h host.Host, dir host.Dir) error {
				n.Disk("log").SetFaults(nil)
				s, err := series.Open(h, dir, smallSeries())
				if err != nil {
					return err
				}
				if s.Limit() != 2*fileBytes {
					return fmt.Errorf("files up to %d are there, the log was cut at %d", s.Limit(), fileBytes+100)
				}
				return s.Close()
			})
		})
	}
}

// TestAFileThatAKilledProcessNamedStays: it was killed between the naming of a file and the sync of the directory. The next one finds the
// file and writes to it, and what it has synced there is on the disk.
func TestAFileThatAKilledProcessNamedStays(t *testing.T) {
	var at int64
	lives(t, threeFiles, func(n *sim.Node, h host.Host, dir host.Dir) error {
		infos, err := dir.List()
		if err != nil {
			return err
		}
		at = int64(len(infos)) * fileBytes
		fresh := series.FileName(at) + host.UnfinishedSuffix
		f, err := dir.Create(fresh)
		if err == nil {
			err = errors.Join(f.Allocate(0, fileBytes), f.Sync(), f.Close(), dir.Rename(fresh, series.FileName(at)))
		}
		n.Crash(sim.KillProcess())
		return err
	}, func(n *sim.Node, h host.Host, dir host.Dir) error {
		s, err := series.Open(h, dir, smallSeries())
		if err != nil {
			return err
		}
		if s.Limit() != at+fileBytes {
			return fmt.Errorf("files up to %d are there, want %d", s.Limit(), at+fileBytes)
		}
		err = errors.Join(s.WriteAt([]byte("acknowledged"), at), s.Sync(at, at+fileBytes))
		n.Crash(sim.PowerCut(disk.Drop))
		return err
	}, func(n *sim.Node, h host.Host, dir host.Dir) error {
		s, err := series.Open(h, dir, smallSeries())
		if err != nil {
			return err
		}
		p := make([]byte, len("acknowledged"))
		if s.Limit() != at+fileBytes {
			return fmt.Errorf("files up to %d are left of those up to %d", s.Limit(), at+fileBytes)
		}
		if err := s.ReadAt(p, at); err != nil || string(p) != "acknowledged" {
			return fmt.Errorf("what was synced reads as %q, %v", p, err)
		}
		return s.Close()
	})
}
