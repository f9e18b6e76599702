package host_test

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// newHost gives a node on this machine whose tasks must all have ended with the test.
func newHost(t *testing.T) host.Host {
	t.Helper()
	h, err := oshost.New(oshost.Config{
		Volumes: map[string]string{"journal": t.TempDir()},
		Seed:    1,
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// TestABatchOfAQueueHoldsAllThereIsInOrder: one wake-up pays for all items.
func TestABatchOfAQueueHoldsAllThereIsInOrder(t *testing.T) {
	h := newHost(t)
	q := host.NewQueue[int](h, h.Root(), "queue", 10)
	for i := range 5 {
		if !q.Put(i) {
			t.Fatal("an item was refused")
		}
	}
	batch, more := q.Take(nil)
	if got := fmt.Sprint(batch, more, q.Len()); got != "[0 1 2 3 4] true 0" {
		t.Errorf("got %s", got)
	}
}

// TestAQueueIsFullAtItsLimitAndNotBefore, and a limit below one counts as one.
func TestAQueueIsFullAtItsLimitAndNotBefore(t *testing.T) {
	h := newHost(t)
	for _, c := range []struct{ limit, room int }{{-1, 1}, {0, 1}, {1, 1}, {2, 2}, {7, 7}} {
		q := host.NewQueue[int](h, h.Root(), "queue", c.limit)
		taken := 0
		for q.Offer(taken) {
			taken++
		}
		if taken != c.room || q.Len() != c.room {
			t.Errorf("limit %d: took %d items and holds %d", c.limit, taken, q.Len())
		}
		q.Take(nil)
		if !q.Offer(0) {
			t.Errorf("limit %d: no room after a take", c.limit)
		}
	}
}

// TestManyAreOfferedTogetherOrNotAtAll: half of a batch in a full queue would be of no use to whoever offers it.
func TestManyAreOfferedTogetherOrNotAtAll(t *testing.T) {
	h := newHost(t)
	q := host.NewQueue[int](h, h.Root(), "queue", 5)
	square := func(i int) int { return i * i }
	for _, c := range []struct {
		count, length int
		taken         bool
	}{{0, 0, true}, {3, 3, true}, {3, 3, false}, {2, 5, true}, {1, 5, false}, {0, 5, true}} {
		if taken := q.OfferEach(c.count, square); taken != c.taken || q.Len() != c.length {
			t.Errorf("%d items: %v, then %d in the queue; want %v and %d", c.count, taken, q.Len(), c.taken, c.length)
		}
	}
	batch, _ := q.Take(nil)
	if got := fmt.Sprint(batch); got != "[0 1 4 0 1]" {
		t.Errorf("got %s", got)
	}
	q.End()
	if q.OfferEach(1, square) {
		t.Error("an ended queue took an item")
	}
}

// TestATakeMakesRoomForAllWhoWait: each take wakes every putter, because a batch may free all places.
func TestATakeMakesRoomForAllWhoWait(t *testing.T) {
	h := newHost(t)
	g := h.Root().New("putters")
	q := host.NewQueue[int](h, g, "queue", 3)
	for i := range 3 {
		q.Put(i)
	}
	for i := range 3 {
		g.Go("putter", func() { q.Put(10 + i) })
	}
	time.Sleep(5 * time.Millisecond) // lets them reach the full queue; if not, the test proves less but still holds
	q.Take(nil)
	g.Wait()
	if q.Len() != 3 {
		t.Errorf("%d of 3 putters found room", q.Len())
	}
}

// TestAnEndedQueueGivesWhatItHasAndTakesNothing, whoever was waiting on either side.
func TestAnEndedQueueGivesWhatItHasAndTakesNothing(t *testing.T) {
	h := newHost(t)
	g := h.Root().New("tasks")
	full := host.NewQueue[int](h, g, "full", 1)
	empty := host.NewQueue[int](h, g, "empty", 1)
	full.Put(1)
	put, took := true, true
	g.Go("putter", func() { put = full.Put(2) })
	g.Go("taker", func() { _, took = empty.Take(nil) })
	time.Sleep(5 * time.Millisecond)
	full.End()
	empty.End()
	g.Wait()
	if put || took {
		t.Errorf("after the end: put %v, took %v", put, took)
	}
	if full.Put(3) || full.Offer(3) {
		t.Error("an ended queue took an item")
	}
	batch, more := full.Take(nil)
	if got := fmt.Sprint(batch, more); got != "[1] true" {
		t.Errorf("first take after the end: %s", got)
	}
	if batch, more = full.Take(batch); len(batch) != 0 || more {
		t.Errorf("second take after the end: %v %v", batch, more)
	}
}

// TestTwoSlicesAlternateBetweenTakerAndQueue: a steady queue allocates nothing, and keeps no taken item alive.
func TestTwoSlicesAlternateBetweenTakerAndQueue(t *testing.T) {
	h := newHost(t)
	q := host.NewQueue[*int](h, h.Root(), "queue", 4)
	item := new(int)
	var batch []*int
	round := func() {
		for range 4 {
			q.Put(item)
		}
		batch, _ = q.Take(batch)
	}
	round()
	first := batch
	round()
	for i := range first {
		if first[i] != nil {
			t.Error("a slice that was given back still holds its items")
		}
	}
	round()
	if &first[0] != &batch[0] {
		t.Error("the first slice did not come back")
	}
	if allocations := testing.AllocsPerRun(100, round); allocations > 0 {
		t.Errorf("a round allocates %v times", allocations)
	}
}

// TestAStopRefusesOnlyWhoWouldWait: what is there can still be taken, and room can still be used.
func TestAStopRefusesOnlyWhoWouldWait(t *testing.T) {
	h := newHost(t)
	g := h.Root().New("stopped")
	q := host.NewQueue[int](h, g, "queue", 1)
	g.Stop()
	if !q.Put(1) {
		t.Error("a put into room was refused")
	}
	if q.Put(2) {
		t.Error("a put into a full queue was taken")
	}
	if batch, more := q.Take(nil); len(batch) != 1 || !more {
		t.Errorf("got %v %v", batch, more)
	}
	if _, more := q.Take(nil); more {
		t.Error("an empty queue gave something")
	}
}
