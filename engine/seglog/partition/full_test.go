package partition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestAFullDiskLeavesNoAppendInDoubt: whichever write the disk has no room for, what was to be stored with it is refused as not
// stored, and it is not there: neither after a power cut, nor for a start that finds the disk full, which serves all that was
// acknowledged.
func TestAFullDiskLeavesNoAppendInDoubt(t *testing.T) {
	for _, config := range crashConfigs()[:2] {
		for write := int64(1); ; write++ {
			if testing.Short() && write%4 != 0 {
				continue
			}
			c := fullDisk{config: config, write: write, log: newLog()}
			if c.run(t); !c.full {
				if write < 20 {
					t.Errorf("only %d writes", write)
				}
				break
			}
		}
	}
}

// fullDisk is a trial in which a disk is full from one of its writes on, until the third life.
type fullDisk struct {
	config partition.Config
	write  int64
	log    *log
	full   bool
	life   int
}

func (c *fullDisk) run(t *testing.T) {
	w, n := world(uint64(c.write), c.config)
	writes := int64(0)
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind != sim.DiskWrite || c.life >= 2 {
			return sim.DiskEffect{}
		}
		if writes++; writes < c.write {
			return sim.DiskEffect{}
		}
		c.full = true
		return sim.DiskEffect{Err: host.ErrNoSpace, Short: int(op.Length / 2)}
	})
	bodies := []func(h host.Host) error{
		func(h host.Host) error { return c.fill(h, n) },
		c.serve,
		func(h host.Host) error {
			life, err := begin(h, c.config)
			if err != nil {
				return err
			}
			return errors.Join(c.log.check(life.p), c.log.append(life.p, 1), c.log.check(life.p), life.end())
		},
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("write %d, sync %s, life %d: %v", c.write, c.config.Sync, c.life, err)
		}
		if c.life++; c.life < len(bodies) {
			w.At(time.Millisecond, func() { n.Start(bodies[c.life]) })
		}
	})
	n.Start(bodies[0])
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

// fill appends until the disk is full, or enough is there, and ends with a power cut.
func (c *fullDisk) fill(h host.Host, n *sim.Node) error {
	life, err := begin(h, c.config)
	for i := 0; err == nil && i < 20; i++ {
		err = c.log.append(life.p, 1+i%3)
	}
	if err != nil && (!errors.Is(err, host.ErrNoSpace) || errors.Is(err, partition.ErrOutcomeUnknown)) {
		return err
	}
	if err == nil {
		err = life.end()
		if errors.Is(err, host.ErrNoSpace) {
			err = nil // it could not be sealed
		}
		return err
	}
	n.Crash(sim.PowerCut([]disk.Survival{disk.Torn, disk.Drop, disk.Keep, disk.RandomPages}[c.write%4]))
	return nil
}

// serve opens the partition on the full disk, and reads what was acknowledged.
func (c *fullDisk) serve(h host.Host) error {
	if !c.full {
		return nil
	}
	life, err := begin(h, c.config)
	if err != nil && !errors.Is(err, host.ErrNoSpace) {
		return err
	}
	if len(c.log.acked) > 0 {
		err = c.log.check(life.p)
	} else {
		err = nil // a log without a message that is torn cannot be settled, and holds nothing
	}
	if err != nil {
		return fmt.Errorf("on a full disk: %w", err)
	}
	if err := life.end(); err != nil && !errors.Is(err, host.ErrNoSpace) {
		return err
	}
	return nil
}

// TestATornLogWithoutRoomKeepsItsName: retention has removed all segments but the newest, whose first group a crash has torn, so that
// only its name tells the next cursor. A start that has no room for a copy of it fails, and must not begin at cursor 0 when there is
// room again.
func TestATornLogWithoutRoomKeepsItsName(t *testing.T) {
	config := crashConfigs()[0]
	l, full := newLog(), false
	w, n := world(1, config)
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if full && (op.Kind == sim.DiskWrite || op.Kind == sim.DiskCreate && strings.HasSuffix(op.Path, host.UnfinishedSuffix)) {
			return sim.DiskEffect{Err: host.ErrNoSpace}
		}
		return sim.DiskEffect{}
	})
	var next partition.Cursor
	bodies := []func(h host.Host) error{
		func(h host.Host) error {
			life, err := begin(h, config)
			for i := 0; err == nil && i < 10; i++ {
				err = l.append(life.p, 1)
			}
			for i := 0; err == nil && i < 5; i++ {
				_, err = l.retain(life.p, partition.Keep{From: 1 << 40})
				h.Root().Sleep(time.Second)
			}
			if err != nil {
				return err
			}
			first, end, err := life.p.Bounds()
			if err != nil || first != end || end == 0 {
				return fmt.Errorf("cursors %d to %d are there: %w", first, end, err)
			}
			next = end
			f, err := life.dir.Open(fmt.Sprintf("%d.log", end))
			if err != nil {
				return err
			}
			err = errors.Join(host.WriteFullAt(f, []byte("the first group of it is torn"), 0), f.Sync(), f.Close(),
				life.dir.Remove("sealed"), life.dir.SyncDir()) // it is not synced: a crash may take it
			n.Crash(sim.PowerCut(disk.Keep))
			return err
		},
		func(h host.Host) error {
			full = true
			life, err := begin(h, config)
			full = false
			if err == nil {
				return errors.New("the start did not say that it failed")
			}
			if err := life.p.Restore(); err != nil {
				return err
			}
			c, err := life.p.Append(message1(l))
			if err != nil || c != next {
				return fmt.Errorf("the next message is at cursor %d, want %d: %w", c, next, err)
			}
			return life.end()
		},
	}
	life := 0
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", life, err)
		}
		if life++; life < len(bodies) {
			w.At(time.Millisecond, func() { n.Start(bodies[life]) })
		}
	})
	n.Start(bodies[0])
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

func message1(l *log) []partition.Message {
	_, m := l.make()
	return []partition.Message{m}
}
