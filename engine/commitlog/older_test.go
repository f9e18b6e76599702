package commitlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
)

// rareCheckpoints has only those made that a start makes and a new topic.
func rareCheckpoints() commitlog.Config {
	config := smallConfig(commitlog.FlushGroup)
	config.CheckpointInterval, config.CheckpointBytes, config.PendingUnitsMax = time.Hour, 1<<20, 1<<20
	return config
}

// leaveFree takes all of the volume but so much.
func (b *book) leaveFree(left int64) error {
	dir, err := b.h.Disk(commitlog.StoreVolume)
	if err != nil {
		return err
	}
	ballast, err := dir.Create("ballast")
	if err != nil {
		return err
	}
	err = host.ErrNoSpace
	for errors.Is(err, host.ErrNoSpace) { // a log file may be made meanwhile
		var free int64
		if free, _, err = dir.Usage(); err == nil {
			err = ballast.Allocate(0, max(free-left, 0))
		}
	}
	return errors.Join(err, ballast.Sync(), ballast.Close(), dir.SyncDir())
}

// crashAtRemoval ends the process of a life when the log files that it has removed are so many, and has a checkpoint go bad then.
func (b *book) crashAtRemoval(life, removals int, spoilt string) *bool {
	seen, reached := 0, false
	b.world.OnMark(func(node *sim.Node, e host.Event) {
		if e.Name != series.PointRemoved || node.Epoch() != life || reached {
			return
		}
		if seen++; seen == removals {
			reached = true
			node.Crash(sim.KillProcess())
			if spoilt != "" {
				spoil(node, spoilt, 20)
			}
		}
	})
	return &reached
}

// TestAStartThatMakesRoomKeepsWhatEitherCheckpointNeeds: the volume is full, the older checkpoint begins in the first file of the log and the newer far
// behind, and the start is cut off when it has removed some files. Whichever of the two goes bad then, or if there was no room
// for a checkpoint at all, a queue whose messages are all gone goes on where it ended.
func TestAStartThatMakesRoomKeepsWhatEitherCheckpointNeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for _, c := range []struct {
		free   int64
		spoilt string
	}{{64 << 10, ""}, {64 << 10, slots[0]}, {64 << 10, slots[1]}, {0, ""}} {
		for removals := 1; removals < 4; removals++ {
			b := newBook(t, rareCheckpoints())
			b.node.Disk(commitlog.StoreVolume).Replace(1 << 20)
			reached := b.crashAtRemoval(2, removals, c.spoilt)
			b.lives(func() error {
				for range 3 {
					if err := b.add("early", 0); err != nil {
						return err
					}
				}
				err := errors.Join(b.addAll(30), b.settled(), b.store.CreateTopic("last", 1), b.leaveFree(c.free))
				b.node.Crash(sim.KillProcess())
				return err
			}, func() error { return nil }, func() error {
				if b.store.Stats().First == 0 {
					t.Error("no file has made room")
				}
				return b.mustHold(true)
			})
			if rebuilt := b.node.Visits(commitlog.PointRebuilt); !*reached || rebuilt > 0 {
				t.Errorf("%d bytes free, %q spoilt after %d removals (%v): %d starts without a checkpoint", c.free, c.spoilt, removals, *reached, rebuilt)
			}
		}
	}
}

// TestAStartThatMakesRoomKeepsTheKeyIndexOfTheOlderCheckpoint: that one has a file of the key index as the one being filled, which for the newer is an
// old one whose messages are all removed.
func TestAStartThatMakesRoomKeepsTheKeyIndexOfTheOlderCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	const removals = 12
	for _, spoilt := range slots {
		config := rareCheckpoints()
		config.IndexSlots, config.IndexEntries = 113, 141 // the entries begin where a sector does, and are written from then on
		b := newBook(t, config)
		b.node.Disk(commitlog.StoreVolume).Replace(2 << 20)
		reached := b.crashAtRemoval(2, removals, spoilt)
		b.lives(func() error {
			for range config.IndexEntries - 1 { // one file of the index is full then
				if err := b.add("orders", 0); err != nil {
					return err
				}
			}
			if b.store.Stats().Written > (removals-1)*config.FileBytes {
				t.Error("what the first file of the index is about has to be removed")
			}
			for b.store.Stats().Written < (removals+1)*config.FileBytes {
				if _, err := b.store.Append(message.Message{Topic: []byte("plain"), Body: make([]byte, 900)}); err != nil {
					return err
				}
			}
			err := errors.Join(b.settled(), b.store.CreateTopic("before", 1))
			for range 10 {
				err = errors.Join(err, b.add("orders", 0))
			}
			err = errors.Join(err, b.settled(), b.store.CreateTopic("last", 1), b.leaveFree(64<<10))
			b.node.Crash(sim.KillProcess())
			return err
		}, func() error { return nil }, func() error {
			for n := range 7 {
				found, err := b.store.Query("orders", keyOf(n), 0, 1<<62, 1)
				if err != nil {
					return err
				}
				if len(found) == 0 {
					return fmt.Errorf("%s leads to no message", keyOf(n))
				}
			}
			return b.mustHold(true)
		})
		if !*reached {
			t.Error("the start did not make as much room")
		}
	}
}
