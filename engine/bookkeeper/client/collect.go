package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// span is a range of entries that is still to be read: first to the one before end.
type span struct{ first, end ledger.EntryID }

// collector reads a range with many fetches at a time. What a batch read leaves out is read by the next one.
type collector struct {
	*fetcher
	batches  bool
	parallel int    // fetches at a time
	todo     []span // the next to read is the last
	done     []*fetch
	bytes    int64 // of the answers so far
	// bytesMax ends the reading: no more fetches are started then.
	bytesMax int64
	longest  ledger.EntryID // entries that one batch has brought, at most
}

// collect reads on until nothing is left to do, or enough was read. With an error, what was read stays with the collector.
func (c *collector) collect() error {
	for {
		for len(c.active) < c.inParallel() && len(c.todo) > 0 && c.bytes < c.bytesMax {
			c.startNext()
		}
		if len(c.active) == 0 && len(c.ended) == 0 {
			return nil
		}
		var failure error
		for _, one := range c.step() { // all of them: what has come must be released
			if err := c.take(one); err != nil && failure == nil {
				failure = err
			}
		}
		if failure != nil {
			return failure
		}
	}
}

// inParallel is one until it is known how much a batch brings: most ranges come with a single answer.
func (c *collector) inParallel() int {
	if c.batches && c.longest == 0 {
		return 1
	}
	return c.parallel
}

// startNext starts a fetch at the start of the next span: one entry, or its share of what is to be read in batches, which
// lie in one fragment each.
func (c *collector) startNext() {
	next := &c.todo[len(c.todo)-1]
	one := &fetch{first: next.first, end: next.first + 1}
	if c.batches && next.end-next.first > 1 {
		one.batch, one.size = true, int64(c.reader.client.config.Pool.Channel.FrameBytesMax)
		one.end = next.end
		if c.longest > 0 {
			share := (next.end - next.first + ledger.EntryID(c.parallel) - 1) / ledger.EntryID(c.parallel)
			one.end = min(next.end, next.first+max(share, c.longest))
		}
		one.end = fragmentEnd(&c.metadata, one.first, one.end)
		if one.end-one.first > 1 && c.reader.client.h.Probe().Perhaps(PointBatchLess) {
			one.end = one.first + (one.end-one.first)/2
		}
	}
	if next.first = one.end; next.first == next.end {
		c.todo = c.todo[:len(c.todo)-1]
	}
	c.start(one)
}

// fragmentEnd is end, or the end of the fragment that holds first if that comes before.
func fragmentEnd(m *ledger.Metadata, first, end ledger.EntryID) ledger.EntryID {
	if next := m.FragmentIndex(first) + 1; next < len(m.Fragments) {
		end = min(end, m.Fragments[next].First)
	}
	return end
}

// take adds the result of a fetch.
func (c *collector) take(one *fetch) error {
	if one.lost != "" {
		c.reader.pauseBatches()
		c.batches, c.parallel = false, c.reader.client.config.ReadsInFlight
		c.todo = append(c.todo, span{one.first, one.end})
		return nil
	}
	if one.err != nil {
		return one.err
	}
	c.done = append(c.done, one)
	c.bytes += one.bytes()
	c.longest = max(c.longest, one.next()-one.first)
	if one.next() < one.end {
		c.todo = append(c.todo, span{one.next(), one.end})
	}
	return nil
}

// bytes is what an answer takes of memory.
func (one *fetch) bytes() int64 {
	var n int64
	for _, stored := range one.answer.Entries {
		n += int64(len(stored))
	}
	return n
}

// release gives back what was read.
func (c *collector) release() {
	for _, one := range c.done {
		one.answer.Release()
	}
	c.done = nil
}

// prefix returns what was read from first on without a hole, and gives the rest back.
func (c *collector) prefix(first ledger.EntryID) *Entries {
	slices.SortFunc(c.done, func(a, b *fetch) int { return cmp.Compare(a.first, b.first) })
	entries := &Entries{}
	next := first
	for _, one := range c.done {
		if one.first != next {
			one.answer.Release()
			continue
		}
		entries.add(one)
		next = one.next()
	}
	c.done = nil
	return entries
}

// add puts what a fetch has brought behind what there is.
func (e *Entries) add(one *fetch) {
	if len(e.List) == 0 {
		e.List = one.result
	} else {
		e.List = append(e.List, one.result...)
	}
	if e.answers == nil {
		e.answers = e.first[:0]
	}
	e.answers = append(e.answers, &one.answer.Request)
}

// errTooMuch: a range holds more bytes than one Read may return.
var errTooMuch = errors.New("the range is too large for one read, use batch reads or shorter ranges")

// all reads a whole range.
func (r *Reader) all(f *fetcher, first ledger.EntryID, count int) (*Entries, error) {
	c := collector{
		fetcher: f, batches: r.batches(&f.metadata), parallel: r.client.config.ReadsInFlight,
		todo: []span{{first, first + ledger.EntryID(count)}}, bytesMax: r.client.config.ReadBytesMax,
	}
	if c.batches {
		c.parallel = r.client.config.BatchesInFlight
	}
	err := c.collect()
	if err == nil && len(c.todo) > 0 {
		err = fmt.Errorf("read entries %d to %d of ledger %d: %d bytes were not all: %w: %w",
			first, first+ledger.EntryID(count)-1, r.id, c.bytes, ErrInvalid, errTooMuch)
	}
	if err != nil {
		c.release()
		return nil, err
	}
	return c.prefix(first), nil
}
