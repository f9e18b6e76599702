package client

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// Reader reads one ledger. All methods may be called from any task.
type Reader struct {
	client *Client
	id     ledger.ID
	digest ledger.DigestType
	secret []byte // the password

	mutex     host.Mutex
	changed   host.Cond // the LAC rose, the metadata changed, or the reader was closed
	current   versioned
	confirmed ledger.EntryID // the LAC; of a closed ledger its last entry
	digesters []*ledger.Digester
	fetchers  []*fetcher    // of calls that have ended
	batchFrom time.Duration // when batch reads are tried again
	watch     metadata.Watch
	closed    bool
	gone      bool // the ledger was deleted
}

// versioned are metadata as they were read. They are never changed in place, so that a copy may be used without a lock.
type versioned struct {
	ledger.Metadata
	version metadata.Version
}

// ID is the ledger.
func (r *Reader) ID() ledger.ID { return r.id }

// Metadata returns what is known of the ledger. It must not be changed.
func (r *Reader) Metadata() ledger.Metadata {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.current.Metadata
}

// Closed reports whether the ledger is known to be closed: LastAddConfirmed and Length are then final.
func (r *Reader) Closed() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.current.State == ledger.Closed
}

// LastAddConfirmed is the last entry that this reader knows to be confirmed; ledger.NoEntry if it knows none. It never
// goes back, and it asks nobody.
func (r *Reader) LastAddConfirmed() ledger.EntryID {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.confirmed
}

// Length is the payload bytes of a closed ledger, 0 of one that is not known to be closed.
func (r *Reader) Length() int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.current.Length
}

// Read returns the entries first to last. ErrBeyondLAC if not all of them are known to be confirmed. There may be at most
// Config.ReadEntriesMax.
func (r *Reader) Read(first, last ledger.EntryID) (*Entries, error) {
	if first < 0 || last < first || int64(last-first) >= int64(r.client.config.ReadEntriesMax) {
		return nil, fmt.Errorf("read entries %d to %d of ledger %d: must ascend from 0, at most %d: %w",
			first, last, r.id, r.client.config.ReadEntriesMax, ErrInvalid)
	}
	return r.call(first, last, func(f *fetcher) (*Entries, error) { return r.all(f, first, int(last-first)+1) })
}

// BatchRead returns entries from first on without a hole: at least one, and beyond that at most maxCount (zero: no bound),
// and as many as fit into an answer of maxBytes on the wire (zero: the longest frame), where each entry takes its payload
// and about 50 bytes. It ends at the LAC and at the end of a fragment, and where the bookie that answers has a gap: fewer
// entries than asked for mean nothing.
func (r *Reader) BatchRead(first ledger.EntryID, maxCount int, maxBytes int64) (*Entries, error) {
	if first < 0 || maxCount < 0 || maxBytes < 0 {
		return nil, fmt.Errorf("batch read of %d entries and %d bytes from entry %d of ledger %d: %w",
			maxCount, maxBytes, first, r.id, ErrInvalid)
	}
	if maxCount == 0 {
		maxCount = r.client.config.ReadEntriesMax
	}
	if maxBytes == 0 {
		maxBytes = int64(r.client.config.Pool.Channel.FrameBytesMax)
	}
	return r.call(first, first, func(f *fetcher) (*Entries, error) {
		return r.some(f, first, batchLimits{count: min(maxCount, r.client.config.ReadEntriesMax), sizeBytes: maxBytes})
	})
}

// call runs a read of entries up to last. If it fails on all replicas, and the metadata have changed since they were read,
// it is run once more: bookies may have been replaced while the handle was open (bookkeeper#4613).
func (r *Reader) call(first, last ledger.EntryID, read func(*fetcher) (*Entries, error)) (*Entries, error) {
	if err := r.client.begin(); err != nil {
		return nil, fmt.Errorf("read entry %d of ledger %d: %w", first, r.id, err)
	}
	defer r.client.end()
	if err := r.allowed(first, last); err != nil {
		return nil, err
	}
	if r.client.h.Probe().Perhaps(PointRefreshNow) {
		_ = r.refresh() // what is known is as good as it was
	}
	before := r.Metadata()
	entries, err := r.try(&before, read)
	if err == nil || errors.Is(err, ErrClientClosed) || errors.Is(err, errTooMuch) {
		return entries, err
	}
	if failure := r.refresh(); failure != nil {
		return nil, r.unproved(err, failure)
	}
	after := r.Metadata()
	if after.Equal(before) {
		return nil, err
	}
	r.mark(PointReadRefreshed, first, "")
	return r.try(&after, read)
}

// unproved is what a read failed with whose metadata could not be read again. Bookies that have been replaced deny in good
// faith what they never got, so "no such entry" is no answer then.
func (r *Reader) unproved(err, failure error) error {
	switch {
	case errors.Is(failure, ErrNoSuchLedger):
		return failure
	case errors.Is(err, ErrNoSuchEntry) || errors.Is(err, ErrNoSuchLedger):
		return fmt.Errorf("%v, but these bookies may have been replaced: %w: %w", err, ErrUnavailable, failure)
	}
	return err
}

// try reads by some metadata, and raises the LAC by what the entries carry.
func (r *Reader) try(m *ledger.Metadata, read func(*fetcher) (*Entries, error)) (*Entries, error) {
	f, err := r.takeFetcher(m)
	if err != nil {
		return nil, err
	}
	defer r.giveFetcher(f)
	entries, err := read(f)
	r.learn(entries)
	return entries, err
}

// allowed refuses entries that are not known to be confirmed: they may yet turn out never to have been.
func (r *Reader) allowed(first, last ledger.EntryID) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return fmt.Errorf("read entry %d of ledger %d: reader: %w", first, r.id, ErrClosed)
	}
	if last > r.confirmed {
		return fmt.Errorf("read entries %d to %d of ledger %d, confirmed up to %d: %w", first, last, r.id, r.confirmed, ErrBeyondLAC)
	}
	return nil
}

// some reads a prefix of a range, in the way that suits the ledger: the bookies of a striped one never hold following
// entries, and its batches would end after a stripe.
func (r *Reader) some(f *fetcher, first ledger.EntryID, limits batchLimits) (*Entries, error) {
	limits.count = r.clamp(&f.metadata, first, limits.count)
	if r.batches(&f.metadata) && limits.count > 1 {
		entries, err := f.batch(first, limits)
		if !errors.Is(err, errBatchLost) {
			return entries, err
		}
		r.pauseBatches()
	}
	return f.likeBatch(first, limits)
}

// clamp ends a read at the LAC and at the end of the fragment. A bookie may hold more: entries that were never confirmed,
// or the remains of a tail that recovery cut off. BookKeeper's batch reads return them.
func (r *Reader) clamp(m *ledger.Metadata, first ledger.EntryID, count int) int {
	end := fragmentEnd(m, first, r.LastAddConfirmed()+1)
	return int(min(int64(count), int64(end-first)))
}

func (r *Reader) batches(m *ledger.Metadata) bool {
	if !r.client.config.BatchReads || m.Quorum.Striped() {
		return false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.client.h.Elapsed() >= r.batchFrom && !r.client.h.Probe().Perhaps(PointReadBesides)
}

func (r *Reader) pauseBatches() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.batchFrom = r.client.h.Elapsed() + r.client.config.BatchPause
}

// learn raises the LAC by what entries carry.
func (r *Reader) learn(entries *Entries) {
	if entries == nil {
		return
	}
	highest := ledger.NoEntry
	for i := range entries.List {
		highest = max(highest, entries.List[i].LastAddConfirmed)
	}
	r.raise(highest)
}

func (r *Reader) raise(confirmed ledger.EntryID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.current.State != ledger.Closed && confirmed > r.confirmed {
		r.confirmed = confirmed
		r.changed.Broadcast()
	}
}

func (r *Reader) takeDigester() (*ledger.Digester, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if n := len(r.digesters); n > 0 {
		d := r.digesters[n-1]
		r.digesters = r.digesters[:n-1]
		return d, nil
	}
	return ledger.NewDigester(r.digest, r.secret)
}

func (r *Reader) giveDigester(d *ledger.Digester) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.digesters = append(r.digesters, d) // as many as there are calls at a time
}

// Close ends the reader. Calls under way may still succeed.
func (r *Reader) Close() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closed = true
	if r.watch != nil {
		r.watch.Close()
	}
	r.changed.Broadcast()
}

func (r *Reader) mark(point host.Point, entry ledger.EntryID, extra string) {
	r.client.h.Probe().Mark(host.Event{Name: point, A: int64(r.id), B: int64(entry), Extra: extra})
}
