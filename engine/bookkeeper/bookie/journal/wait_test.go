package journal_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestAJournalGroupWaitsForMoreBatches as long as it may, and is committed whole: the batches of that time share one sync, and
// none of them completes before. In mode always each has its own at once.
func TestAJournalGroupWaitsForMoreBatches(t *testing.T) {
	const batches, wait = 8, 20 * time.Millisecond
	for _, mode := range []journal.SyncMode{journal.SyncGroup, journal.SyncAlways} {
		b := &book{t: t, mode: mode, wait: wait}
		b.lives(func() error {
			if err := b.start(); err != nil {
				return err
			}
			begun := b.h.Elapsed()
			var first, last *host.Ticket
			for range batches {
				ticket, err := b.add(100)
				if err != nil {
					return err
				}
				if last = ticket; first == nil {
					first = ticket
				}
				b.h.Root().Sleep(2 * time.Millisecond)
			}
			if err := errors.Join(first.Wait(), last.Wait()); err != nil {
				return err
			}
			took, syncs := b.h.Elapsed()-begun, b.node.Visits(journal.PointGroupSynced)
			if mode == journal.SyncGroup && (took < wait || took > 2*wait || syncs != 1) {
				return fmt.Errorf("%d batches took %v and %d syncs, want %v and one", batches, took, syncs, wait)
			}
			if mode == journal.SyncAlways && (took >= wait || syncs != batches) {
				return fmt.Errorf("mode always: %d batches took %v and %d syncs", batches, took, syncs)
			}
			return b.journal.Close()
		}, func() error { return b.mustFind(upTo(batches), true, false) })
	}
}

// TestAFullOrDrainedJournalGroupDoesNotWait, though it may for an hour.
func TestAFullOrDrainedJournalGroupDoesNotWait(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup, wait: time.Hour}
	b.lives(func() error {
		if err := b.start(); err != nil {
			return err
		}
		begun := b.h.Elapsed()
		if err := b.addAll(3, 3000); err != nil { // fills a group
			return err
		}
		if _, err := b.add(100); err != nil {
			return err
		}
		err := b.journal.Close()
		if took := b.h.Elapsed() - begun; took > time.Second {
			return fmt.Errorf("a full group and a close took %v", took)
		}
		return err
	}, func() error { return b.mustFind(upTo(4), true, false) })
	if !slices.Equal(b.acked, upTo(4)) {
		t.Errorf("completed %v", b.acked)
	}
}

// TestAHurriedJournalGroupDoesNotWait: a server that stops waits for what its connections have added, before it closes the store.
func TestAHurriedJournalGroupDoesNotWait(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup, wait: time.Hour}
	b.lives(func() error {
		if err := b.start(); err != nil {
			return err
		}
		begun := b.h.Elapsed()
		ticket, err := b.add(100)
		if err != nil {
			return err
		}
		b.h.Root().Sleep(time.Millisecond)
		b.journal.Hurry()
		err = ticket.Wait()
		if took := b.h.Elapsed() - begun; took > time.Second {
			return fmt.Errorf("a hurried group took %v", took)
		}
		return errors.Join(err, b.journal.Close())
	}, func() error { return b.mustFind(upTo(1), true, false) })
}

// TestAWaitBelowZeroIsRefused.
func TestAWaitBelowZeroIsRefused(t *testing.T) {
	config := smallConfig(journal.SyncGroup)
	if err := config.Validate(1 << 10); err != nil {
		t.Fatal(err)
	}
	if config.GroupWait = -1; config.Validate(1<<10) == nil {
		t.Error("a group that waits for less than nothing is taken")
	}
}

// TestAPowerCutTakesOnlyAJournalGroupThatStillWaits: nothing of it was acknowledged.
func TestAPowerCutTakesOnlyAJournalGroupThatStillWaits(t *testing.T) {
	b := &book{t: t, mode: journal.SyncGroup, wait: 20 * time.Millisecond}
	b.lives(func() error {
		if err := b.start(); err != nil {
			return err
		}
		if err := b.addAll(3, 100); err != nil {
			return err
		}
		if _, err := b.add(100); err != nil {
			return err
		}
		b.h.Root().Sleep(b.wait / 2)
		b.node.Crash(sim.PowerCut(disk.Drop))
		return nil
	}, func() error {
		got, _, err := b.replay()
		if !slices.Equal(got, upTo(3)) || !slices.Equal(b.acked, upTo(3)) {
			t.Errorf("replayed %v, completed %v", got, b.acked)
		}
		return err
	})
}
