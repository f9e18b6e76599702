package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// clusterWorld is a small cluster in which everything goes right by construction: the protocol of replicated ledgers
// over messages that are reordered and lost, bookies that are down for a while, clients that die, rival recoveries, and
// metadata whose answers get lost. What its clients see must never be accused.
type clusterWorld struct {
	random   *rand.Rand
	now      Stamp
	h        *ClusterHistory
	bookies  map[Node]*worldBookie
	names    []Node
	messages []func()
	ledgers  []*worldLedger
	writers  []*worldWriter
	rescuers []*worldRecovery
	readers  []*worldReader
	digests  Digest
	handles  Handle
	bug      string // a rule that is left out
}

type worldBookie struct {
	down   bool
	copies map[LedgerID]*worldCopy
}

type worldCopy struct {
	fenced  bool
	lac     EntryID
	entries map[EntryID]worldEntry
}

type worldEntry struct {
	item   Item
	lac    EntryID
	length int64 // of all payloads up to and with this
}

// worldMetadata is what the store holds of a ledger, and what clients copy.
type worldMetadata struct {
	version   MetadataVersion
	state     LedgerState
	last      EntryID
	length    int64
	fragments []LedgerFragment
}

type worldLedger struct {
	id     LedgerID
	quorum QuorumShape
	meta   worldMetadata
	size   int // appends
}

var worldShapes = []QuorumShape{{5, 3, 2}, {3, 3, 2}, {3, 3, 3}, {2, 2, 1}, {2, 1, 1}}

func newClusterWorld(seed uint64, bug string) *clusterWorld {
	w := &clusterWorld{bug: bug, random: rand.New(rand.NewPCG(seed, 7)), h: &ClusterHistory{}, bookies: map[Node]*worldBookie{}}
	for i := range 6 {
		name := Node(fmt.Sprintf("bookie-%d:3181", i))
		w.names = append(w.names, name)
		w.bookies[name] = &worldBookie{copies: map[LedgerID]*worldCopy{}}
	}
	return w
}

func (w *clusterWorld) tick() Stamp { w.now++; return w.now }

// run makes the history.
func (w *clusterWorld) run(steps int) *ClusterHistory {
	for range 1 + w.random.IntN(2) {
		w.create()
	}
	for range steps {
		w.tick()
		w.step()
	}
	w.finish()
	return w.h
}

func (w *clusterWorld) step() {
	switch n := w.random.IntN(100); {
	case n < 60:
		w.deliver()
	case n < 63:
		b := w.bookies[w.names[w.random.IntN(len(w.names))]]
		b.down = !b.down && w.random.IntN(2) == 0
	case n < 82:
		pick(w, w.writers, (*worldWriter).act)
	case n < 90:
		pick(w, w.rescuers, (*worldRecovery).act)
	case n < 98:
		pick(w, w.readers, (*worldReader).act)
	case n == 98:
		l := w.ledgers[w.random.IntN(len(w.ledgers))]
		w.recover(l, false)
	case w.random.IntN(4) == 0:
		w.delete(w.ledgers[w.random.IntN(len(w.ledgers))])
	}
}

func pick[T any](w *clusterWorld, from []T, act func(T)) {
	if len(from) > 0 {
		act(from[w.random.IntN(len(from))])
	}
}

// deliver runs or loses a message; order is any.
func (w *clusterWorld) deliver() {
	if len(w.messages) == 0 {
		return
	}
	i := w.random.IntN(len(w.messages))
	m := w.messages[i]
	w.messages = slices.Delete(w.messages, i, i+1)
	m()
}

// ask sends a request to a bookie and its answer back; either may be lost.
func (w *clusterWorld) ask(node Node, id LedgerID, at func(c *worldCopy) func()) {
	if w.random.IntN(25) == 0 {
		return
	}
	w.messages = append(w.messages, func() {
		b := w.bookies[node]
		if b.down {
			return
		}
		c := b.copies[id]
		if c == nil {
			c = &worldCopy{lac: NoLast, entries: map[EntryID]worldEntry{}}
			b.copies[id] = c
		}
		if answer := at(c); w.random.IntN(25) > 0 {
			w.messages = append(w.messages, answer)
		}
	})
}

// store does a conditional write of metadata; done is told the outcome, sometimes only by reading it again.
func (w *clusterWorld) store(l *worldLedger, expected MetadataVersion, next worldMetadata, done func(applied bool, now worldMetadata)) {
	w.messages = append(w.messages, func() {
		applied := l.meta.version == expected && l.meta.state != LedgerGone
		if applied {
			next.version = expected + 1
			w.write(l, next, expected)
		}
		now := l.meta
		answer := func() { done(applied, now) }
		if w.random.IntN(5) == 0 { // the answer is lost; what is there is judged instead
			answer = func() { done(l.meta.version == expected+1 && sameMetadata(l.meta, next), l.meta) }
		}
		w.messages = append(w.messages, answer)
	})
}

// sameMetadata recognises one's own write whose answer was lost.
func sameMetadata(a, b worldMetadata) bool {
	return a.state == b.state && a.last == b.last && slices.EqualFunc(a.fragments, b.fragments, func(x, y LedgerFragment) bool {
		return x.First == y.First && slices.Equal(x.Ensemble, y.Ensemble)
	})
}

func (w *clusterWorld) write(l *worldLedger, next worldMetadata, expected MetadataVersion) {
	l.meta = next
	q := l.quorum
	if next.state == LedgerGone {
		q = QuorumShape{}
	}
	w.h.AppendMetadata(MetadataWrite{At: w.tick(), Ledger: l.id, Version: next.version, Expected: expected, Last: next.last,
		Length: next.length, Quorum: q, State: next.state}, next.fragments)
}

func (w *clusterWorld) create() {
	l := &worldLedger{id: LedgerID(len(w.ledgers)), quorum: worldShapes[w.random.IntN(len(worldShapes))]}
	w.handles++
	op := ClusterOp{Kind: LedgerCreate, Outcome: OK, Ledger: l.id, Client: ClientID(l.id), Handle: w.handles, Call: w.tick()}
	ensemble := slices.Clone(w.names)
	w.random.Shuffle(len(ensemble), func(i, j int) { ensemble[i], ensemble[j] = ensemble[j], ensemble[i] })
	w.write(l, worldMetadata{version: 0, state: LedgerOpen, last: NoLast,
		fragments: []LedgerFragment{{0, ensemble[:l.quorum.Ensemble]}}}, NoVersion)
	op.Return = w.tick()
	w.h.Append(op)
	w.ledgers = append(w.ledgers, l)
	w.writers = append(w.writers, &worldWriter{w: w, l: l, meta: l.meta, client: op.Client, handle: op.Handle, lac: NoLast})
	w.handles++
	w.readers = append(w.readers, &worldReader{w: w, l: l, handle: w.handles, bound: NoLast})
}

func (w *clusterWorld) delete(l *worldLedger) {
	if l.meta.state == LedgerGone {
		return
	}
	op := ClusterOp{Kind: LedgerDelete, Outcome: OK, Ledger: l.id, Client: 99, Call: w.tick()}
	w.write(l, worldMetadata{version: l.meta.version + 1, state: LedgerGone, last: NoLast}, l.meta.version)
	op.Return = w.tick()
	w.h.Append(op)
}

// worldReader follows a ledger without recovery, or reads one that is closed.
type worldReader struct {
	w      *clusterWorld
	l      *worldLedger
	handle Handle
	bound  EntryID
	closed bool
}

func (r *worldReader) act() {
	if r.w.random.IntN(2) == 0 && !r.closed {
		r.confirm()
		return
	}
	if r.bound >= 0 {
		first := EntryID(r.w.random.IntN(int(r.bound + 1)))
		r.read(first, min(r.bound, first+EntryID(r.w.random.IntN(4))), r.w.random.IntN(2) == 0, false)
	}
}

// confirm asks some bookies for the LAC. What they say was confirmed, but may lag.
func (r *worldReader) confirm() {
	op := ClusterOp{Kind: LedgerConfirmed, Outcome: OK, Ledger: r.l.id, Client: 50, Handle: r.handle, Call: r.w.tick()}
	if m := r.l.meta; m.state == LedgerClosed {
		r.bound, r.closed, op.Closed, op.Length = m.last, true, true, m.length
	}
	for _, name := range r.w.names {
		b := r.w.bookies[name]
		if c := b.copies[r.l.id]; c != nil && !b.down && !r.closed && r.w.random.IntN(2) == 0 {
			r.bound = max(r.bound, c.lac)
		}
	}
	op.Entry, op.Return = r.bound, r.w.tick()
	r.w.h.Append(op)
}

func (r *worldReader) read(first, last EntryID, batch, final bool) {
	op := ClusterOp{Kind: LedgerRead, Outcome: Found, Ledger: r.l.id, Entry: first, Last: last, Bound: r.bound, Client: 50,
		Handle: r.handle, Final: final, Call: r.w.tick()}
	var items []Item
	for entry := first; entry <= last; entry++ {
		item, ok := r.find(entry)
		if !ok {
			break
		}
		items = append(items, item)
	}
	if batch {
		op.Kind, op.Last, op.MaxCount = LedgerBatchRead, 0, int32(last-first+1)
	}
	if len(items) == 0 || !batch && len(items) < int(last-first+1) {
		items, op.Outcome = nil, Error
	}
	op.Return = r.w.tick()
	r.w.h.AppendRead(op, items)
}

func (r *worldReader) find(entry EntryID) (Item, bool) {
	for _, name := range r.w.names {
		b := r.w.bookies[name]
		if b.down || b.copies[r.l.id] == nil {
			continue
		}
		if e, there := b.copies[r.l.id].entries[entry]; there {
			return e.item, true
		}
	}
	return Item{}, false
}

// finish heals everything, recovers every ledger and reads it whole.
func (w *clusterWorld) finish() {
	for _, b := range w.bookies {
		b.down = false
	}
	for len(w.messages) > 0 {
		w.tick()
		w.deliver()
	}
	for _, wr := range w.writers {
		wr.die(Unknown, Never)
	}
	for _, r := range w.rescuers {
		r.end(Unknown, Never)
	}
	for _, l := range w.ledgers {
		r := w.recover(l, true)
		for n := 0; !r.done; n++ {
			if n > 1e5 {
				panic(fmt.Sprintf("final recovery of ledger %d does not end: %+v", l.id, r))
			}
			w.tick()
			if len(w.messages) == 0 {
				r.kick()
			}
			w.deliver()
		}
		w.handles++
		reader := &worldReader{w: w, l: l, handle: w.handles, bound: l.meta.last, closed: true}
		if l.meta.state == LedgerClosed && l.meta.last >= 0 {
			reader.read(0, l.meta.last, true, true)
			reader.read(0, l.meta.last, false, true)
		}
		w.probe(l)
	}
}

func (w *clusterWorld) probe(l *worldLedger) {
	for entry := EntryID(0); entry < EntryID(l.size); entry++ {
		for _, name := range w.names {
			held := Holding{Ledger: l.id, Entry: entry, Node: name, Outcome: NoEntry}
			if c := w.bookies[name].copies[l.id]; c != nil {
				if e, there := c.entries[entry]; there {
					held.Outcome, held.Digest = Found, e.item.Digest
				}
			}
			w.h.AppendHolding(held)
		}
	}
}

// worldAdd is an entry on its way to an ack quorum.
type worldAdd struct {
	op    ClusterOp
	entry worldEntry
	acks  map[int]Node // by index in the ensemble
}

func (a *worldAdd) by() []Node {
	var nodes []Node
	for _, i := range slices.Sorted(maps.Keys(a.acks)) {
		nodes = append(nodes, a.acks[i])
	}
	return nodes
}

func indexes(q QuorumShape, entry EntryID) []int {
	var out []int
	for k := range int(q.Write) {
		out = append(out, (int(entry)+k)%int(q.Ensemble))
	}
	return out
}

func lastFragment(m worldMetadata) LedgerFragment { return m.fragments[len(m.fragments)-1] }
