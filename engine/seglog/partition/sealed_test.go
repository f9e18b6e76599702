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

// startCost is what a start asks of the disk.
type startCost struct {
	bytes, opens int64
	segments     int
}

// costOfStart has a partition written, killed, and opened again.
func costOfStart(t *testing.T, config partition.Config, appends int) (c startCost) {
	t.Helper()
	w, n := world(1, config)
	l, number, opening := newLog(), 0, false
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if opening && op.Kind == sim.DiskRead {
			c.bytes += op.Length
		}
		if opening && op.Kind == sim.DiskOpen {
			c.opens++
		}
		return sim.DiskEffect{}
	})
	boot := func(h host.Host) error {
		opening = number == 1
		life, err := begin(h, config)
		opening = false
		if number == 1 {
			c.segments = len(life.p.Segments())
			_, end, bounds := life.p.Bounds()
			if int(end) != appends {
				err = fmt.Errorf("it ends at %d, not %d", end, appends)
			}
			return errors.Join(err, bounds, life.end())
		}
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
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", number, err)
		}
		if number++; number < 2 {
			w.At(time.Millisecond, func() { n.Start(boot) })
		}
	})
	n.Start(boot)
	if v := w.Run(2 * time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return c
}

// TestAStartOpensNoSealedSegment: however many there are, a start after a crash opens the same files, and reads an item of 64 bytes
// for each.
func TestAStartOpensNoSealedSegment(t *testing.T) {
	few, many := costOfStart(t, smallConfig(), 83), costOfStart(t, smallConfig(), 1203)
	t.Logf("%+v, %+v", few, many)
	more := int64(many.segments - few.segments)
	if more < 100 {
		t.Fatalf("%d segments and %d", few.segments, many.segments)
	}
	// The newest segments differ by some messages, and by some blocks of checkpoints.
	if many.opens > few.opens+2 || many.bytes-few.bytes > 64*more+8*4096 {
		t.Errorf("for %d segments more a start opens %d files more and reads %d bytes more", more, many.opens-few.opens, many.bytes-few.bytes)
	}
}

// TestShortCheckpointsTakeNoMoreRoomThanTheirItems: of a long log with many short checkpoints, as there are where partitions are many,
// a start reads what its index items need and half of that again, not what was written for each checkpoint.
func TestShortCheckpointsTakeNoMoreRoomThanTheirItems(t *testing.T) {
	const appends = 2500
	n, bytes := crashed(t, unsealedConfig(), appends, untouched, func(l *log, life *life) error {
		_, end, err := life.p.Bounds()
		if end != appends {
			err = fmt.Errorf("it ends at %d: %w", end, err)
		}
		return err
	})
	written := n.Visits(partition.PointCheckpointed)
	const block, itemsOfBlock, loose = 4096, 255, 8 + 3
	items := int64(appends) // at most one a message, in both indexes
	if most := (2*items/itemsOfBlock*3/2 + loose) * block; bytes["0/0.checkpoint"] > most || bytes["0/0.checkpoint"] == 0 || written*2*block < 2*most {
		t.Errorf("of %d checkpoints a start read %d bytes, want %d at most", written, bytes["0/0.checkpoint"], most)
	}
	if n.Visits(partition.PointCheckpointsReplaced) == 0 || n.Visits(partition.PointCheckpointUsed) != 1 {
		t.Errorf("checkpoints were replaced %d times, and used %d times", n.Visits(partition.PointCheckpointsReplaced), n.Visits(partition.PointCheckpointUsed))
	}
}

// TestTheListOfSealedSegmentsIsAShortcutOnly: without it, with a part of it, or with bytes that rotted, all is there.
func TestTheListOfSealedSegmentsIsAShortcutOnly(t *testing.T) {
	for name, spoil := range map[string]func(dir host.Dir) error{
		"missing": func(dir host.Dir) error { return removeAll(dir, "sealed") },
		"short":   func(dir host.Dir) error { return truncate(dir, "sealed", 3) },
		"zeros":   func(dir host.Dir) error { return zero(dir, "sealed") },
		"rotten":  func(dir host.Dir) error { return rotHeader(dir, "sealed") },
		"foreign": func(dir host.Dir) error {
			f, err := dir.Open("sealed")
			if err != nil {
				return err
			}
			return errors.Join(host.WriteFullAt(f, make([]byte, 100_000), 0), f.Sync(), f.Close())
		},
	} {
		l := newLog()
		c := spoilt{name: name, closed: true, config: smallConfig()}
		check := func(_ host.Host, life *life) error {
			return errors.Join(l.check(life.p), l.append(life.p, 1), l.check(life.p))
		}
		c.run(t, []func(h host.Host, life *life) error{
			func(_ host.Host, life *life) (err error) {
				for range 60 {
					err = errors.Join(err, l.append(life.p, 1))
				}
				return err
			},
			func(_ host.Host, life *life) error { return spoil(life.dir) },
			check, check,
		})
	}
}

// TestAnItemOfAnotherLifeIsNotBelieved: somebody removes the newest segment by hand, others take its cursors, and a crash comes before
// the list names their segment: what it says of the removed one must not be taken for it.
func TestAnItemOfAnotherLifeIsNotBelieved(t *testing.T) {
	config := smallConfig()
	w, n := world(1, config)
	l, number := newLog(), 0
	l.prefix = true // what is removed by hand is lost
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if number == 2 && op.Kind == sim.DiskWrite && op.Path == "0/sealed" {
			n.Crash(sim.KillProcess())
		}
		return sim.DiskEffect{}
	})
	var newest partition.SegmentStats
	add := func(h host.Host, count int) error {
		life, err := begin(h, config)
		if _, end, bounds := life.p.Bounds(); number == 3 && end != newest.Next {
			err = errors.Join(err, bounds, fmt.Errorf("it ends at cursor %d, and ended at %d", end, newest.Next))
		}
		for range count {
			if err == nil {
				err = l.append(life.p, 1)
			}
		}
		newest = last(life.p.Segments())
		return errors.Join(err, l.check(life.p), life.end())
	}
	bodies := []func(h host.Host) error{
		func(h host.Host) error { return add(h, 3) },
		func(h host.Host) error {
			d, err := h.Disk(volume)
			if err != nil {
				return err
			}
			dir, err := d.Sub("0")
			if err != nil {
				return err
			}
			return removeAll(dir, logName(newest), fmt.Sprintf("%d.index", newest.Base), fmt.Sprintf("%d.timeindex", newest.Base))
		},
		func(h host.Host) error { return add(h, 8) },
		func(h host.Host) error { return add(h, 1) },
	}
	n.OnExit(func(err error, crashed bool) {
		if err != nil || crashed != (number == 2) {
			t.Errorf("life %d, crashed %v: %v", number, crashed, err)
		}
		if number++; number < len(bodies) {
			w.At(time.Millisecond, func() { n.Start(bodies[number]) })
		}
	})
	n.Start(bodies[0])
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}
