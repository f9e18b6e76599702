package client

import (
	"fmt"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// fetch is one read on its way through the replicas of an entry: a single read, or a batch read that starts there.
type fetch struct {
	channel.Request
	queue    *host.Queue[*fetch]
	replicas replicas
	first    ledger.EntryID
	result   Entry // of a single read
}

// Completed hands the fetch to the task that waits for it.
func (f *fetch) Completed(*channel.Request) {
	taken := f.queue.Offer(f)
	invariant.Check(taken, "a queue of fetches has room for all that are under way")
}

// fetcher reads for one call, in the caller's task.
type fetcher struct {
	reader   *Reader
	metadata *ledger.Metadata
	digester *ledger.Digester
	queue    *host.Queue[*fetch]
	underWay int
}

func (r *Reader) newFetcher(m *ledger.Metadata, d *ledger.Digester) *fetcher {
	c := r.client
	return &fetcher{
		reader: r, metadata: m, digester: d,
		queue: host.NewQueue[*fetch](c.h, c.tasks, "read", c.config.ReadsInFlight),
	}
}

func (f *fetcher) newFetch(first ledger.EntryID) *fetch {
	one := &fetch{queue: f.queue, replicas: replicasOf(f.metadata, first), first: first}
	one.Request = channel.Request{
		Operation: wire.Read, Ledger: f.reader.id, Entry: first, Done: one,
	}
	return one
}

// ask sends a fetch to the next replica that takes it; false if none is left.
func (f *fetcher) ask(one *fetch) bool {
	for {
		bookie, ok := one.replicas.next()
		if !ok {
			return false
		}
		one.Timeout = f.reader.client.config.ReadTimeout // the pool shortens it by what a request waited
		err := f.reader.client.pool.Offer(bookie, &one.Request)
		if err == nil {
			f.underWay++
			return true
		}
		f.failed(one, err)
	}
}

// failed takes note of the failure of the replica that was asked last.
func (f *fetcher) failed(one *fetch, err error) {
	one.replicas.failed(err)
	f.reader.mark(PointReadFailover, one.first, string(one.replicas.current()))
}

// singles reads following entries one by one, several at a time. The entries that were read are released on an error.
func (f *fetcher) singles(first ledger.EntryID, count int) (*Entries, error) {
	all := make([]*fetch, 0, count)
	var failure error
	var batch []*fetch
	for {
		for failure == nil && len(all) < count && f.underWay < f.reader.client.config.ReadsInFlight {
			one := f.newFetch(first + ledger.EntryID(len(all)))
			all = append(all, one)
			if !f.ask(one) {
				failure = f.exhausted(one)
			}
		}
		if f.underWay == 0 {
			break
		}
		// The queue's group stops only when no call is left, so everything under way comes back.
		batch, _ = f.queue.Take(batch)
		for _, one := range batch {
			f.underWay--
			if !f.verify(one) && (failure != nil || !f.ask(one)) && failure == nil {
				failure = f.exhausted(one)
			}
		}
	}
	return gather(all, failure)
}

// verify checks a single read's answer; false if the replica failed.
func (f *fetcher) verify(one *fetch) bool {
	err := one.Err
	if err == nil {
		if one.result, err = verified(f.digester, one.Entries[0], f.reader.id, one.first); err == nil {
			return true
		}
		err = f.damaged(one, err)
	}
	f.failed(one, err)
	return false
}

// damaged names the bookie whose answer is not the entry, and gives the answer's memory back.
func (f *fetcher) damaged(one *fetch, err error) error {
	bookie := one.replicas.current()
	one.Release()
	f.reader.mark(PointBadDigest, one.first, string(bookie))
	return fmt.Errorf("from %s: %w", bookie, err)
}

// exhausted is the error of a fetch that no replica could answer.
func (f *fetcher) exhausted(one *fetch) error {
	err := one.replicas.problem
	if class := readClass(err); class != ErrDigest {
		if class == ErrMaybeLost {
			f.reader.mark(PointMaybeLost, one.first, "")
		}
		err = fmt.Errorf("%w: %w", class, err)
	}
	return fmt.Errorf("read entry %d of ledger %d: %w", one.first, f.reader.id, err)
}

func gather(all []*fetch, failure error) (*Entries, error) {
	entries := &Entries{}
	for _, one := range all {
		if one.memoryHeld() {
			entries.List = append(entries.List, one.result)
			entries.answers = append(entries.answers, &one.Request)
		}
	}
	if failure != nil {
		entries.Release()
		return nil, failure
	}
	return entries, nil
}

// memoryHeld reports whether the fetch holds an answer.
func (f *fetch) memoryHeld() bool { return len(f.Entries) > 0 }
