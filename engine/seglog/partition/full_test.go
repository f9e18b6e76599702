package partition_test

import (
	"errors"
	"fmt"
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
