package lakebed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"lakebed/engine/bookkeeper/client"
)

// Writer appends to one ledger. Entries that one goroutine appends get their ids in the order of its calls; those of several
// goroutines come in between each other.
//
// Append waits for the outcome. AppendAsync and AppendFunc do not: with hundreds of appends in flight one goroutine writes
// many times as much, since bookies sync many entries at once. AppendBatch is the simple way to have many in flight.
type Writer struct {
	store  *Store
	engine *client.Writer

	// underWay is twice the appends that have no outcome yet, plus one from the time on when no further ones are taken.
	underWay atomic.Int64
	drained  chan struct{} // closed when underWay has come down to one
	once     struct{ drain, close sync.Once }
	closed   chan struct{} // closed when Close has an outcome
	problem  error         // that outcome
}

func newWriter(s *Store, w *client.Writer) *Writer {
	return &Writer{store: s, engine: w, drained: make(chan struct{}), closed: make(chan struct{})}
}

// ID is the ledger.
func (w *Writer) ID() LedgerID { return w.engine.ID() }

// LastAddConfirmed is the last acknowledged entry; NoEntry before the first.
func (w *Writer) LastAddConfirmed() EntryID { return w.engine.LastAddConfirmed() }

// Length is the payload bytes of all acknowledged entries.
func (w *Writer) Length() int64 { return w.engine.Length() }

// PayloadBytesMax is the longest payload of an entry: a little below 5 MiB.
func (w *Writer) PayloadBytesMax() int { return w.engine.PayloadBytesMax() }

// Info is what the writer goes by: the fragments show which bookies were replaced.
func (w *Writer) Info() LedgerInfo {
	m := w.engine.Metadata()
	return infoOf(w.ID(), &m)
}

// Close waits until the appends under way have their outcomes, closes the ledger behind the last acknowledged entry, and
// returns when the metadata say so. From its call on further appends are refused with ErrClosed. ErrFenced: somebody
// else has taken over, and the end is theirs to decide.
//
// When the context ends first, Close goes on by itself: the error is also ErrOutcomeUnknown, and Close may be called again
// to hear the outcome. To end a writer without closing its ledger, use Abandon.
func (w *Writer) Close(ctx context.Context) error {
	w.once.close.Do(func() {
		w.refuse()
		if w.store.begin() {
			go func() {
				defer w.store.underWay.Done()
				w.finish()
			}()
			return
		}
		w.finish() // the store is closed, or about to be: its writers have their outcomes at once
	})
	select {
	case <-w.closed:
		return w.problem // an outcome is worth more than the end of a context
	default:
	}
	select {
	case <-w.closed:
		return w.problem
	case <-ctx.Done():
		return fmt.Errorf("close ledger %d: %w: %w", w.ID(), ErrOutcomeUnknown, ended(ctx))
	}
}

// finish waits for the appends under way, and closes the ledger.
func (w *Writer) finish() {
	<-w.drained
	w.problem = w.engine.Close()
	close(w.closed)
}

// Abandon ends the writer and leaves the ledger open, for Store.Open to recover. Appends under way fail with
// ErrOutcomeUnknown.
func (w *Writer) Abandon() {
	w.engine.Abandon()
	w.refuse()
}

// begin counts an append that Close waits for. False: no further ones are taken.
func (w *Writer) begin() bool {
	if w.underWay.Add(2)&1 == 0 {
		return true
	}
	w.end()
	return false
}

// end takes an append's outcome off the count.
func (w *Writer) end() {
	if w.underWay.Add(-2) == 1 {
		w.once.drain.Do(func() { close(w.drained) })
	}
}

// refuse ends the taking of appends.
func (w *Writer) refuse() {
	if w.underWay.Or(1)&1 == 0 && w.underWay.Load() == 1 {
		w.once.drain.Do(func() { close(w.drained) })
	}
}

// submit hands an append to the engine, and waits for room as long as the context lasts. With an error nothing was
// appended, and op does not complete.
func (w *Writer) submit(ctx context.Context, payload []byte, op *client.Op) error {
	if ctx.Err() != nil {
		return fmt.Errorf("append to ledger %d: %w", w.ID(), ended(ctx))
	}
	if !w.begin() {
		return fmt.Errorf("append to ledger %d: writer: %w", w.ID(), ErrClosed)
	}
	err := w.hand(ctx, payload, op)
	if err != nil {
		w.end()
	}
	return err
}

// hand does without a watch on the context where there is room at once, which is nearly always.
func (w *Writer) hand(ctx context.Context, payload []byte, op *client.Op) error {
	if ctx.Done() == nil {
		return w.engine.Append(payload, op)
	}
	if err := w.engine.AppendUnless(payload, op, notNow); !errors.Is(err, errNoRoom) {
		return err
	}
	forget := context.AfterFunc(ctx, w.engine.Rouse)
	defer forget()
	return w.engine.AppendUnless(payload, op, func() error {
		if ctx.Err() != nil {
			return ended(ctx)
		}
		return nil
	})
}

// errNoRoom: an append that must not wait would have to.
var errNoRoom = errors.New("no room for an append now")

func notNow() error { return errNoRoom }
