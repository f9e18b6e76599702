package replicated

import (
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
	"lakebed/model"
)

// author is a session while it writes a ledger.
type author struct {
	*Session
	book     *book
	writer   *client.Writer
	handle   model.Handle
	done     *host.Queue[*flight]
	underWay int
	failed   bool // an append was not acknowledged: the writer is over, or will be
	taken    []*flight
}

// flight is one append under way.
type flight struct {
	client.Op
	author *author
	token  Token
}

// Appended records the outcome in the moment in which the client tells it.
func (f *flight) Appended(op *client.Op) {
	outcome := outcomeOf(model.LedgerAppend, op.Err)
	f.author.lab.Recorder.End(f.token, outcome, func(o *model.ClusterOp) {
		if outcome == model.OK {
			o.Entry = model.EntryID(op.Entry)
		}
	})
	f.author.done.Offer(f)
}

// write creates a ledger, appends to it, and ends the writing in one of the ways there are.
func (s *Session) write() {
	if !s.lab.mayCreate() {
		s.catchUp()
		return
	}
	if !s.does() {
		s.lab.notCreated()
		return
	}
	a := s.create()
	if a == nil {
		s.lab.notCreated()
		s.group.Sleep(createPause)
		return
	}
	a.book.note(func(b *book) { b.written = true })
	a.appendAll()
	a.end()
	a.book.note(func(b *book) { b.written = false })
}

// createPause is how long a session waits after a ledger could not be created: mostly there are too few bookies.
const createPause = 25 * time.Millisecond

// create creates a ledger. Nil: it did not work. A ledger whose creation is of unknown outcome has no name that anybody
// knows, so it is no part of the history.
func (s *Session) create() *author {
	m := &s.lab.mix
	digest := m.Digests[s.rand.IntN(len(m.Digests))]
	token := s.lab.Recorder.Begin(s.op(model.LedgerCreate, 0))
	w, err := s.client.Create(client.CreateOptions{Quorum: m.Quorum, Digest: digest, Password: password(), Writer: m.Writer})
	if err != nil {
		s.lab.Recorder.Drop(token, outcomeOf(model.LedgerCreate, err))
		return nil
	}
	s.lab.Recorder.End(token, model.OK, func(op *model.ClusterOp) { op.Ledger = model.LedgerID(w.ID()) })
	return &author{
		Session: s, book: s.lab.add(w.ID()), writer: w, handle: s.lab.Recorder.Handle(),
		done: host.NewQueue[*flight](s.h, s.group, "appended", m.Window),
	}
}

// appendAll appends until the ledger is long enough, an append fails, or the session is to end. Now and then the writer
// rests, so that others find its ledger idle and open.
func (a *author) appendAll() {
	m := &a.lab.mix
	entries := m.EntriesMin + a.rand.IntN(m.EntriesMax-m.EntriesMin+1)
	rest := a.rand.IntN(3 * entries)
	for i := range entries {
		if a.underWay >= m.Window && !a.await(1+a.rand.IntN(m.Window)) || a.failed {
			break
		}
		if i == rest && !a.rest() || a.rand.IntN(4) == 0 && !a.goesOn() {
			break
		}
		if a.does() {
			a.append()
		}
	}
	if a.rand.IntN(4) > 0 { // else it closes with appends under way
		a.await(a.underWay)
	}
}

// restMax is how long a writer rests at most.
const restMax = 400 * time.Millisecond

func (a *author) rest() bool {
	return a.await(a.underWay) && a.group.Sleep(time.Duration(a.rand.Int64N(int64(restMax)))) && !a.lab.Finished()
}

func (a *author) append() {
	payload := a.lab.payload(a.rand)
	op := a.op(model.LedgerAppend, a.book.id)
	op.Handle, op.Digest, op.Length = a.handle, digest(payload), int64(len(payload))
	f := &flight{author: a, token: a.lab.Recorder.Begin(op)}
	f.Done = f
	a.underWay++
	if err := a.writer.Append(payload, &f.Op); err != nil {
		a.underWay--
		a.failed = true
		a.lab.Recorder.End(f.token, outcomeOf(model.LedgerAppend, err), nil)
	}
}

// await takes back at least so many appends. False: the group stops.
func (a *author) await(count int) bool {
	for count > 0 && a.underWay > 0 {
		var ok bool
		if a.taken, ok = a.done.Take(a.taken); !ok {
			return false
		}
		for _, f := range a.taken {
			a.underWay--
			count--
			if f.Err != nil {
				a.failed = true
			} else {
				a.book.confirmed(f.Entry)
			}
		}
	}
	return true
}

// end closes the ledger, or leaves it open for others to recover.
func (a *author) end() {
	if a.rand.IntN(4) == 0 || !a.does() {
		a.writer.Abandon()
		a.await(a.underWay)
		return
	}
	op := a.op(model.LedgerClose, a.book.id)
	op.Handle = a.handle
	token := a.lab.Recorder.Begin(op)
	err := a.writer.Close()
	last, length := a.writer.LastAddConfirmed(), a.writer.Length()
	a.lab.Recorder.End(token, outcomeOf(model.LedgerClose, err), func(op *model.ClusterOp) {
		if err == nil {
			op.Entry, op.Length = model.EntryID(last), length
		}
	})
	if err == nil {
		a.book.confirmed(last)
		a.book.note(func(b *book) { b.closed = true })
	}
	a.await(a.underWay)
}
