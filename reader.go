package lakebed

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
)

// Reader reads one ledger. Read and BatchRead return copies; Borrow and BorrowBatch lend the memory that was received, for
// whoever counts allocations; Entries and Tail walk the ledger.
type Reader struct {
	store  *Store
	engine *client.Reader
}

// BatchLimits bound a batch read. Zero stands for no bound of one's own.
type BatchLimits struct {
	Entries int   // at most so many
	Bytes   int64 // of the answer, where each entry takes its payload and about 50 bytes; the first entry comes anyway
}

// ID is the ledger.
func (r *Reader) ID() LedgerID { return r.engine.ID() }

// Closed reports whether the ledger is known to be closed: LastAddConfirmed and Length are final then.
func (r *Reader) Closed() bool { return r.engine.Closed() }

// LastAddConfirmed is the last entry that this reader knows to be confirmed, NoEntry if it knows none: what is up to it may
// be read. It never goes back, and it asks nobody.
func (r *Reader) LastAddConfirmed() EntryID { return r.engine.LastAddConfirmed() }

// Length is the payload bytes of a closed ledger, 0 of one that is not known to be closed.
func (r *Reader) Length() int64 { return r.engine.Length() }

// Info is what the reader knows of the ledger. It asks nobody.
func (r *Reader) Info() LedgerInfo {
	m := r.engine.Metadata()
	return infoOf(r.ID(), &m)
}

// Close ends the reader. Calls under way may still succeed, and waits end with ErrClosed. The error is always nil.
func (r *Reader) Close() error {
	r.engine.Close()
	return nil
}

// ReadEntry returns one entry.
func (r *Reader) ReadEntry(ctx context.Context, id EntryID) (Entry, error) {
	entries, err := r.Read(ctx, id, id)
	if err != nil {
		return Entry{}, err
	}
	return entries[0], nil
}

// Read returns the entries first to last, all of them or an error: ErrBeyondLAC if not all are known to be confirmed. There
// may be at most Config.ReadEntriesMax.
func (r *Reader) Read(ctx context.Context, first, last EntryID) ([]Entry, error) {
	return copied(r.borrow(ctx, first, last))
}

// BatchRead returns entries from first on without a hole: at least one, and then as many as one bookie hands out in one
// answer within the limits. It is the fast way to read small entries of a ledger whose Ensemble is its WriteQuorum. Fewer
// entries than asked for mean nothing: go on behind the last.
func (r *Reader) BatchRead(ctx context.Context, first EntryID, limits BatchLimits) ([]Entry, error) {
	return copied(r.borrowBatch(ctx, first, limits))
}

// Borrow is Read without a copy: the entries lie in memory that Release gives back.
func (r *Reader) Borrow(ctx context.Context, first, last EntryID) (*Borrowed, error) {
	return lent(r.borrow(ctx, first, last))
}

// BorrowBatch is BatchRead without a copy: the entries lie in memory that Release gives back.
func (r *Reader) BorrowBatch(ctx context.Context, first EntryID, limits BatchLimits) (*Borrowed, error) {
	return lent(r.borrowBatch(ctx, first, limits))
}

func (r *Reader) borrow(ctx context.Context, first, last EntryID) (*client.Entries, error) {
	return do(ctx, r.store, job[*client.Entries]{
		slots: r.store.calls, doing: func() string { return fmt.Sprintf("read entries %d to %d of ledger %d", first, last, r.ID()) },
		run:     func() (*client.Entries, error) { return r.engine.Read(first, last) },
		discard: func(e *client.Entries) { e.Release() },
	})
}

func (r *Reader) borrowBatch(ctx context.Context, first EntryID, limits BatchLimits) (*client.Entries, error) {
	return do(ctx, r.store, job[*client.Entries]{
		slots: r.store.calls, doing: func() string { return fmt.Sprintf("read entries from %d on of ledger %d", first, r.ID()) },
		run:     func() (*client.Entries, error) { return r.engine.BatchRead(first, limits.Entries, limits.Bytes) },
		discard: func(e *client.Entries) { e.Release() },
	})
}

// Borrowed are entries in memory that is not the caller's. None of them, and no part of a payload, may be used after
// Release: the memory then holds other entries.
type Borrowed struct {
	Entries []Entry
	lender  atomic.Pointer[client.Entries] // nil after Release
}

// Release gives the memory back. It may be called again. Entries that are never released are lost to the pool, and left to
// the collector.
func (b *Borrowed) Release() {
	lender := b.lender.Swap(nil)
	if lender == nil {
		return // memory that is given back twice would be lent to two at a time
	}
	b.Entries = nil
	lender.Release()
}

func lent(e *client.Entries, err error) (*Borrowed, error) {
	if err != nil {
		return nil, err
	}
	b := &Borrowed{Entries: make([]Entry, len(e.List))}
	b.lender.Store(e)
	for i := range e.List {
		b.Entries[i] = Entry(e.List[i])
	}
	return b, nil
}

// copied copies entries into one block, and gives back what they were read into.
func copied(e *client.Entries, err error) ([]Entry, error) {
	if err != nil {
		return nil, err
	}
	defer e.Release()
	size := 0
	for i := range e.List {
		size += len(e.List[i].Payload)
	}
	block, entries := make([]byte, 0, size), make([]Entry, len(e.List))
	for i := range e.List {
		start := len(block)
		block = append(block, e.List[i].Payload...)
		entries[i] = Entry(e.List[i])
		entries[i].Payload = block[start:len(block):len(block)] // appending to one must not run into the next
	}
	return entries, nil
}

// ReadLastConfirmed asks the bookies how far the ledger is confirmed, and returns the last such entry; that of a closed
// ledger is its last. It lags behind an open ledger's writer: see the package's "What it does not promise".
func (r *Reader) ReadLastConfirmed(ctx context.Context) (EntryID, error) {
	return do(ctx, r.store, job[EntryID]{
		slots: r.store.calls, doing: func() string { return fmt.Sprintf("read the last confirmed entry of ledger %d", r.ID()) },
		run: r.engine.ReadLastConfirmed,
	})
}

// waitSlice bounds one wait of the engine's, and so for how long one is left behind.
const waitSlice = 5 * time.Second

// WaitFor waits until an entry is known to be confirmed, and returns the last that is. ErrBeyondLAC if the ledger is closed
// before it, ErrNoSuchLedger if it is deleted.
func (r *Reader) WaitFor(ctx context.Context, entry EntryID) (EntryID, error) {
	for {
		if confirmed := r.LastAddConfirmed(); confirmed >= entry {
			return confirmed, nil
		}
		confirmed, err := do(ctx, r.store, job[EntryID]{
			slots: r.store.waits, doing: func() string { return fmt.Sprintf("wait for entry %d of ledger %d", entry, r.ID()) },
			run: func() (EntryID, error) { return r.engine.WaitFor(entry, waitSlice) },
		})
		if !errors.Is(err, host.ErrTimeout) {
			return confirmed, err
		}
	}
}
