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

// TestAppendsThatComeWhileAGroupWaitsShareItsSync, also with appenders that would commit themselves otherwise; in mode always
// each has its own at once. A power cut takes none of them.
func TestAppendsThatComeWhileAGroupWaitsShareItsSync(t *testing.T) {
	const appenders, wait = 5, 20 * time.Millisecond
	for _, mode := range []partition.SyncMode{partition.SyncGroup, partition.SyncAlways} {
		config := smallConfig()
		config.Sync, config.Committer, config.GroupWait = mode, partition.ByAppender, wait
		config.GroupBytesMax, config.SegmentBytes, config.IndexItemsMax = 8<<10, 1<<20, 10_000
		l := newLog()
		w, n := world(3, config)
		n.OnExit(func(err error, _ bool) {
			if err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			if n.Epoch() == 1 {
				w.At(0, func() {
					n.Start(func(h host.Host) error {
						life, err := begin(h, config)
						if err != nil {
							return err
						}
						return errors.Join(l.check(life.p), life.end())
					})
				})
			}
		})
		n.Start(func(h host.Host) error {
			life, err := begin(h, config)
			if err != nil {
				return err
			}
			begun, all := h.Elapsed(), h.Root().New("appenders")
			for i := range appenders {
				all.Go("appender", func() {
					all.Sleep(time.Duration(i) * time.Millisecond)
					err = errors.Join(err, l.append(life.p, 1))
				})
			}
			all.Wait()
			took, syncs := h.Elapsed()-begun, n.Visits(partition.PointSynced)
			if mode == partition.SyncGroup && (took < wait || took > 2*wait || syncs != 1) {
				return fmt.Errorf("%d appends took %v and %d syncs, want %v and one", appenders, took, syncs, wait)
			}
			if mode == partition.SyncAlways && (took >= wait || syncs != appenders) {
				return fmt.Errorf("%d appends took %v and %d syncs, want one each at once", appenders, took, syncs)
			}
			n.Crash(sim.PowerCut(disk.Drop))
			return err
		})
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatal(v.String())
		}
		if len(l.acked) != appenders {
			t.Errorf("%s: %d appends are acknowledged", mode, len(l.acked))
		}
	}
}

// TestAPartitionThatClosesRefusesAGroupThatWaits, at once: nothing of it was begun.
func TestAPartitionThatClosesRefusesAGroupThatWaits(t *testing.T) {
	config := smallConfig()
	config.GroupWait = time.Hour
	lives(t, config, nil, func(h host.Host, life *life) error {
		l, begun, all := newLog(), h.Elapsed(), h.Root().New("appenders")
		var told error
		all.Go("appender", func() { told = l.append(life.p, 1) })
		h.Root().Sleep(time.Millisecond)
		life.p.Stop()
		all.Wait()
		if took := h.Elapsed() - begun; took > time.Second || !errors.Is(told, partition.ErrClosed) || errors.Is(told, partition.ErrOutcomeUnknown) {
			return fmt.Errorf("after %v the appender is told %w", took, told)
		}
		return nil
	}, func(_ host.Host, life *life) error { return newLog().check(life.p) })
}

// TestAWaitBelowZeroIsRefused.
func TestAWaitBelowZeroIsRefused(t *testing.T) {
	config := smallConfig()
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	if config.GroupWait = -1; config.Validate() == nil {
		t.Error("a group that waits for less than nothing is taken")
	}
}
