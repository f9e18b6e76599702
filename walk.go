package lakebed

import (
	"context"
	"errors"
	"iter"
)

// What Entries and Tail read at a time.
const (
	walkEntriesMax = 1000
	walkBytesMax   = 1 << 20
)

// Entries walks the entries from first on, up to the last that is known to be confirmed when the walk comes to it. An error
// ends the walk.
//
// Entries that come together share a block of memory of up to 1 MiB: clone a payload that is kept for long.
func (r *Reader) Entries(ctx context.Context, first EntryID) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		r.walk(ctx, first, yield)
	}
}

// Tail walks the entries from first on and then waits for those that are still to be written, until the ledger is closed and its
// last entry was seen. An error ends the walk, that of the context among them; Tail may be called again from where it ended.
//
// Entries appear when the writer appends the next one or closes the ledger: see the package's "What it does not promise". A
// writer that dies leaves Tail waiting: somebody has to open its ledger, as whoever takes over does.
//
// Entries that come together share a block of memory of up to 1 MiB: clone a payload that is kept for long.
func (r *Reader) Tail(ctx context.Context, first EntryID) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for next, more := first, true; more; {
			if _, err := r.WaitFor(ctx, next); err != nil {
				if !errors.Is(err, ErrBeyondLAC) { // nothing is behind the end of a closed ledger
					yield(Entry{}, err)
				}
				return
			}
			next, more = r.walk(ctx, next, yield)
		}
	}
}

// walk yields the entries from next on that are known to be confirmed, and returns which would be the next. Not more: the walk
// is over.
func (r *Reader) walk(ctx context.Context, next EntryID, yield func(Entry, error) bool) (EntryID, bool) {
	for next <= r.LastAddConfirmed() {
		entries, err := r.BatchRead(ctx, next, BatchLimits{Entries: walkEntriesMax, Bytes: walkBytesMax})
		if err != nil {
			yield(Entry{}, err)
			return next, false
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return next, false
			}
			next = e.ID + 1
		}
	}
	return next, true
}
