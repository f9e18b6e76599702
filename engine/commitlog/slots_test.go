package commitlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

var slots = commitlog.CheckpointFiles()

// spoil flips a bit of a file on the media, if it is there.
func spoil(node *sim.Node, name string, offset int64) {
	model := node.Disk(commitlog.StoreVolume).Model()
	_ = model.Rot(name, offset, 3) // it may not be there yet
	model.DropCaches()
}

// TestABadCheckpointCostsTimeAndNothingElse: wherever the power goes, whichever of the two checkpoints has gone bad when the store starts
// again, everything that was promised is there.
func TestABadCheckpointCostsTimeAndNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	stride, _ := strideOf()
	stride = 17*stride + 1 // of calls; LAKEBED_CRASH_SEEDS takes more
	bad, points := int64(0), int64(0)
	for _, arm := range arms {
		for i, survival := range []disk.Survival{disk.Drop, disk.Torn, disk.Keep} {
			for slot, name := range slots {
				for call := 60 + 31*(2*i+slot); ; call += stride {
					w := newTrial(uint64(call), arm.mode, arm.preallocation)
					passed, reached := 0, false
					w.disturb = func(int, int, *sim.DiskOp) sim.DiskEffect {
						if passed++; !reached && passed == call {
							reached = true
							w.node.Crash(sim.PowerCut(survival))
							w.world.At(500*time.Microsecond, func() { spoil(w.node, name, int64(9+call%20)) })
						}
						return sim.DiskEffect{}
					}
					err := w.run()
					bad += w.node.Visits(commitlog.PointBadCheckpoint)
					w.world.Release()
					if err != nil {
						t.Fatalf("%s, power cut at call %d, %v, %s spoilt: %v", arm.mode, call, survival, name, err)
					}
					if !reached {
						break
					}
					points++
				}
			}
		}
	}
	if bad*3 < points*2 || points < 10 {
		t.Errorf("after %d power cuts %d starts met a bad checkpoint", points, bad)
	}
}

// TestTopicsKeepTheirQueuesWithoutACheckpoint: one slot or both are spoilt, or gone, behind a power cut that takes every name which is
// not durable. A topic that was created keeps its queues, messages or none.
func TestTopicsKeepTheirQueuesWithoutACheckpoint(t *testing.T) {
	for _, spoilt := range [][]string{slots[:1], slots[1:], slots} {
		for _, created := range []int{1, 2, 3} { // the last checkpoint lies in the one slot or the other
			b := newBook(t, smallConfig(commitlog.FlushGroup))
			b.lives(func() error {
				for i := range created {
					if err := b.store.CreateTopic(fmt.Sprint("empty", i), int32(5+i)); err != nil {
						return err
					}
				}
				if err := b.addAll(20); err != nil {
					return err
				}
				for _, topic := range []string{"orders", "last"} {
					if err := b.store.CreateTopic(topic, 9); err != nil {
						return err
					}
				}
				b.world.At(100*time.Microsecond, func() {
					b.node.Crash(sim.PowerCut(disk.Drop))
					for _, name := range spoilt {
						spoil(b.node, name, 20)
					}
				})
				b.h.Root().Sleep(time.Second)
				return nil
			}, func() error {
				for i := range created {
					if got := b.store.Queues(fmt.Sprint("empty", i)); got != int32(5+i) {
						t.Errorf("%v spoilt: topic empty%d has %d queues", spoilt, i, got)
					}
				}
				if b.store.Queues("orders") != 9 || b.store.Queues("last") != 9 {
					t.Errorf("%v spoilt: %d and %d queues", spoilt, b.store.Queues("orders"), b.store.Queues("last"))
				}
				return errors.Join(b.mustHold(true), b.addAll(10), b.mustHold(true))
			}, func() error { return b.mustHold(true) })
			if b.node.Visits(commitlog.PointBadCheckpoint) != int64(len(spoilt)) {
				t.Errorf("%v spoilt: %d bad checkpoints were met", spoilt, b.node.Visits(commitlog.PointBadCheckpoint))
			}
		}
	}
}

// TestWithoutCheckpointsRotIsNotTakenForTheEnd: both checkpoints are bad, and so is a record in the middle of the log. The store says which
// file is damaged and what can be done, instead of serving what lies before it.
func TestWithoutCheckpointsRotIsNotTakenForTheEnd(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	node := w.NewNode("broker")
	config := smallConfig(commitlog.FlushGroup)
	var ends []error
	node.OnExit(func(err error, _ bool) {
		if ends = append(ends, err); len(ends) > 1 {
			return
		}
		for _, name := range append([]string{"commitlog/" + strings.Repeat("0", 20)}, slots...) {
			spoil(node, name, 60)
		}
		w.At(0, func() {
			node.Start(func(h host.Host) error {
				_, err := commitlog.Open(h, h.Root(), config)
				return err
			})
		})
	})
	node.Start(func(h host.Host) error {
		s, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		for n := range 60 {
			if _, err := s.Append(makeMessage("orders", 0, n)); err != nil {
				return err
			}
		}
		return s.Close()
	})
	if v := w.Run(time.Hour); v.Failed() || len(ends) != 2 || ends[0] != nil {
		t.Fatal(v.String(), ends)
	}
	err := ends[1]
	if !errors.Is(err, commitlog.ErrCorrupt) || !strings.Contains(err.Error(), "log file "+strings.Repeat("0", 20)+" at 0") || !strings.Contains(err.Error(), "move ") {
		t.Errorf("%v", err)
	}
}

// TestWhatAStartCutsOffIsTold with its file, place, length and reason, and counted; an end that is blank is no news.
func TestWhatAStartCutsOffIsTold(t *testing.T) {
	for _, damage := range []bool{false, true} {
		config := smallConfig(commitlog.FlushGroup)
		config.CheckpointInterval, config.CheckpointBytes = time.Hour, 1<<20
		b := newBook(t, config)
		var end int64
		var lines []string
		b.world.OnLog(func(_ *sim.Node, line sim.LogLine) {
			if line.Level == host.Warn {
				lines = append(lines, fmt.Sprint(line.Message, line.Fields))
			}
		})
		b.lives(func() error {
			if err := b.addAll(4); err != nil {
				return err
			}
			end = b.store.Stats().Written
			if damage {
				f, err := b.logFile(end - end%config.FileBytes)
				if err != nil {
					return err
				}
				if err := errors.Join(host.WriteFullAt(f, []byte("no record"), end%config.FileBytes), f.Sync(), f.Close()); err != nil {
					return err
				}
			}
			b.node.Crash(sim.KillProcess())
			return nil
		}, func() error {
			cut := b.store.Stats().Cut
			if damage != (cut == int64(len("no record"))) || damage != (len(lines) == 1) {
				t.Errorf("%d bytes were cut off, and said: %q", cut, lines)
			}
			if want := fmt.Sprint(end); damage && !strings.Contains(lines[0], want) {
				t.Errorf("%s has no %s", lines[0], want)
			}
			return b.mustHold(true)
		})
	}
}
