package model

import (
	"slices"
)

// worldWriter appends to the ledger it created, changes ensembles and closes.
type worldWriter struct {
	w        *clusterWorld
	l        *worldLedger
	meta     worldMetadata
	client   ClientID
	handle   Handle
	pending  []*worldAdd
	next     EntryID
	lac      EntryID
	length   int64
	changing bool
	dead     bool
}

func (wr *worldWriter) act() {
	switch n := wr.w.random.IntN(100); {
	case wr.dead:
	case n < 70 && wr.l.size < 40 && !wr.changing:
		wr.append()
	case n < 80 && !wr.changing:
		wr.change()
	case n < 96 && len(wr.pending) > 0 && !wr.changing:
		a := wr.pending[0]
		for _, i := range indexes(wr.l.quorum, a.entry.item.Entry) {
			wr.send(a, i)
		}
	case n == 96 && len(wr.pending) == 0 && !wr.changing:
		wr.close()
	case n == 97 && wr.w.random.IntN(4) == 0:
		wr.die(Unknown, Never)
	}
}

func (wr *worldWriter) append() {
	wr.w.digests++
	wr.l.size++
	size := int64(wr.w.random.IntN(100))
	wr.length += size
	a := &worldAdd{acks: map[int]Node{}, entry: worldEntry{Item{wr.next, wr.w.digests, size}, wr.lac, wr.length}}
	a.op = ClusterOp{Kind: LedgerAppend, Ledger: wr.l.id, Client: wr.client, Handle: wr.handle, Digest: wr.w.digests,
		Length: size, Call: wr.w.tick()}
	wr.next++
	wr.pending = append(wr.pending, a)
	for _, i := range indexes(wr.l.quorum, a.entry.item.Entry) {
		wr.send(a, i)
	}
}

func (wr *worldWriter) send(a *worldAdd, index int) {
	node := lastFragment(wr.meta).Ensemble[index]
	wr.w.ask(node, wr.l.id, func(c *worldCopy) func() {
		if c.fenced {
			return func() { wr.die(Fenced, 0) }
		}
		c.add(a.entry)
		return func() {
			if !wr.dead && lastFragment(wr.meta).Ensemble[index] == node {
				a.acks[index] = node
				wr.pop()
			}
		}
	})
}

func (c *worldCopy) add(e worldEntry) {
	c.entries[e.item.Entry] = e
	c.lac = max(c.lac, e.lac)
}

func (wr *worldWriter) pop() {
	for len(wr.pending) > 0 && (!wr.changing || wr.w.bug == "bookkeeper#4651") && len(wr.pending[0].acks) >= wr.needed() {
		a := wr.pending[0]
		wr.pending = wr.pending[1:]
		wr.lac = a.entry.item.Entry
		wr.w.h.AppendNotice(Notice{At: wr.w.tick(), Ledger: wr.l.id, Entry: wr.lac, Writer: wr.handle, Client: wr.client,
			Kind: NoticeAcked}, a.by())
		a.op.Outcome, a.op.Entry, a.op.Return = OK, wr.lac, wr.w.tick()
		wr.w.h.Append(a.op)
	}
}

// needed is the number of answers that make an entry safe.
func (wr *worldWriter) needed() int {
	if wr.w.bug == "one answer is enough" {
		return 1
	}
	return int(wr.l.quorum.Ack)
}

// die ends the writer and all that it has under way; a return of 0 is now.
func (wr *worldWriter) die(outcome Outcome, ret Stamp) {
	if wr.dead {
		return
	}
	wr.dead = true
	if ret == 0 {
		ret = wr.w.tick()
	}
	for _, a := range wr.pending {
		a.op.Outcome, a.op.Return = outcome, ret
		wr.w.h.Append(a.op)
	}
}

func (wr *worldWriter) change() {
	old := lastFragment(wr.meta)
	index := wr.w.random.IntN(len(old.Ensemble))
	spare := wr.w.names[wr.w.random.IntN(len(wr.w.names))]
	if slices.Contains(old.Ensemble, spare) {
		return
	}
	wr.changing = true
	now := LedgerFragment{wr.lac + 1, slices.Clone(old.Ensemble)}
	now.Ensemble[index] = spare
	next := wr.meta
	next.fragments = slices.Clone(next.fragments)
	if old.First == now.First {
		next.fragments = next.fragments[:len(next.fragments)-1]
	}
	next.fragments = append(next.fragments, now)
	if wr.w.bug == "bookkeeper#1591" { // goes on with the new ensemble before it is stored
		version := wr.meta.version
		wr.meta = next
		wr.meta.version, wr.changing = version, false
		for _, a := range wr.pending {
			delete(a.acks, index)
			wr.send(a, index)
		}
	}
	wr.w.store(wr.l, wr.meta.version, next, func(applied bool, stored worldMetadata) {
		if wr.dead {
			return
		}
		if !applied {
			wr.die(Fenced, 0)
			return
		}
		wr.meta, wr.changing = stored, false
		for _, a := range wr.pending {
			if wr.w.bug != "bookkeeper#3005" {
				delete(a.acks, index)
			}
		}
		for _, a := range wr.pending {
			if slices.Contains(indexes(wr.l.quorum, a.entry.item.Entry), index) {
				wr.send(a, index)
			}
		}
		wr.pop()
	})
}

func (wr *worldWriter) close() {
	wr.dead = true // nothing is appended any more
	op := ClusterOp{Kind: LedgerClose, Ledger: wr.l.id, Client: wr.client, Handle: wr.handle, Call: wr.w.tick()}
	next := wr.meta
	next.state, next.last, next.length = LedgerClosed, wr.lac, wr.length
	wr.w.store(wr.l, wr.meta.version, next, func(applied bool, stored worldMetadata) {
		op.Outcome = Fenced
		if applied {
			wr.w.h.AppendNotice(Notice{At: wr.w.tick(), Ledger: wr.l.id, Entry: wr.lac, Client: wr.client, Kind: NoticeClosed}, nil)
			op.Outcome, op.Entry, op.Length = OK, stored.last, stored.length
		}
		op.Return = wr.w.tick()
		wr.w.h.Append(op)
	})
}

// worldRecovery takes a ledger over.
type worldRecovery struct {
	w        *clusterWorld
	l        *worldLedger
	op       ClusterOp
	meta     worldMetadata
	fenced   map[int]EntryID // LAC by index
	lac      EntryID         // found by fencing
	at       EntryID         // read or stored again now; NoLast while fencing
	length   int64
	absent   map[int]bool
	adding   *worldAdd
	awaiting bool // an answer of the metadata store
	done     bool
}

func (w *clusterWorld) recover(l *worldLedger, final bool) *worldRecovery {
	w.handles++
	r := &worldRecovery{w: w, l: l, at: NoLast, lac: NoLast, fenced: map[int]EntryID{}, op: ClusterOp{Kind: LedgerRecover, Ledger: l.id,
		Client: 60, Handle: w.handles, Call: w.tick(), Final: final}}
	w.rescuers = append(w.rescuers, r)
	r.begin(l.meta)
	return r
}

func (r *worldRecovery) end(outcome Outcome, ret Stamp) {
	if r.done {
		return
	}
	r.done = true
	r.op.Outcome, r.op.Return = outcome, ret
	if ret == 0 {
		r.op.Return = r.w.tick()
	}
	r.w.h.Append(r.op)
}

func (r *worldRecovery) adopt(m worldMetadata) {
	if r.done {
		return
	}
	r.w.h.AppendNotice(Notice{At: r.w.tick(), Ledger: r.l.id, Entry: m.last, Client: 60, Kind: NoticeClosed}, nil)
	r.op.Entry, r.op.Length = m.last, m.length
	r.end(OK, 0)
	r.w.readers = append(r.w.readers, &worldReader{w: r.w, l: r.l, handle: r.op.Handle, bound: m.last, closed: true})
}

func (r *worldRecovery) begin(now worldMetadata) {
	switch now.state {
	case LedgerGone:
		r.end(NoLedger, 0)
	case LedgerClosed:
		r.adopt(now)
	case LedgerInRecovery:
		r.meta = now
		r.kick()
	default:
		next := now
		next.state, r.awaiting = LedgerInRecovery, true
		r.w.store(r.l, now.version, next, func(_ bool, stored worldMetadata) {
			r.awaiting = false
			r.begin(stored)
		})
	}
}

func (r *worldRecovery) act() {
	switch {
	case r.done:
	case r.w.random.IntN(40) == 0 && !r.op.Final:
		r.end(Unknown, Never) // its client dies; what it sent goes on
	default:
		r.kick()
	}
}

// kick sends again what the recovery waits for.
func (r *worldRecovery) kick() {
	switch {
	case r.done || r.awaiting || r.meta.fragments == nil:
	case r.at == NoLast:
		for i := range lastFragment(r.meta).Ensemble {
			r.fence(i)
		}
	case r.adding != nil:
		for _, i := range indexes(r.l.quorum, r.at) {
			r.addAgain(r.adding, i)
		}
	default:
		for _, i := range indexes(r.l.quorum, r.at) {
			r.readTail(i, r.at)
		}
	}
}

func (r *worldRecovery) fence(index int) {
	r.w.ask(lastFragment(r.meta).Ensemble[index], r.l.id, func(c *worldCopy) func() {
		c.fenced = true
		lac, length := c.lac, c.entries[c.lac].length
		return func() {
			if r.done || r.at != NoLast {
				return
			}
			r.fenced[index] = lac
			r.length = max(r.length, length)
			r.covered()
		}
	})
}

func (r *worldRecovery) covered() {
	q := r.l.quorum
	for start := range int(q.Ensemble) {
		unknown := int32(0)
		for k := range int(q.Write) {
			if _, answered := r.fenced[(start+k)%int(q.Ensemble)]; !answered {
				unknown++
			}
		}
		if unknown >= q.Ack {
			return
		}
	}
	if r.w.bug != "bookkeeper#2615" {
		r.lac = lastFragment(r.meta).First - 1
	}
	for _, lac := range r.fenced {
		r.lac = max(r.lac, lac)
	}
	r.next(r.lac + 1)
}

func (r *worldRecovery) next(entry EntryID) {
	r.at, r.absent, r.adding = entry, map[int]bool{}, nil
	r.kick()
}

func (r *worldRecovery) readTail(index int, entry EntryID) {
	r.w.ask(lastFragment(r.meta).Ensemble[index], r.l.id, func(c *worldCopy) func() {
		c.fenced = c.fenced || r.w.bug != "bookkeeper#2614"
		e, there := c.entries[entry]
		return func() {
			if r.done || r.awaiting || r.at != entry || r.adding != nil {
				return
			}
			if there {
				// The LAC is that of the fencing phase: a rival may yet close the ledger below what is stored again here.
				lac := r.lac
				if r.w.bug == "recovery raises the LAC" {
					lac = entry - 1
				}
				r.adding = &worldAdd{entry: worldEntry{e.item, lac, e.length}, acks: map[int]Node{}}
				r.kick()
				return
			}
			r.absent[index] = true
			if r.w.bug == "one denial is enough" || int32(len(r.absent)) > r.l.quorum.Write-r.l.quorum.Ack {
				r.close()
			}
		}
	})
}

func (r *worldRecovery) addAgain(a *worldAdd, index int) {
	node := lastFragment(r.meta).Ensemble[index]
	r.w.ask(node, r.l.id, func(c *worldCopy) func() {
		c.add(a.entry)
		return func() {
			if r.done || r.adding != a {
				return
			}
			if a.acks[index] = node; int32(len(a.acks)) < r.l.quorum.Ack {
				return
			}
			r.w.h.AppendNotice(Notice{At: r.w.tick(), Ledger: r.l.id, Entry: r.at, Writer: r.op.Handle, Client: 60,
				Kind: NoticeRecovered}, a.by())
			r.length = a.entry.length
			r.next(r.at + 1)
		}
	})
}

func (r *worldRecovery) close() {
	r.awaiting = true
	next := r.meta
	next.state, next.last = LedgerClosed, r.at-1
	next.length = r.lengthOf(r.at - 1)
	r.w.store(r.l, r.meta.version, next, func(_ bool, stored worldMetadata) {
		r.awaiting = false
		switch {
		case r.done:
		case stored.state == LedgerClosed:
			r.adopt(stored)
		default:
			r.end(NoLedger, 0)
		}
	})
}

// lengthOf takes the length from any copy of the last entry.
func (r *worldRecovery) lengthOf(entry EntryID) int64 {
	for _, name := range r.w.names {
		if c := r.w.bookies[name].copies[r.l.id]; c != nil {
			if e, there := c.entries[entry]; there {
				return e.length
			}
		}
	}
	return 0
}
