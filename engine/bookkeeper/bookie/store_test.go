package bookie_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestARefusalSaysWhyAndTouchesNothingElse: one bad add of a batch costs no other.
func TestARefusalSaysWhyAndTouchesNothingElse(t *testing.T) {
	chapters(t, uses(newTruth(), func(c *clients) {
		key := ledger.MasterKey{1}
		done := host.NewQueue[*bookie.Batch](c.h, c.h.Root(), "done", 1)
		c.fence(5)
		b := &bookie.Batch{Done: done, Adds: []bookie.Add{
			{Body: stored(1, 0, 10), MasterKey: key},
			{Body: stored(1, 1, 10)},
			{Body: []byte("short")},
			{Body: stored(-1, 0, 10)},
			{Body: stored(1, -3, 10), MasterKey: key},
			{Body: stored(1, 2, tinyConfig().EntryBytesMax), MasterKey: key},
			{Body: stored(5, 0, 10)},
			{Body: stored(1, 3, 10), MasterKey: key},
		}}
		want := []error{
			nil, bookie.ErrUnauthorized, bookie.ErrMalformed, bookie.ErrMalformed, bookie.ErrMalformed, bookie.ErrTooLarge, bookie.ErrFenced, nil,
		}
		c.store.Submit(b)
		taken, _ := done.Take(nil)
		if len(taken) != 1 || taken[0] != b {
			t.Fatalf("%d batches came back", len(taken))
		}
		for i := range want {
			if !errors.Is(b.Adds[i].Err, want[i]) || want[i] == nil && b.Adds[i].Err != nil {
				t.Errorf("add %d: %v, want %v", i, b.Adds[i].Err, want[i])
			}
		}
		if err := c.store.Fence(1, ledger.MasterKey{}); !errors.Is(err, bookie.ErrUnauthorized) {
			t.Errorf("fence with a wrong key: %v", err)
		}
		for _, entry := range []ledger.EntryID{1, 2} {
			if _, err := c.store.Read(1, entry); !errors.Is(err, bookie.ErrNoEntry) {
				t.Errorf("entry %d was refused: %v", entry, err)
			}
		}
		b = &bookie.Batch{Done: done}
		for e := range ledger.EntryID(4) {
			b.Adds = append(b.Adds, bookie.Add{Body: stored(9, e, 3000)})
		}
		c.store.Submit(b)
		done.Take(nil)
		if !errors.Is(b.Adds[0].Err, bookie.ErrTooLarge) || !errors.Is(b.Adds[3].Err, bookie.ErrTooLarge) {
			t.Errorf("a batch that is too large: %v", b.Adds[0].Err)
		}
		if _, err := c.store.Read(9, 0); !errors.Is(err, bookie.ErrNoLedger) {
			t.Errorf("a part of it was taken: %v", err)
		}
	}))
}

// TestARangeEndsAtAHoleAndAtItsLimits, wherever its entries are.
func TestARangeEndsAtAHoleAndAtItsLimits(t *testing.T) {
	chapters(t, uses(newTruth(), func(c *clients) {
		c.batches(0, 6, 100, 1)
		c.flush()
		c.batches(6, 6, 100, 1) // in the write cache
		c.batches(13, 3, 100, 1)
		for _, r := range []struct {
			first  ledger.EntryID
			limits bookie.Limits
			want   int
		}{
			{0, bookie.Limits{}, 12}, {4, bookie.Limits{Entries: 5}, 5}, {0, bookie.Limits{Bytes: 1}, 1}, {0, bookie.Limits{Bytes: 3 * 132}, 3},
			{0, bookie.Limits{Bytes: 4*132 - 1}, 3}, {11, bookie.Limits{}, 1}, {13, bookie.Limits{Entries: 100, Bytes: 1 << 30}, 3},
		} {
			entries, err := c.store.ReadRange(1, r.first, r.limits)
			if err != nil || len(entries) != r.want {
				t.Errorf("from %d, %+v: %d entries, %v; want %d", r.first, r.limits, len(entries), err, r.want)
			}
			for i := range entries {
				if entries[i].Entry != r.first+ledger.EntryID(i) {
					t.Errorf("from %d: entry %d at place %d", r.first, entries[i].Entry, i)
				}
				entries[i].Release()
			}
		}
		if _, err := c.store.ReadRange(1, 12, bookie.Limits{}); !errors.Is(err, bookie.ErrNoEntry) {
			t.Errorf("from the hole: %v", err)
		}
		if _, err := c.store.ReadRange(2, 0, bookie.Limits{}); !errors.Is(err, bookie.ErrNoLedger) {
			t.Errorf("of no ledger: %v", err)
		}
	}))
}

// TestMemoryIsBoundedWhileTheDiskIsSlow: adds are slowed and wait; none is refused, and nothing is dropped.
func TestMemoryIsBoundedWhileTheDiskIsSlow(t *testing.T) {
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	n.SetMemoryLimit(2 * tinyConfig().WriteCacheBytesMax)
	n.Disk(bookie.LedgerVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind == sim.DiskSync {
			return sim.DiskEffect{Delay: 200 * time.Millisecond}
		}
		return sim.DiskEffect{}
	})
	facts := newTruth()
	n.Start(func(h host.Host) error {
		return uses(facts, func(c *clients) {
			tasks := h.Root().New("clients")
			for id := range ledger.ID(4) {
				tasks.Go("client", func() { c.batches(0, 60, 1500, id) })
			}
			tasks.Wait()
			if err := facts.check(c.store, &verdict{certain: true}); err != nil {
				t.Error(err)
			}
		})(h, n)
	})
	if v := w.Run(time.Hour); v.Failed() || n.BootErr() != nil {
		t.Fatal(v.String(), n.BootErr())
	}
	if n.Visits(bookie.PointCacheFull) == 0 || n.Visits(bookie.PointSlowed) == 0 {
		t.Errorf("the cache was full %d times, adds were slowed %d times", n.Visits(bookie.PointCacheFull), n.Visits(bookie.PointSlowed))
	}
}

// TestAStoppedBookieAnswersEveryCall, and every batch that waits for it.
func TestAStoppedBookieAnswersEveryCall(t *testing.T) {
	chapters(t, func(h host.Host, n *sim.Node) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		n.Disk(bookie.JournalVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskSync {
				return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
			}
			return sim.DiskEffect{}
		})
		done := host.NewQueue[*bookie.Batch](h, h.Root(), "done", 3)
		for e := range ledger.EntryID(3) {
			s.Submit(&bookie.Batch{Done: done, Adds: []bookie.Add{{Body: stored(1, e, 10)}}})
		}
		if err := s.AwaitEnd(h.Root()); !errors.Is(err, host.ErrIO) {
			t.Errorf("the end: %v", err)
		}
		for got := 0; got < 3; {
			taken, _ := done.Take(nil)
			got += len(taken)
			for _, b := range taken {
				if err := b.Adds[0].Err; !errors.Is(err, bookie.ErrOutcomeUnknown) && !errors.Is(err, bookie.ErrStopped) {
					t.Errorf("a batch: %v", err)
				}
			}
		}
		_, read := s.Read(1, 0)
		_, last := s.LastEntry(1)
		_, list := s.List()
		for _, err := range []error{s.AddOne(&bookie.Add{Body: stored(1, 9, 10)}), s.Fence(1, ledger.MasterKey{}), s.Delete(1), s.Flush(), read, last, list} {
			if !errors.Is(err, bookie.ErrStopped) {
				t.Errorf("after the end: %v", err)
			}
		}
		if err := s.Close(); !errors.Is(err, host.ErrIO) {
			t.Errorf("close: %v", err)
		}
		return nil
	})
}
