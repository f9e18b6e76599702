package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
)

// unsealedConfig has one segment that takes all, and checkpoints of a few messages each.
func unsealedConfig() partition.Config {
	c := smallConfig()
	c.SegmentBytes, c.IndexItemsMax = 1<<20, 10_000
	return c
}

// crashed runs a life that appends so many messages and is killed, then changes its files, and then a life that tells what
// it finds. It counts what the last one reads of each file to open it.
func crashed(t *testing.T, config partition.Config, appends int, between func(dir host.Dir) error, then func(l *log, life *life) error) (*sim.Node, map[string]int64) {
	t.Helper()
	w, n := world(1, config)
	l, number := newLog(), 0
	opening, bytes := false, map[string]int64{}
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if opening && op.Kind == sim.DiskRead {
			bytes[op.Path] += op.Length
		}
		return sim.DiskEffect{}
	})
	bodies := []func(h host.Host) error{
		func(h host.Host) error {
			life, err := begin(h, config)
			for range appends {
				if err == nil {
					err = l.append(life.p, 1)
				}
			}
			h.Root().Sleep(time.Second) // the settling task comes to its end
			if err == nil {
				w.At(time.Millisecond, func() { n.Crash(sim.KillProcess()) })
				h.Root().Sleep(time.Hour)
			}
			return err
		},
		func(h host.Host) error {
			d, err := h.Disk(volume)
			if err != nil {
				return err
			}
			dir, err := d.Sub("0")
			if err != nil {
				return err
			}
			return between(dir)
		},
		func(h host.Host) error {
			opening = true
			life, err := begin(h, config)
			opening = false
			if err != nil {
				return err
			}
			return errors.Join(then(l, life), life.end())
		},
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", number, err)
		}
		if number++; number < len(bodies) {
			w.At(time.Millisecond, func() { n.Start(bodies[number]) })
		}
	})
	n.Start(bodies[0])
	if v := w.Run(2 * time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return n, bytes
}

func untouched(host.Dir) error { return nil }

// TestAStartReadsWhatNoCheckpointCovers: of a long log that was not sealed, a start after a crash reads a part that does not
// grow with the log.
func TestAStartReadsWhatNoCheckpointCovers(t *testing.T) {
	var read []int64
	for _, appends := range []int{100, 800} {
		n, bytes := crashed(t, unsealedConfig(), appends, untouched, func(l *log, life *life) error {
			first, end, err := life.p.Bounds()
			if first != 0 || end != partition.Cursor(appends) {
				return fmt.Errorf("cursors %d to %d are there", first, end)
			}
			return errors.Join(err, l.check(life.p))
		})
		if n.Visits(partition.PointCheckpointUsed) != 1 {
			t.Errorf("%d appends: %d checkpoints were used", appends, n.Visits(partition.PointCheckpointUsed))
		}
		read = append(read, bytes["0/0.log"])
	}
	t.Logf("bytes of the log that were read: %v", read)
	if read[0] == 0 || read[1] > 2*read[0] {
		t.Errorf("a start read %d bytes after 100 messages, and %d after 800", read[0], read[1])
	}
}

// TestADamagedCheckpointCostsAScan: whatever byte of it rots, all messages are there.
func TestADamagedCheckpointCostsAScan(t *testing.T) {
	const appends = 40
	used := int64(0)
	for at := int64(0); at < 4096*6; at += 731 {
		n, _ := crashed(t, unsealedConfig(), appends, func(dir host.Dir) error {
			f, err := dir.Open("0.checkpoint")
			if err != nil {
				return err
			}
			one := make([]byte, 1)
			if _, err := host.ReadFull(f, one, at); err != nil {
				return err
			}
			one[0] ^= 8
			return errors.Join(host.WriteFullAt(f, one, at), f.Sync(), f.Close())
		}, func(l *log, life *life) error { return l.check(life.p) })
		used += n.Visits(partition.PointCheckpointUsed)
		if n.Visits(partition.PointMessagesMissing)+n.Visits(partition.PointTornTail) > 0 {
			t.Errorf("byte %d: the log was called damaged", at)
		}
	}
	if used == 0 {
		t.Error("no checkpoint before the damage was ever used")
	}
}

// TestCommitsWaitForSegmentsToBeSealed: no more than UnsealedMax full segments are there when another log is made, however
// slow the disk is with index files.
func TestCommitsWaitForSegmentsToBeSealed(t *testing.T) {
	config := smallConfig()
	w, n := world(1, config)
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind == sim.DiskRename {
			return sim.DiskEffect{Delay: time.Second}
		}
		return sim.DiskEffect{}
	})
	n.Start(func(h host.Host) error {
		life, err := begin(h, config)
		if err != nil {
			return err
		}
		l := newLog()
		for range 100 {
			err = errors.Join(err, l.append(life.p, 1))
			unsealed := 0
			for _, s := range life.p.Segments() {
				if !s.Sealed {
					unsealed++
				}
			}
			if unsealed > config.UnsealedMax+1 {
				return fmt.Errorf("%d segments are not sealed", unsealed)
			}
		}
		return errors.Join(err, l.check(life.p), life.end())
	})
	if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
		t.Fatal(v.String(), n.BootErr())
	}
	if n.Visits(partition.PointUnsealedWait) == 0 {
		t.Error("no commit ever waited")
	}
}
