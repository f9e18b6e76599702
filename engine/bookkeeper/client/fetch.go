package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// PointSpeculativeRead: a replica was silent for so long that another one is asked as well. Extra: the other one.
const PointSpeculativeRead host.Point = "client.speculative-read"

// fetch is one entry, or a batch that starts with it, on its way through the replicas.
type fetch struct {
	replicas replicas
	first    ledger.EntryID
	end      ledger.EntryID // behind the last entry that is wanted
	batch    bool
	size     int64 // of a batch: bound on the answer's frame

	asking int             // attempts without an answer
	asked  []*attempt      // all attempts, at most one a replica
	chosen attempt         // the first of them, and mostly the only one
	stored [1][]byte       // room for its entry
	due    time.Duration   // when another replica is asked although none has failed
	result []Entry         // the verified prefix of the answer
	single [1]Entry        // where it lies if it is one entry
	answer *attempt        // holds the result's memory
	err    error           // why there is no result
	lost   ledger.BookieID // the bookie that ended the connection instead of answering a batch read
	over   bool
}

// next is the first entry that a fetch which is over has not brought.
func (one *fetch) next() ledger.EntryID { return one.first + ledger.EntryID(len(one.result)) }

// fetcher reads for one call, in the caller's task.
//
// A replica that is silent is not waited for as long as a request lasts: after Config.SpeculativeReadTimeout the next one
// is asked as well, and the first good copy wins. "Silent" means that none of the bookies that were asked for this entry
// has answered anything since: one that is slow under load would only get slower by reading everything twice.
type fetcher struct {
	reader   *Reader
	metadata ledger.Metadata
	digester *ledger.Digester
	inbox    *inbox
	asking   int // attempts of all fetches without an answer
	spare    []*attempt
	active   []*fetch
	ended    []*fetch // since the last step
	handed   []*fetch // what the last step returned
	heard    map[ledger.BookieID]time.Duration
}

// takeFetcher returns a fetcher for one call, if it can one that an earlier call has left: what it is made of costs more
// than a small read. giveFetcher ends its use.
func (r *Reader) takeFetcher(m *ledger.Metadata) (*fetcher, error) {
	d, err := r.takeDigester()
	if err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	n := len(r.fetchers)
	if n == 0 {
		return &fetcher{reader: r, metadata: *m, digester: d, inbox: newInbox(r.client)}, nil
	}
	f := r.fetchers[n-1]
	r.fetchers = r.fetchers[:n-1]
	f.metadata, f.digester = *m, d
	return f, nil
}

// giveFetcher ends a call's reading. Answers that are still to come release themselves, and what they come to is not used
// again.
func (r *Reader) giveFetcher(f *fetcher) {
	r.giveDigester(f.digester)
	if f.asking > 0 {
		f.inbox.end()
		return
	}
	for _, list := range [...]*[]*fetch{&f.active, &f.ended, &f.handed} {
		clear((*list)[:cap(*list)])
		*list = (*list)[:0]
	}
	clear(f.spare[:cap(f.spare)])
	clear(f.heard)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fetchers = append(r.fetchers, f) // as many as there are calls at a time
}

// start begins to fetch the entries from first to end, as a batch or as one entry. It may be over already.
func (f *fetcher) start(one *fetch) *fetch {
	one.replicas = replicasOf(&f.metadata, one.first, f.reader.client.pool.Avoided)
	f.active = append(f.active, one)
	if !f.ask(one) {
		f.finish(one)
	}
	return one
}

// ask sends a fetch to the next replica that takes it; false if none is left.
func (f *fetcher) ask(one *fetch) bool {
	c := f.reader.client
	for {
		bookie, ok := one.replicas.next()
		if !ok {
			return false
		}
		a := one.newAttempt()
		a.fetch, a.bookie, a.inbox = one, bookie, f.inbox
		a.Request = channel.Request{
			Operation: wire.Read, Ledger: f.reader.id, Entry: one.first, Timeout: c.config.ReadTimeout, Done: a,
			Entries: a.Entries,
		}
		if one.batch {
			a.Operation, a.MaxCount, a.MaxSize = wire.BatchRead, int32(one.end-one.first), one.size
		}
		err := c.pool.Offer(bookie, &a.Request)
		if err != nil {
			f.failed(one, bookie, err)
			continue
		}
		f.asking++
		one.asking++
		one.asked = append(one.asked, a)
		one.due = never
		if c.config.SpeculativeReadTimeout > 0 {
			one.due = c.h.Elapsed() + c.config.SpeculativeReadTimeout
		}
		return true
	}
}

// newAttempt is the one that comes with the fetch, unless an answer to that may still come.
func (one *fetch) newAttempt() *attempt {
	if len(one.asked) == 0 {
		one.chosen.Entries = one.stored[:0]
		return &one.chosen
	}
	return &attempt{}
}

// failed takes note of the failure of a replica.
func (f *fetcher) failed(one *fetch, bookie ledger.BookieID, err error) {
	one.replicas.failed(err)
	f.reader.mark(PointReadFailover, one.first, string(bookie))
}

// step waits for an answer, or until it is time to ask another replica, and returns the fetches that are over since the
// last step. What it returns is whole until the next step.
func (f *fetcher) step() []*fetch {
	if len(f.ended) == 0 {
		f.spare = f.inbox.take(f.spare, f.earliest())
		for _, a := range f.spare {
			f.answered(a)
		}
		f.speculate()
	}
	f.handed, f.ended = f.ended, f.handed[:0]
	return f.handed
}

// earliest is when the first of the fetches is due.
func (f *fetcher) earliest() time.Duration {
	due := never
	for _, one := range f.active {
		if one.replicas.left() {
			due = min(due, one.due)
		}
	}
	return due
}

// speculate asks other replicas for the entries that are due.
func (f *fetcher) speculate() {
	now := f.reader.client.h.Elapsed()
	patience := f.reader.client.config.SpeculativeReadTimeout
	for _, one := range f.active {
		if !one.replicas.left() || now < one.due && !f.impatient() {
			continue
		}
		if heard := f.lastHeard(one); now >= one.due && heard > one.due-patience {
			one.due = heard + patience
			continue
		}
		for _, a := range one.asked {
			if now >= one.due {
				f.reader.client.pool.Suspect(a.bookie)
			}
		}
		if f.ask(one) {
			f.reader.mark(PointSpeculativeRead, one.first, string(one.asked[len(one.asked)-1].bookie))
		}
	}
}

// impatient lets the world have another replica asked before its time, if it would be asked at all.
func (f *fetcher) impatient() bool {
	c := f.reader.client
	return c.config.SpeculativeReadTimeout > 0 && c.h.Probe().Perhaps(PointSpeculateNow)
}

// lastHeard is when one of the bookies that were asked for an entry last answered anything to this call.
func (f *fetcher) lastHeard(one *fetch) time.Duration {
	heard := time.Duration(-1)
	for _, a := range one.asked {
		if at, ok := f.heard[a.bookie]; ok {
			heard = max(heard, at)
		}
	}
	return heard
}

// answered takes in one replica's answer.
func (f *fetcher) answered(a *attempt) {
	one := a.fetch
	f.asking--
	one.asking--
	err := a.Err
	if f.asking > 0 && (err == nil || !errors.Is(err, host.ErrTimeout) && !errors.Is(err, channel.ErrBroken)) {
		f.hear(a.bookie)
	}
	if errors.Is(err, host.ErrTimeout) {
		f.reader.client.pool.Suspect(a.bookie)
	}
	if one.over {
		a.Release() // another replica was faster
		return
	}
	if err == nil {
		if err = f.verify(one, a); err == nil {
			f.finish(one)
			return
		}
	}
	f.failed(one, a.bookie, err)
	if one.batch && hangsUp(err) {
		// It is not tried on the others: each would cost a connection that carries other requests.
		f.reader.mark(PointBatchPaused, one.first, string(a.bookie))
		one.lost = a.bookie
		f.finish(one)
		return
	}
	if !f.ask(one) && one.asking == 0 {
		f.finish(one)
	}
}

// hear takes note that a bookie answers. It matters to what was asked before; nobody looks when nothing is under way.
func (f *fetcher) hear(bookie ledger.BookieID) {
	if f.heard == nil {
		f.heard = make(map[ledger.BookieID]time.Duration)
	}
	f.heard[bookie] = f.reader.client.h.Elapsed()
}

// verify checks an answer. An error names the bookie that gave it.
func (f *fetcher) verify(one *fetch, a *attempt) error {
	var err error
	if one.batch {
		one.result, err = f.prefix(one, a)
	} else {
		one.result = one.single[:]
		one.single[0], err = verified(f.digester, a.Entries[0], f.reader.id, one.first)
	}
	if err == nil {
		one.answer = a
		return nil
	}
	a.Release()
	f.reader.mark(PointBadDigest, one.first, string(a.bookie))
	return fmt.Errorf("from %s: %w", a.bookie, err)
}

// finish ends a fetch: with a result, or since no replica is left.
func (f *fetcher) finish(one *fetch) {
	one.over = true
	if one.answer == nil && one.lost == "" {
		one.err = f.exhausted(one)
	}
	f.active = slices.DeleteFunc(f.active, func(each *fetch) bool { return each == one })
	f.ended = append(f.ended, one)
}

// exhausted is the error of a fetch that no replica could answer.
func (f *fetcher) exhausted(one *fetch) error {
	err := one.replicas.problem
	if class := readClass(err); class != ErrDigest {
		if class == ErrMaybeLost {
			f.reader.mark(PointMaybeLost, one.first, "")
		}
		err = classed(class, err)
	}
	return fmt.Errorf("read entry %d of ledger %d: %w", one.first, f.reader.id, err)
}
