package replicated

import (
	"errors"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
)

// view is a reader that a session has opened.
type view struct {
	*Session
	book   *book
	reader *client.Reader
	handle model.Handle
	final  bool // everything is healed by now
	last   bool // and this is the last try: a failure is final too
}

// errLeftOut says that the agenda does not want an operation.
var errLeftOut = errors.New("not on the agenda")

// open opens a ledger, with or without recovery. Nil: it did not work.
func (s *Session) open(b *book, recovery, final bool) (*view, error) {
	if !s.does() {
		return nil, errLeftOut
	}
	v := &view{Session: s, book: b, handle: s.lab.Recorder.Handle(), final: final}
	kind := model.LedgerConfirmed
	if recovery {
		kind = model.LedgerRecover
	}
	op := s.op(kind, b.id)
	op.Handle = v.handle
	token := s.lab.Recorder.Begin(op)
	var err error
	if recovery {
		v.reader, err = s.client.Open(b.id, s.openOptions())
	} else {
		v.reader, err = s.client.OpenNoRecovery(b.id, s.openOptions())
	}
	if err != nil {
		if errors.Is(err, client.ErrNoSuchLedger) {
			b.note(func(b *book) { b.deleted = true })
		}
		s.lab.Recorder.End(token, outcomeOf(kind, err), nil)
		return nil, err
	}
	v.endConfirmed(token, v.reader.LastAddConfirmed())
	return v, nil
}

// endConfirmed records how far a reader may read. The end of a closed ledger is told as such, whatever was confirmed
// before it was known to be closed.
func (v *view) endConfirmed(token Token, confirmed ledger.EntryID) {
	closed, length := v.reader.Closed(), int64(0)
	if closed {
		confirmed, length = v.reader.LastAddConfirmed(), v.reader.Length()
		v.book.note(func(b *book) { b.closed = true })
	}
	v.book.confirmed(confirmed)
	v.lab.Recorder.End(token, model.OK, func(op *model.ClusterOp) {
		op.Entry = model.EntryID(confirmed)
		op.Final = v.final && op.Kind == model.LedgerRecover
		if closed {
			op.Length = length
			op.Closed = op.Kind == model.LedgerConfirmed
		}
	})
}

// readLast asks for the last confirmed entry. ok: there was an answer.
func (v *view) readLast() (ledger.EntryID, bool) {
	if !v.does() {
		return ledger.NoEntry, false
	}
	op := v.op(model.LedgerConfirmed, v.book.id)
	op.Handle = v.handle
	token := v.lab.Recorder.Begin(op)
	last, err := v.reader.ReadLastConfirmed()
	if err != nil {
		v.lab.Recorder.End(token, outcomeOf(model.LedgerConfirmed, err), nil)
		return ledger.NoEntry, false
	}
	v.endConfirmed(token, last)
	return last, true
}

// single reads entries one by one. It returns the entry behind those that it got.
func (v *view) single(first, last ledger.EntryID) ledger.EntryID {
	if !v.does() {
		return first
	}
	op := v.op(model.LedgerRead, v.book.id)
	op.Handle, op.Entry, op.Last = v.handle, model.EntryID(first), model.EntryID(last)
	token := v.lab.Recorder.Begin(op)
	entries, err := v.reader.Read(first, last)
	return v.endRead(token, model.LedgerRead, first, entries, err)
}

// batch reads a batch. It returns the entry behind those that it got.
func (v *view) batch(first ledger.EntryID, count, bytes int) ledger.EntryID {
	if !v.does() {
		return first
	}
	op := v.op(model.LedgerBatchRead, v.book.id)
	op.Handle, op.Entry = v.handle, model.EntryID(first)
	op.MaxCount, op.MaxBytes = int32(count), int64(bytes)
	token := v.lab.Recorder.Begin(op)
	entries, err := v.reader.BatchRead(first, count, int64(bytes))
	return v.endRead(token, model.LedgerBatchRead, first, entries, err)
}

func (v *view) endRead(token Token, kind model.ClusterKind, first ledger.EntryID, entries *client.Entries, err error) ledger.EntryID {
	var items []model.Item
	next := first
	if err == nil {
		for _, e := range entries.List {
			items = append(items, model.Item{Entry: model.EntryID(e.ID), Digest: digest(e.Payload), Bytes: int64(len(e.Payload))})
			next = e.ID + 1
		}
		entries.Release()
	}
	bound := v.reader.LastAddConfirmed()
	v.lab.Recorder.EndRead(token, outcomeOf(kind, err), items, func(op *model.ClusterOp) {
		op.Bound, op.Final = model.EntryID(bound), v.final && (err == nil || v.last)
	})
	return next
}

// some reads on from an entry up to another, in one of the ways there are.
func (v *view) some(next, last ledger.EntryID) ledger.EntryID {
	m := &v.lab.mix
	if v.rand.IntN(2) == 0 {
		return v.batch(next, v.rand.IntN(m.BatchCountMax+1), v.rand.IntN(m.BatchBytesMax+1))
	}
	return v.single(next, min(last, next+ledger.EntryID(v.rand.IntN(6))))
}

// tail follows a ledger, mostly one that is being written, until it is closed or the session has seen enough of it.
func (s *Session) tail() {
	b := s.lab.pick(s.rand, beingWritten)
	if b == nil {
		return
	}
	v, err := s.open(b, false, false)
	if err != nil {
		return
	}
	defer v.reader.Close()
	next := ledger.EntryID(0)
	if s.rand.IntN(2) == 0 {
		next = max(v.reader.LastAddConfirmed(), 0) // only what is new
	}
	for range s.lab.mix.TailPolls {
		if !s.goesOn() {
			return
		}
		last, ok := v.readLast()
		for reads := 0; ok && next <= last && reads < 3; reads++ {
			if !s.goesOn() {
				return
			}
			got := v.some(next, last)
			if got == next {
				break // the next poll tries again
			}
			next = got
		}
		if v.reader.Closed() && next > v.reader.LastAddConfirmed() {
			return
		}
	}
}

// catchUp reads a stretch of a ledger.
func (s *Session) catchUp() {
	b := s.lab.pick(s.rand, anything)
	if b == nil {
		return
	}
	v, err := s.open(b, false, false)
	if err != nil {
		return
	}
	defer v.reader.Close()
	last := v.reader.LastAddConfirmed()
	if last < 0 {
		return
	}
	next := ledger.EntryID(s.rand.Int64N(int64(last) + 1))
	if s.rand.IntN(2) == 0 {
		next = 0
	}
	for failures := 0; next <= last && failures < 3 && s.goesOn(); {
		got := v.some(next, last)
		if got == next {
			failures++
		}
		next = got
	}
}

// takeOver recovers a ledger, mostly one that somebody writes, and reads all of it. Half of the time it writes on in a
// ledger of its own, as a topic's new owner does.
func (s *Session) takeOver() {
	wanted := beingWritten
	if s.rand.IntN(4) == 0 {
		wanted = anything
	}
	b := s.lab.pick(s.rand, wanted)
	if b == nil {
		return
	}
	v, err := s.open(b, true, false)
	if err != nil {
		return
	}
	defer v.reader.Close()
	last := v.reader.LastAddConfirmed()
	for next, failures := ledger.EntryID(0), 0; next <= last && failures < 3 && s.goesOn(); {
		got := v.batch(next, s.lab.mix.BatchCountMax, s.lab.mix.BatchBytesMax)
		if got == next {
			failures++
		}
		next = got
	}
	if s.rand.IntN(2) == 0 && s.goesOn() {
		s.write()
	}
}
