package bookie_test

import (
	"bytes"
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// holds compares a range with the newest acknowledged versions.
func (c *clients) holds(r *bookie.Range, id ledger.ID, first ledger.EntryID) error {
	var bytesOfAll int64
	for i, body := range r.Bodies {
		e := c.truth.ledger(id).entries[first+ledger.EntryID(i)]
		if e == nil || !bytes.Equal(body, e.versions[len(e.versions)-1]) {
			return fmt.Errorf("entry %d of ledger %d in a range reads %.60x", first+ledger.EntryID(i), id, body)
		}
		bytesOfAll += int64(len(body))
	}
	if bytesOfAll != r.Bytes() {
		return fmt.Errorf("a range counts %d bytes, its bodies have %d", r.Bytes(), bytesOfAll)
	}
	return nil
}

// TestARangeIsOfTheNewestVersionsWhereverTheyLie: in two runs of the log, with newer ones in the write cache in between.
func TestARangeIsOfTheNewestVersionsWhereverTheyLie(t *testing.T) {
	chapters(t, uses(newTruth(), func(c *clients) {
		c.batches(0, 30, 60, 1)
		c.flush()
		for _, e := range []ledger.EntryID{4, 5, 20} {
			c.one(1, e, 60, true)
		}
		c.flush()
		for _, e := range []ledger.EntryID{5, 11, 12, 20, 30} {
			c.one(1, e, 60, true)
		}
		var r bookie.Range
		for first := range ledger.EntryID(31) {
			err := c.store.ReadInto(&r, 1, first, bookie.Limits{})
			if err != nil || len(r.Bodies) != int(31-first) {
				t.Errorf("from %d: %d entries, %v", first, len(r.Bodies), err)
			}
			if err := c.holds(&r, 1, first); err != nil {
				t.Errorf("from %d: %v", first, err)
			}
		}
		r.Release()
	}))
}

// TestWhatARangeLendsOutlivesTheFlush: the write cache it lies in is given back only with the range, and then for good.
func TestWhatARangeLendsOutlivesTheFlush(t *testing.T) {
	chapters(t, func(h host.Host, n *sim.Node) error {
		err := uses(newTruth(), func(c *clients) {
			c.batches(0, 20, 60, 1)
			var r bookie.Range
			if err := c.store.ReadInto(&r, 1, 0, bookie.Limits{Entries: 10}); err != nil || len(r.Bodies) != 10 {
				t.Errorf("%d entries, %v", len(r.Bodies), err)
			}
			lent := h.Memory().InUse()
			c.flush()
			if n.Visits(bookie.PointSwappedReaders) == 0 {
				t.Error("the flush found nobody reading")
			}
			c.batches(20, 20, 60, 1) // into memory that a cache given back too early would have left
			if err := c.holds(&r, 1, 0); err != nil {
				t.Error(err)
			}
			held := h.Memory().InUse()
			r.Release()
			if h.Memory().InUse() >= held || len(r.Bodies) != 0 {
				t.Errorf("%d bytes in use when lent, %d before the release and %d behind it", lent, held, h.Memory().InUse())
			}
		})(h, n)
		if used := h.Memory().InUse(); used != 0 {
			t.Errorf("%d bytes are left in use", used)
		}
		return err
	})
}

// TestWhatAnEntryCountsForBesidesItsBodyIsInTheLimit, but for the first entry, which always comes.
func TestWhatAnEntryCountsForBesidesItsBodyIsInTheLimit(t *testing.T) {
	chapters(t, uses(newTruth(), func(c *clients) {
		for _, flushed := range []bool{false, true} {
			if flushed {
				c.flush()
			} else {
				c.batches(0, 10, 100, 1) // 132 bytes stored
			}
			for _, l := range []struct {
				bytes, besides int64
				want           int
			}{{3 * 136, 4, 3}, {3*136 - 1, 4, 2}, {1, 4, 1}, {3 * 132, 0, 3}, {0, 4, 10}, {1 << 40, 4, 10}} {
				var r bookie.Range
				err := c.store.ReadInto(&r, 1, 0, bookie.Limits{Bytes: l.bytes, PerEntryBytes: l.besides})
				if err != nil || len(r.Bodies) != l.want || r.Bytes() != int64(132*l.want) {
					t.Errorf("flushed %v, %+v: %d entries of %d bytes, %v", flushed, l, len(r.Bodies), r.Bytes(), err)
				}
				r.Release()
			}
		}
	}))
}
