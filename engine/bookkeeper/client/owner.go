package client

import (
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// run is the writer's task: it feeds the core and does what the core asks.
func (w *Writer) run() {
	var batch []event
	for {
		var more bool
		if batch, more = w.queue.Take(batch); !more {
			break
		}
		for i := range batch {
			w.take(&batch[i])
		}
	}
	w.asks.End()
	w.client.leave(w)
}

// take gives one input to the core, does what it asks, and sees to it that appends wait for bookies that fall behind.
func (w *Writer) take(e *event) {
	before := w.sender.heavy > 0
	w.input(e)
	w.carryOut()
	if now := w.sender.heavy > 0; now != before {
		w.hold(now)
	}
}

// input gives one input to the core. After the end, appends that were in the queue fail, and the rest means nothing.
func (w *Writer) input(e *event) {
	switch {
	case e.append != nil:
		w.append(e.append)
	case e.add != nil:
		w.addAnswered(e.add)
	case w.ended:
	case e.replied != nil && e.replied.chosen:
		w.core.ReplacementsChosen(e.replied.replacements)
	case e.replied != nil:
		w.core.MetadataAnswered(e.replied.metadata)
	case e.close && !w.closing:
		w.closing = true
		w.core.Close()
	case e.abandon:
		w.end(nil, fmt.Errorf("writer of ledger %d was abandoned: %w", w.id, ErrClosed))
	}
}

func (w *Writer) append(op *Op) {
	if w.ended || w.core.Room() == 0 {
		// The window is never fuller than the core's: the core takes no entries any more. Nothing was sent.
		w.complete(op, ledger.NoEntry, fmt.Errorf("append to ledger %d: %w", w.id, w.refusal()))
		return
	}
	entry := w.core.Append(int64(len(op.stored) - w.overhead))
	w.ops.push(entry, op)
}

func (w *Writer) addAnswered(a *add) {
	if a.Err != nil {
		w.noteFailure(a.bookie, a.outcome(), a.Err)
	}
	entry, index, bookie, outcome := a.entry, a.index, a.bookie, a.outcome()
	w.sender.answered(a)
	if !w.ended {
		w.core.AddAnswered(entry, index, bookie, outcome)
	}
}

// carryOut does what the core asks, and what it asks for in return.
func (w *Writer) carryOut() {
	for effects := w.core.Take(); len(effects) > 0 && !w.ended; effects = w.core.Take() {
		for i := range effects {
			if w.ended {
				return
			}
			w.do(&effects[i])
		}
	}
}

func (w *Writer) do(e *protocol.Effect) {
	switch e.Kind {
	case protocol.SendAdd:
		w.send(e)
	case protocol.AskReplacements, protocol.WriteMetadata, protocol.ReadMetadata:
		taken := w.asks.Offer(*e)
		invariant.Check(taken, "a core asks for bookies once and makes one metadata call at a time")
	case protocol.EntriesAcked:
		w.acked(e)
	case protocol.EntriesFailed:
		w.failed(e)
	case protocol.EnsembleChanged:
		w.mutex.Lock()
		w.snapshot = e.Metadata
		w.mutex.Unlock()
		w.problem = problem{} // it was one of bookies that are replaced now
		w.client.mark(PointEnsembleChanged, w.id, e.Metadata.Last().First, "")
	case protocol.HandleFailed:
		w.handleFailed(e)
	case protocol.Ended:
		w.finish(e)
	default:
		invariant.Check(false, "a writer's core asks only what a writer can do")
	}
}

// send sends an entry, and answers for the bookie if it cannot be sent.
func (w *Writer) send(e *protocol.Effect) {
	op := w.ops.get(e.First)
	if op == nil {
		return // failed within the same round
	}
	if !op.sealed {
		ledger.PutHeader(op.stored, w.id, e.First, e.LAC, e.Length)
		w.digester.Seal(op.stored)
		op.sealed = true
	}
	if err := w.sender.send(e, op.stored); err != nil {
		w.noteFailure(e.Bookie, protocol.AddFailed, err)
		w.core.AddAnswered(e.First, e.Index, e.Bookie, protocol.AddFailed)
	}
}

func (w *Writer) acked(e *protocol.Effect) {
	w.mutex.Lock()
	w.confirmed, w.length = e.LAC, e.Length
	w.mutex.Unlock()
	counted := ""
	if w.client.h.Probe().Active() {
		counted = countedText(e)
	}
	for entry := e.First; entry <= e.Last; entry++ {
		w.client.mark(PointAcked, w.id, entry, counted)
		w.complete(w.ops.pop(entry), entry, nil)
	}
}

// countedText lists the bookies that an acknowledgement counts. It costs, so that nobody should ask who does not listen.
func countedText(e *protocol.Effect) string {
	var text strings.Builder
	for i, b := range e.Metadata.Last().Ensemble {
		if !e.Set.Has(i) {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(string(b))
	}
	return text.String()
}

func (w *Writer) failed(e *protocol.Effect) {
	class := w.failure(e.Failure)
	if !e.Absent {
		class = fmt.Errorf("%w: %w", ErrOutcomeUnknown, class)
	}
	for entry := e.First; entry <= e.Last; entry++ {
		w.complete(w.ops.pop(entry), entry, fmt.Errorf("append entry %d to ledger %d: %w", entry, w.id, class))
	}
}

// complete hands an append back. Its memory goes first: the caller may use the op again at once.
func (w *Writer) complete(op *Op, entry ledger.EntryID, err error) {
	w.forget(op)
	op.Entry, op.Err = entry, err
	op.Done.Appended(op)
}

// problem is what a bookie did wrong.
type problem struct {
	bookie  ledger.BookieID
	outcome protocol.AddOutcome
	err     error
}

// noteFailure keeps the first failure of a bookie of the present ensemble: those that follow are often of adds that it
// brought down with it. Late answers of bookies that were replaced do not count. A refusal that ends the writer alone
// explains the end, whatever came before.
func (w *Writer) noteFailure(bookie ledger.BookieID, outcome protocol.AddOutcome, err error) {
	final := outcome == protocol.AddFenced || outcome == protocol.AddUnauthorized
	first := w.problem.err == nil && w.snapshot.Last().Index(bookie) >= 0 // only this task writes the snapshot
	if first || final && w.problem.outcome != outcome {
		w.problem = problem{bookie: bookie, outcome: outcome, err: err}
	}
}

// failure is the class of a core's failure, with what a bookie did wrong first.
func (w *Writer) failure(f protocol.Failure) error {
	switch f {
	case protocol.Fenced, protocol.Unauthorized, protocol.NotEnoughBookies, protocol.TooManyChanges, protocol.BookieFailed:
	default:
		return failureClass(f)
	}
	if w.problem.err == nil {
		return failureClass(f)
	}
	if f == protocol.Fenced && w.problem.outcome == protocol.AddFenced {
		return classed(ErrFenced, w.problem.err) // its text says it all
	}
	return fmt.Errorf("%w (first failure is that of bookie %s: %v)", failureClass(f), w.problem.bookie, w.problem.err)
}

func (w *Writer) handleFailed(e *protocol.Effect) {
	if e.Failure == protocol.Fenced {
		w.client.mark(PointFenced, w.id, w.core.LastAddConfirmed(), "")
	}
	err := w.failure(e.Failure)
	w.client.h.Log(host.Note, "writer takes no more entries", host.F("ledger", int64(w.id)), host.F("error", err))
	w.refuse(err)
}

// finish takes note of how the core ended.
func (w *Writer) finish(e *protocol.Effect) {
	if e.Failure != 0 {
		class := w.failure(e.Failure)
		if e.Failure == protocol.MetadataFailed {
			class = fmt.Errorf("%w: %w", ErrOutcomeUnknown, class) // a write of it may have been done, or may still be
		}
		w.end(nil, fmt.Errorf("close ledger %d: %w", w.id, class))
		return
	}
	w.client.mark(PointClosed, w.id, e.Metadata.LastEntry, closedByWriter)
	w.end(e.Metadata, nil)
}

// end is the end of the writer. What is still pending then was abandoned: nobody knows what becomes of it.
func (w *Writer) end(m *ledger.Metadata, err error) {
	w.ended = true
	w.refuse(fmt.Errorf("writer: %w", ErrClosed))
	for entry, op := range w.ops.all() {
		w.complete(op, entry, fmt.Errorf("append entry %d to ledger %d: %w: %w", entry, w.id, ErrOutcomeUnknown, err))
	}
	w.ops = ops{}
	w.queue.End() // what is in it is still taken
	var closed ledger.Metadata
	if m != nil {
		closed = *m
		w.mutex.Lock()
		w.snapshot = m
		w.mutex.Unlock()
	}
	w.over.Set(closed, err)
}
