package lakebed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"lakebed/engine/bookkeeper/client"
)

// Append appends an entry and waits for the outcome: nil once the entry and all before it are durable. With
// ErrOutcomeUnknown the entry, whose id is returned if it is known, may become a part of the ledger; with any other error
// alone it will not.
//
// When the context ends while Append waits for room, nothing was appended. When it ends later the entry stays on its way,
// and the error is ErrOutcomeUnknown besides. The writer can be used on.
func (w *Writer) Append(ctx context.Context, payload []byte) (EntryID, error) {
	a := takeWaiter()
	a.writer = w
	if err := w.submit(ctx, payload, &a.op); err != nil {
		a.put()
		return NoEntry, err
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		if a.settled.CompareAndSwap(false, true) { // from here on it belongs to its completion
			return NoEntry, fmt.Errorf("append to ledger %d: %w: %w", w.ID(), ErrOutcomeUnknown, ended(ctx))
		}
		<-a.done
	}
	entry, err := a.op.Entry, a.op.Err
	a.put()
	return entry, err
}

// waiter is an append that somebody waits for, or has waited for. They are used again: their channels are empty then.
type waiter struct {
	op      client.Op
	writer  *Writer
	done    chan struct{}
	settled atomic.Bool // by whoever comes first: the outcome, or the caller who leaves
}

var waiters sync.Pool

func takeWaiter() *waiter {
	a, ok := waiters.Get().(*waiter)
	if !ok {
		a = &waiter{done: make(chan struct{}, 1)}
		a.op.Done = a
	}
	a.settled.Store(false)
	return a
}

// Appended implements client.Completion.
func (a *waiter) Appended(*client.Op) {
	a.writer.end()
	if a.settled.CompareAndSwap(false, true) {
		a.done <- struct{}{}
		return
	}
	a.put() // nobody waits any more
}

func (a *waiter) put() {
	a.writer = nil
	waiters.Put(a)
}

// AppendFunc appends an entry, and returns when it is on its way; the context bounds the wait for room. done is then called
// once with the outcome, which is that of Append: in the order of the ids for entries that succeed, by a goroutine that all
// appends of the ledger depend on. It must return soon, and must not call the writer. With an error nothing was appended, and
// done is not called.
//
// It allocates nothing itself, and is the form for whoever counts.
func (w *Writer) AppendFunc(ctx context.Context, payload []byte, done func(EntryID, error)) error {
	if done == nil { // it would be called where nobody who gave it could see
		return fmt.Errorf("append to ledger %d: no function for the outcome: %w", w.ID(), ErrInvalid)
	}
	a, ok := callbacks.Get().(*callback)
	if !ok {
		a = &callback{}
		a.op.Done = a
	}
	a.writer, a.done = w, done
	if err := w.submit(ctx, payload, &a.op); err != nil {
		a.put()
		return err
	}
	return nil
}

// callback is an append whose outcome a function gets.
type callback struct {
	op     client.Op
	writer *Writer
	done   func(EntryID, error)
}

var callbacks sync.Pool

func (a *callback) put() {
	a.writer, a.done = nil, nil
	callbacks.Put(a)
}

// Appended implements client.Completion.
func (a *callback) Appended(op *client.Op) {
	writer, done, entry, err := a.writer, a.done, op.Entry, op.Err
	a.put()
	done(entry, err)
	writer.end() // behind the call: Close promises that there are no more
}

// AppendAsync appends an entry, and returns when it is on its way; the context bounds the wait for room. With an error
// nothing was appended. Entries are acknowledged in order: who has waited for the last one has waited for all.
func (w *Writer) AppendAsync(ctx context.Context, payload []byte) (*Pending, error) {
	p := &Pending{pending{writer: w}}
	p.append.op.Done = &p.append
	if err := w.submit(ctx, payload, &p.append.op); err != nil {
		return nil, err
	}
	return p, nil
}

// Pending is an append under way.
type Pending struct{ append pending }

// pending keeps what the engine calls away from applications.
type pending struct {
	op     client.Op
	writer *Writer

	mutex sync.Mutex
	over  bool
	done  chan struct{} // made when somebody wants to wait: who waits for the last of many makes one
}

// Appended implements client.Completion.
func (a *pending) Appended(*client.Op) {
	a.mutex.Lock()
	a.over = true
	if a.done != nil {
		close(a.done)
	}
	a.mutex.Unlock()
	a.writer.end()
}

func (a *pending) isOver() bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.over
}

// Done returns a channel that is closed when the append has its outcome, which Wait then returns at once.
func (p *Pending) Done() <-chan struct{} {
	a := &p.append
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.done == nil {
		a.done = make(chan struct{})
		if a.over {
			close(a.done)
		}
	}
	return a.done
}

// Wait returns the outcome, as Append does. When the context ends first the error is ErrOutcomeUnknown and the context's;
// Wait may be called again.
func (p *Pending) Wait(ctx context.Context) (EntryID, error) {
	a := &p.append
	if !a.isOver() {
		select {
		case <-p.Done():
		case <-ctx.Done():
			if !a.isOver() {
				return NoEntry, fmt.Errorf("append to ledger %d: %w: %w", a.writer.ID(), ErrOutcomeUnknown, ended(ctx))
			}
		}
	}
	return a.op.Entry, a.op.Err
}

// AppendBatch appends entries, all in flight at once as far as there is room, and waits for their outcomes. It returns the
// ids of those that were acknowledged: all of them, or the first ones and the error of the next. ErrOutcomeUnknown then says
// that some of the rest may become part of the ledger. The ids ascend, and have no gaps unless other goroutines append
// meanwhile.
func (w *Writer) AppendBatch(ctx context.Context, payloads [][]byte) ([]EntryID, error) {
	b := &batch{
		writer: w, ops: make([]client.Op, len(payloads)), ids: make([]EntryID, 0, len(payloads)), done: make(chan struct{}),
	}
	sent := 0
	var refused error // why the batch ends before its end
	for ; sent < len(payloads) && refused == nil; sent++ {
		b.ops[sent].Done = b
		refused = w.submit(ctx, payloads[sent], &b.ops[sent])
	}
	if refused != nil {
		sent--
	}
	b.seal(sent)
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case b.completed < sent: // the rest still completes, in the slice that this is a copy of
		return slices.Clone(b.ids), fmt.Errorf("append to ledger %d: %w: %w", w.ID(), ErrOutcomeUnknown, ended(ctx))
	case b.err != nil:
		return b.ids, b.err
	}
	return b.ids, refused
}

// batch are the appends of one call.
type batch struct {
	writer *Writer
	ops    []client.Op

	mutex     sync.Mutex
	ids       []EntryID // acknowledged
	err       error     // of one that was not: what is unknown of any is unknown of the batch
	completed int
	sent      int           // of a batch that is sealed
	done      chan struct{} // closed when all that were sent have completed
	sealed    bool
}

// Appended implements client.Completion.
func (b *batch) Appended(op *client.Op) {
	b.mutex.Lock()
	switch {
	case op.Err == nil:
		b.ids = append(b.ids, op.Entry)
	case b.err == nil || errors.Is(op.Err, ErrOutcomeUnknown) && !errors.Is(b.err, ErrOutcomeUnknown):
		b.err = op.Err
	}
	b.completed++
	b.settle()
	b.mutex.Unlock()
	b.writer.end()
}

// seal says how many appends there are to wait for.
func (b *batch) seal(sent int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.sent, b.sealed = sent, true
	b.settle()
}

func (b *batch) settle() {
	if b.sealed && b.completed == b.sent {
		close(b.done)
	}
}
