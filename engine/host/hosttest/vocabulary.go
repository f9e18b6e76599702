package hosttest

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
)

// vocabulary are the contracts of what package host builds on the seam, under the scheduling of the world at hand.
func vocabulary() []Contract {
	return []Contract{
		alone("AQueueHandsOverEveryItemOnceAndInOrder", queueOrder),
		alone("AFullQueueHoldsItsPuttersBack", queueFull),
		alone("AQueueEndsForBothSidesWhenItsGroupStops", queueStops),
		alone("AFutureGivesAllWhoWaitTheSameOutcome", futureOutcome),
		alone("AFutureEndsWithItsGroup", futureStops),
		alone("AGroupThatIsNotFullWaitsForMoreAsLongAsItMay", groupWaits),
		alone("AGroupThatIsFullOrEndsDoesNotWait", groupHurries),
	}
}

func queueOrder(h host.Host) error {
	g := h.Root().New("group")
	q := host.NewQueue[[2]int](h, g, "hosttest.queue", 3)
	putters := h.Root().New("putters")
	for putter := range 4 {
		putters.Go("putter", func() {
			for i := range 50 {
				if !q.Put([2]int{putter, i}) {
					return
				}
			}
		})
	}
	var next [4]int
	var failure error
	g.Go("taker", func() {
		var batch [][2]int
		for more := true; more; {
			batch, more = q.Take(batch)
			failure = errors.Join(failure, that(len(batch) <= 3, "a batch of %d from a queue of 3", len(batch)))
			for _, item := range batch {
				failure = errors.Join(failure, equal(fmt.Sprint("next of putter ", item[0]), item[1], next[item[0]]))
				next[item[0]]++
			}
		}
	})
	putters.Wait()
	q.End()
	g.Wait()
	return errors.Join(failure, equal("items taken of each putter", next, [4]int{50, 50, 50, 50}))
}

func queueFull(h host.Host) error {
	g := h.Root().New("group")
	q := host.NewQueue[int](h, g, "hosttest.queue", 2)
	failure := errors.Join(equal("Put", q.Put(1), true), equal("Offer", q.Offer(2), true),
		equal("Offer to a full queue", q.Offer(3), false))
	put := newShared[bool](h, "put")
	g.Go("putter", func() {
		taken := q.Put(4)
		put.change(func(value *bool) { *value = taken })
	})
	h.Root().Sleep(moment)
	early := put.get()
	batch, more := q.Take(nil)
	g.Wait()
	return errors.Join(failure, equal("put into a full queue", early, false), equal("more", more, true),
		equal("batch", fmt.Sprint(batch), "[1 2]"), equal("put after the take", put.get(), true),
		equal("items left", q.Len(), 1))
}

func queueStops(h host.Host) error {
	g := h.Root().New("group")
	empty, full := host.NewQueue[int](h, g, "hosttest.empty", 1), host.NewQueue[int](h, g, "hosttest.full", 1)
	full.Put(1)
	refusedBoth := newShared[int](h, "refused")
	g.Go("taker", func() {
		if _, more := empty.Take(nil); !more {
			refusedBoth.change(func(n *int) { *n++ })
		}
	})
	g.Go("putter", func() {
		if !full.Put(2) {
			refusedBoth.change(func(n *int) { *n++ })
		}
	})
	return errors.Join(stopsSoon(h, g, g.Wait), equal("sides that were refused", refusedBoth.get(), 2))
}

func futureOutcome(h host.Host) error {
	g := h.Root().New("group")
	f := host.NewFuture[int](h, g, "hosttest.future")
	same := newShared[int](h, "same")
	for range 5 {
		g.Go("waiter", func() {
			if value, err := f.Wait(); value == 7 && errors.Is(err, host.ErrIO) {
				same.change(func(n *int) { *n++ })
			}
		})
	}
	first, second := f.Set(7, host.ErrIO), f.Set(8, nil)
	g.Wait()
	return errors.Join(equal("first Set", first, true), equal("second Set", second, false),
		equal("waiters with the first outcome", same.get(), 5))
}

func futureStops(h host.Host) error {
	g := h.Root().New("group")
	f := host.NewFuture[int](h, g, "hosttest.future")
	var err error
	g.Go("waiter", func() { _, err = f.Wait() })
	return errors.Join(stopsSoon(h, g, g.Wait), fails("Wait", err, host.ErrStopping))
}
