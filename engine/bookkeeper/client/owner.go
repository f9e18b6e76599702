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
		w.settle()
	}
	w.sender.end()
	w.asks.End()
	w.client.leave(w)
}

// inputsMax is how many inputs of the core are gathered at most before what it asks is done.
const inputsMax = 128

// take gives one input to the core. Appends and good answers, of which there may be hundreds in the queue, are gathered:
// what the core asks for them is done together. Neither can end the taking of entries, which the next input must see done.
func (w *Writer) take(e *event) {
	plain := e.append != nil || e.add != nil && e.add.Err == nil
	if !plain {
		w.settle()
	}
	w.input(e)
	if w.inputs++; !plain || w.inputs >= inputsMax || w.client.h.Probe().Perhaps(PointSettleNow) {
		w.settle()
	}
}

// settle does what the core asks, and sees to it that appends wait for bookies that fall behind.
func (w *Writer) settle() {
	w.inputs = 0
	w.carryOut()
	for w.post() {
		w.carryOut()
	}
	if heavy := w.sender.heavy > 0 || w.sender.crowded(); heavy != w.slowed {
		w.slowed = heavy
		w.hold(heavy)
	}
}

// post hands the gathered adds over, and answers for the bookies that are refused theirs. It reports whether there were such.
func (w *Writer) post() bool {
	refused := w.sender.post()
	for _, r := range refused {
		a := r.Owner.(*add)
		w.refusedAdd(a.entry, a.index, a.bookie(), a.Err)
		w.sender.drop(a)
	}
	return len(refused) > 0
}

func (w *Writer) refusedAdd(entry ledger.EntryID, index int, bookie ledger.BookieID, err error) {
	w.noteFailure(bookie, protocol.AddFailed, err)
	if !w.ended {
		w.core.AddAnswered(entry, index, bookie, protocol.AddFailed)
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
	entry, index, bookie, outcome := a.entry, a.index, a.bookie(), a.outcome()
	if a.Err != nil {
		w.noteFailure(bookie, outcome, a.Err)
	}
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
		w.sender.replaced(e.Set, e.Metadata.Last().Ensemble)
		w.client.mark(PointEnsembleChanged, w.id, e.Metadata.Last().First, "")
	case protocol.HandleFailed:
		w.handleFailed(e)
	case protocol.Ended:
		w.finish(e)
	default:
		invariant.Check(false, "a writer's core asks only what a writer can do")
	}
}

// send gathers an entry for a bookie, and answers for that if it cannot be sent.
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
	op.posts = w.sender.posts
	full, err := w.sender.send(e, op.stored, &op.share)
	switch {
	case err != nil:
		w.refusedAdd(e.First, e.Index, e.Bookie, err)
	case full:
		w.post()
	}
}

// acked completes entries. All of them leave the window together, before the first append is handed back: the caller may
// use it again at once.
func (w *Writer) acked(e *protocol.Effect) {
	bytes, spare := 0, 0
	for entry := e.First; entry <= e.Last; entry++ {
		op := w.ops.pop(entry)
		size, free := w.release(op)
		bytes, spare = bytes+size, spare+free
		w.done = append(w.done, op)
	}
	w.mutex.Lock()
	w.confirmed, w.length = e.LAC, e.Length
	w.entries -= len(w.done)
	w.bytes -= int64(bytes)
	w.pass()
	w.mutex.Unlock()
	w.client.budget.give(int64(spare))
	counted := ""
	if w.client.h.Probe().Active() {
		counted = countedText(e)
	}
	for i, op := range w.done {
		entry := e.First + ledger.EntryID(i)
		w.client.mark(PointAcked, w.id, entry, counted)
		op.Entry, op.Err = entry, nil
		op.Done.Appended(op)
	}
	clear(w.done)
	w.done = w.done[:0]
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

// release gives an append's memory back. What is gathered for bookies still reads it, and so do lines that it was lent to: the
// budget gets it back from those. It tells how much it was, and how much of that is free now.
func (w *Writer) release(op *Op) (bytes, free int) {
	if op.posts == w.sender.posts && len(w.sender.gathered) > 0 {
		w.post()
	}
	bytes = len(op.stored)
	if op.share != nil {
		op.share.Return()
	} else {
		w.client.h.Memory().Put(op.stored)
		free = bytes
	}
	op.stored, op.share = nil, nil
	return bytes, free
}

// complete hands a failed append back. Its memory goes first: the caller may use the op again at once.
func (w *Writer) complete(op *Op, entry ledger.EntryID, err error) {
	bytes, free := w.release(op)
	w.leave(bytes)
	w.client.budget.give(int64(free))
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
