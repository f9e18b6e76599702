package commitlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestMessagesThatComeWhileAGroupWaitsShareItsSync; in mode always each has its own at once. A power cut takes none of them.
func TestMessagesThatComeWhileAGroupWaitsShareItsSync(t *testing.T) {
	const messages, wait = 4, 20 * time.Millisecond
	for _, mode := range []commitlog.FlushMode{commitlog.FlushGroup, commitlog.FlushAlways} {
		config := smallConfig(mode)
		config.GroupWait = wait
		b := newBook(t, config)
		b.lives(func() error {
			if err := errors.Join(b.store.CreateTopic("orders", 2), b.store.CreateTopic("payments", 2)); err != nil {
				return err
			}
			begun, before := b.h.Elapsed(), b.node.Visits(commitlog.PointWritten)
			if err := b.addAll(1); err != nil {
				return err
			}
			took, groups := b.h.Elapsed()-begun, b.node.Visits(commitlog.PointWritten)-before
			if mode == commitlog.FlushGroup && (took < wait || took > 2*wait || groups != 1) {
				return fmt.Errorf("%d messages took %v and %d groups, want %v and one", messages, took, groups, wait)
			}
			if mode == commitlog.FlushAlways && (took >= wait || groups != messages) {
				return fmt.Errorf("%d messages took %v and %d groups, want one each at once", messages, took, groups)
			}
			b.node.Crash(sim.PowerCut(disk.Drop))
			return nil
		}, func() error { return errors.Join(b.settled(), b.mustHold(true)) })
	}
}

// TestAStoreThatClosesDoesNotWaitForMore: the message is stored and acknowledged, though its group might wait for an hour.
func TestAStoreThatClosesDoesNotWaitForMore(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	config.GroupWait = time.Hour
	b := newBook(t, config)
	b.lives(func() error {
		if err := errors.Join(b.store.CreateTopic("orders", 2), b.store.CreateTopic("payments", 2)); err != nil {
			return err
		}
		begun, all := b.h.Elapsed(), b.h.Root().New("writers")
		var told error
		all.Go("writer", func() { told = b.add("orders", 1) })
		b.h.Root().Sleep(time.Millisecond)
		closed := b.store.Close()
		all.Wait()
		if took := b.h.Elapsed() - begun; took > time.Second {
			return fmt.Errorf("a close took %v", took)
		}
		return errors.Join(told, closed)
	}, func() error { return errors.Join(b.settled(), b.mustHold(true)) })
}

// TestAWaitBelowZeroIsRefused.
func TestAWaitBelowZeroIsRefused(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	if config.GroupWait = -1; config.Validate() == nil {
		t.Error("a group that waits for less than nothing is taken")
	}
}
