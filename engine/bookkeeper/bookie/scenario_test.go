package bookie_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// tinyConfig makes every file roll within a few dozen entries, so that a short scenario meets all that a bookie does.
func tinyConfig() bookie.Config {
	c := bookie.DefaultConfig()
	c.EntryBytesMax, c.BatchBytesMax = 4<<10, 8<<10
	c.Journal.FileBytes, c.Journal.GroupBytesMax = 64<<10, 8<<10
	c.EntryLog.LogBytesMax, c.EntryLog.ItemsMax, c.EntryLog.GroupBytes = 24<<10, 10_000, 6<<10
	c.EntryLog.IndexCacheBytesMax, c.EntryLog.ReadCacheBytesMax = 16<<10, 16<<10
	c.EntryLog.ReadAheadBytesMax = 8 << 10
	c.WriteCacheBytesMax, c.ChunkBytes = 96<<10, 4<<10
	c.CheckpointInterval, c.RetryPause = 500*time.Millisecond, 5*time.Millisecond
	return c
}

// clients use one life of a bookie and write into truth what they learn.
type clients struct {
	truth *truth
	h     host.Host
	store *bookie.Store
	// tolerant: calls may fail, as long as they say so. Otherwise the first failure ends the scenario.
	tolerant bool
	failed   error
}

// failure notes an error of a call that should have succeeded, and reports whether there was one.
func (c *clients) failure(what string, err error) bool {
	if err == nil {
		return false
	}
	expected := errors.Is(err, bookie.ErrStopped) || errors.Is(err, bookie.ErrOutcomeUnknown)
	if c.failed == nil && !(c.tolerant && expected) {
		c.failed = fmt.Errorf("%s: %w", what, err)
	}
	return true
}

// one adds a single entry and waits for it.
func (c *clients) one(id ledger.ID, entry ledger.EntryID, size int, recovery bool) {
	a := bookie.Add{Body: c.truth.submit(id, entry, size), Recovery: recovery}
	if c.failure(fmt.Sprintf("add entry %d of ledger %d", entry, id), c.store.AddOne(&a)) {
		return
	}
	c.truth.acked(id, entry)
}

// batches adds count entries to each ledger, in batches of several ledgers, with up to two batches outstanding.
func (c *clients) batches(first ledger.EntryID, count, size int, ids ...ledger.ID) {
	const perBatch = 3
	done := host.NewQueue[*bookie.Batch](c.h, c.h.Root(), "done", 2)
	outstanding := 0
	collect := func() {
		taken, more := done.Take(nil)
		for _, b := range taken {
			outstanding--
			c.collect(b)
		}
		if !more {
			outstanding = 0
		}
	}
	for at := 0; at < count; at += perBatch {
		b := &bookie.Batch{Done: done}
		for _, id := range ids {
			for k := range min(perBatch, count-at) {
				entry := first + ledger.EntryID(at+k)
				b.Adds = append(b.Adds, bookie.Add{Body: c.truth.submit(id, entry, size)})
			}
		}
		for outstanding >= 2 {
			collect()
		}
		outstanding++
		c.store.Submit(b)
	}
	for outstanding > 0 {
		collect()
	}
}

func (c *clients) collect(b *bookie.Batch) {
	for i := range b.Adds {
		id, entry, _ := ledger.Key(b.Adds[i].Body)
		if !c.failure(fmt.Sprintf("add entry %d of ledger %d in a batch", entry, id), b.Adds[i].Err) {
			c.truth.acked(id, entry)
		}
	}
}

func (c *clients) fence(id ledger.ID) {
	l := c.truth.ledger(id)
	l.fence = max(l.fence, asked)
	if !c.failure(fmt.Sprintf("fence ledger %d", id), c.store.Fence(id, ledger.MasterKey{})) {
		l.fence = acknowledged
	}
}

func (c *clients) remove(id ledger.ID) {
	l := c.truth.ledger(id)
	l.removal = max(l.removal, asked)
	if !c.failure(fmt.Sprintf("delete ledger %d", id), c.store.Delete(id)) {
		l.removal = acknowledged
	}
}

func (c *clients) flush() { c.failure("flush", c.store.Flush()) }

// refused tries an ordinary add to a fenced ledger.
func (c *clients) refused(id ledger.ID) {
	if c.truth.ledger(id).fence != acknowledged {
		return
	}
	a := bookie.Add{Body: stored(id, strangeEntry, 8)}
	if err := c.store.AddOne(&a); !errors.Is(err, bookie.ErrFenced) {
		c.failure("ordinary add behind a fence", fmt.Errorf("not refused as fenced: %w", orTaken(err)))
	}
}

// sees reads an entry whose newest version was acknowledged. A read may fail where the disk does, but may neither say
// that there is nothing nor show anything else.
func (c *clients) sees(id ledger.ID, entry ledger.EntryID) {
	e := c.truth.ledger(id).entries[entry]
	if e == nil || e.durable < 0 || e.durable < len(e.versions)-1 {
		return
	}
	got, err := c.store.Read(id, entry)
	switch {
	case errors.Is(err, bookie.ErrNoEntry), errors.Is(err, bookie.ErrNoLedger), errors.Is(err, bookie.ErrUnknown):
		c.failed = fmt.Errorf("entry %d of ledger %d was acknowledged: %w", entry, id, err)
	case err != nil && !(c.tolerant && (errors.Is(err, host.ErrIO) || errors.Is(err, host.ErrNoSpace))):
		c.failure("read", err)
	case err == nil && !bytes.Equal(got.Body, e.versions[e.durable]):
		c.failed = fmt.Errorf("entry %d of ledger %d reads %.60x", entry, id, got.Body)
	}
	got.Release()
}

// firstLife does one of everything: a log that fills and dies with its ledgers, concurrent batches and singles, long
// bodies, a fence with recovery adds behind it, a delete, overlapping flushes, journal rolls and trims.
func (c *clients) firstLife() {
	c.batches(0, 24, 500, 10, 11)
	c.flush()
	c.remove(10)
	c.remove(11)
	tasks := c.h.Root().New("clients")
	tasks.Go("batches", func() {
		c.batches(0, 12, 40, 1, 2)
		c.batches(12, 6, 1200, 1, 2)
	})
	tasks.Go("singles", func() {
		for e := range ledger.EntryID(8) {
			c.one(3, e, 300+int(e)*300, false)
		}
	})
	tasks.Wait()
	c.flush()
	c.fence(2)
	c.one(2, 17, 1200, true) // recovery stores the tail again, with another LAC in its header
	c.one(2, 18, 3000, true)
	c.refused(2)
	c.sees(2, 17)
	c.flush()
	c.sees(2, 17)
	c.remove(3)
	c.batches(18, 9, 2200, 1)
	c.one(1, 0, 40, true)
	c.batches(0, 12, 700, 4, 5)
	c.flush()
	for e := range ledger.EntryID(3) {
		c.sees(1, 9*e)
		c.sees(4, 4*e)
	}
	c.fence(5)
	c.crowd()
	c.one(6, 0, 100, false)
}

// crowd has several clients write, read and force checkpoints at once. The first writes so many groups that the
// journal rolls while a checkpoint is under way.
func (c *clients) crowd() {
	tasks := c.h.Root().New("crowd")
	for id := range ledger.ID(3) {
		tasks.Go("writer", func() {
			for e := range ledger.EntryID(22 - 8*id) {
				c.one(20+id, 2*e, 60+int(id)*1200, false)
				c.sees(20+id, 2*e)
			}
		})
	}
	tasks.Go("flusher", func() {
		for range 5 {
			c.flush()
			c.h.Root().Sleep(2 * time.Millisecond)
		}
	})
	tasks.Wait()
}

// secondLife begins where a clean stop ended.
func (c *clients) secondLife() {
	c.sees(1, 0)
	c.sees(6, 0)
	c.refused(2)
	c.batches(0, 6, 900, 7)
	c.batches(1, 9, 300, 6)
	c.fence(7)
	c.remove(4)
	c.flush()
	c.one(6, 10, 2500, false)
	c.fence(8) // a ledger nobody wrote
	c.one(9, 0, 10, false)
}

// lateLife works on whatever the crashes before left: the bookie must still be of use.
func (c *clients) lateLife(id ledger.ID) {
	c.batches(0, 6, 300, id)
	c.one(id, 6, 2500, false)
	c.fence(id)
	c.flush()
	c.one(id+1, 0, 20, false)
}
