package commitlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestUnitsOfAStreamAreMadeTogether: of appends that follow each other closely, one batch a pause is dispatched. A message that
// comes alone has its unit at once, and so has each that a consumer waits for; one who finds nothing has them made.
func TestUnitsOfAStreamAreMadeTogether(t *testing.T) {
	const pause, soon = 100 * time.Millisecond, 30 * time.Millisecond
	config := smallConfig(commitlog.FlushNever)
	config.DispatchPause, config.DispatchBytes = pause, 1<<20
	b := newBook(t, config)
	b.lives(func() error {
		if err := b.store.CreateTopic("orders", 1); err != nil {
			return err
		}
		look := func(what string, ahead int, suspend time.Duration, want commitlog.Status) error {
			at, begun := int64(b.sent["orders/0"]-1+ahead), b.h.Elapsed()
			r, err := b.store.Pull(commitlog.PullRequest{Topic: "orders", Offset: at, Suspend: suspend})
			if took := b.h.Elapsed() - begun; err != nil || r.Status != want || took > soon {
				return fmt.Errorf("%s: %v after %v, want %v: %w", what, r.Status, took, want, err)
			}
			return nil
		}
		b.h.Root().Sleep(2 * pause)
		begun, before := b.h.Elapsed(), b.node.Visits(commitlog.PointDispatched)
		for range 300 {
			if err := b.add("orders", 0); err != nil {
				return err
			}
			b.h.Root().Sleep(time.Millisecond)
		}
		batches, most := b.node.Visits(commitlog.PointDispatched)-before, int64((b.h.Elapsed()-begun)/pause)+2
		if batches > most || batches < 2 {
			return fmt.Errorf("%d batches of units, want 2 to %d", batches, most)
		}
		if err := look("a long pull", 0, time.Second, commitlog.Found); err != nil {
			return err
		}
		waiting := b.h.Root().New("consumer")
		var waited error
		waiting.Go("consumer", func() { waited = look("a pull that waits while the dispatcher rests", 1, time.Second, commitlog.Found) })
		waiting.Sleep(time.Millisecond)
		if err := b.add("orders", 0); err != nil {
			return err
		}
		if waiting.Wait(); waited != nil {
			return waited
		}
		b.h.Root().Sleep(2 * pause)
		if err := b.add("orders", 0); err != nil {
			return err
		}
		b.h.Root().Sleep(soon)
		if err := look("a message that came alone", 0, 0, commitlog.Found); err != nil {
			return err
		}
		if err := b.add("orders", 0); err != nil { // within the pause
			return err
		}
		if err := look("a short pull within the pause", 0, 0, commitlog.OffsetOverflowOne); err != nil {
			return err
		}
		b.h.Root().Sleep(soon)
		return look("the next one", 0, 0, commitlog.Found)
	})
}

// TestAnAppendThatWaitsForACheckpointEndsTheDispatchersPause: the checkpoint waits for units, and these for a pause that is for those who wait
// for nothing. A lone appender holds the turn to commit meanwhile, and a Close must come through all the same.
func TestAnAppendThatWaitsForACheckpointEndsTheDispatchersPause(t *testing.T) {
	const pause, soon = 10 * time.Second, 100 * time.Millisecond
	config := smallConfig(commitlog.FlushNever)
	config.DispatchPause, config.DispatchBytes = pause, 1<<20
	config.CheckpointInterval, config.CheckpointBytes, config.UncheckedBytesMax = time.Hour, 4<<10, 6<<10
	b := newBook(t, config)
	b.lives(func() error {
		for range 60 {
			begun := b.h.Elapsed()
			if err := b.add("orders", 0); err != nil {
				return err
			}
			if took := b.h.Elapsed() - begun; took > soon {
				return fmt.Errorf("an append took %v", took)
			}
		}
		if b.node.Visits(commitlog.PointUnchecked) < 5 {
			t.Errorf("appends have waited for a checkpoint %d times", b.node.Visits(commitlog.PointUnchecked))
		}
		begun := b.h.Elapsed()
		waiting := b.h.Root().New("writers")
		var failed error
		waiting.Go("writer", func() {
			for failed == nil {
				failed = b.add("orders", 0)
			}
		})
		waiting.Sleep(soon)
		err := b.store.Close()
		waiting.Wait()
		if took := b.h.Elapsed() - begun; took > 2*soon || !errors.Is(failed, commitlog.ErrStopped) {
			t.Errorf("Close has come through after %v, and the append after it says %v", took, failed)
		}
		b.sent["orders/0"]--
		return err
	}, func() error { return b.mustHold(true) })
}

// TestZerosAheadComeOncePerStretch, in the synced modes of fallocated files only, and harm no message: each file is written
// ahead in stretches of ZeroAheadBytes, and all messages are there after a power cut.
func TestZerosAheadComeOncePerStretch(t *testing.T) {
	for _, c := range []struct {
		mode          commitlog.FlushMode
		preallocation series.Preallocation
		ahead         int64
		zeros         bool
	}{
		{commitlog.FlushGroup, series.Fallocated, 4 << 10, true},
		{commitlog.FlushAlways, series.Fallocated, 8 << 10, true},
		{commitlog.FlushGroup, series.Fallocated, 0, false},
		{commitlog.FlushNever, series.Fallocated, 4 << 10, false},
		{commitlog.FlushGroup, series.Sparse, 4 << 10, false},
	} {
		config := smallConfig(c.mode)
		config.Preallocation, config.ZeroAheadBytes = c.preallocation, c.ahead
		b := newBook(t, config)
		stretches, groups := 0, 0
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskWrite && strings.HasPrefix(op.Path, "commitlog/") {
				groups++
			}
			return sim.DiskEffect{}
		})
		b.lives(func() error {
			if err := b.addAll(20); err != nil {
				return err
			}
			stretches = groups - int(b.node.Visits(commitlog.PointWritten))
			written, files := b.store.Stats().Written, b.store.Stats().Written/config.FileBytes+1
			if most := int(written/max(c.ahead, 1) + 2*files); c.zeros && (stretches < int(files) || stretches > most) {
				t.Errorf("%+v: %d writes of zeros into %d files, want at most %d", c, stretches, files, most)
			}
			if rolled := int(b.node.Visits(commitlog.PointRolled)); !c.zeros && stretches > rolled { // a group may lie in two files
				t.Errorf("%+v: %d writes that are no group's", c, stretches)
			}
			if c.mode != commitlog.FlushNever {
				b.world.At(0, func() { b.node.Crash(sim.PowerCut(disk.Mixed)) })
				b.h.Root().Sleep(time.Second)
			}
			return nil
		}, func() error { return b.mustHold(true) })
	}
}
