package commitlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestNoFileGoesBeforeItsUnitsAreDurable, however old it is: else a crash would leave queues that lack what no log can give back.
func TestNoFileGoesBeforeItsUnitsAreDurable(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	config.CheckpointInterval, config.CheckpointBytes, config.PendingUnitsMax = time.Hour, 1<<30, 1<<30
	config.Retention.Age = time.Millisecond
	for hour := range 24 {
		config.Retention.DeleteHours = append(config.Retention.DeleteHours, hour)
	}
	b := newBook(t, config)
	b.lives(func() error {
		if err := errors.Join(b.addAll(60), b.settled()); err != nil {
			return err
		}
		b.h.Root().Sleep(time.Second)
		if err := b.store.Clean(); err != nil {
			return err
		}
		if first := b.store.Stats().First; first != 0 {
			t.Errorf("the log begins at %d, and no checkpoint covers what is gone", first)
		}
		for i, topic := range []string{"other", "third"} { // has a checkpoint made
			if err := b.store.CreateTopic(topic, 1); err != nil {
				return err
			}
			if err := b.store.Clean(); err != nil {
				return err
			}
			if gone := b.store.Stats().First > 0; gone != (i == 1) {
				t.Errorf("after %d checkpoints the log begins at %d: a start may have to go by the older of two", i+1, b.store.Stats().First)
			}
		}
		b.node.Crash(sim.PowerCut(disk.Drop))
		return nil
	}, func() error { return b.mustHold(true) })
}

// TestACheckpointDoesNotMakeUpForAFailedSync: the sync at an interval fails while a checkpoint is under way, whose own sync of
// the same bytes would succeed, and prove nothing.
func TestACheckpointDoesNotMakeUpForAFailedSync(t *testing.T) {
	config := smallConfig(commitlog.FlushInterval)
	config.QueueFileUnits, config.FlushInterval, config.CheckpointInterval = 8, 60*time.Millisecond, time.Hour
	config.CheckpointBytes, config.PendingUnitsMax = 1<<30, 1<<30
	b := newBook(t, config)
	armed := false
	b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		switch {
		case op.Kind != sim.DiskSync || b.node.Epoch() > 1:
		case strings.HasPrefix(op.Path, "consumequeue/"):
			return sim.DiskEffect{Delay: 100 * time.Millisecond} // the checkpoint comes to the log late
		case armed && strings.HasPrefix(op.Path, "commitlog/"+series.FileName(0)):
			armed = false
			return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
		}
		return sim.DiskEffect{}
	})
	b.lives(func() error {
		b.h.Root().Sleep(time.Second + 5*time.Millisecond) // files are made ahead, and synced
		armed = true
		for range 20 {
			if err := b.add("orders", 0); err != nil {
				return err
			}
		}
		if err := b.settled(); err != nil {
			return err
		}
		if err := b.store.CreateTopic("other", 1); err == nil {
			t.Error("a checkpoint succeeded over a failed sync")
		}
		b.node.Crash(sim.PowerCut(disk.Drop))
		return nil
	}, func() error { return b.mustHold(false) })
}
