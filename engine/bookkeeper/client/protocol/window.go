package protocol

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/internal/invariant"
)

// pendingAdd is an entry that is not acknowledged yet.
type pendingAdd struct {
	length int64          // of the ledger up to and including this entry
	lac    ledger.EntryID // as in its header, the same in every copy this writer sends
	acked  IndexSet       // bookies of the ensemble in force that have it
	failed IndexSet       // those that refused it, or were not asked since they are to be replaced
}

// window holds the pending adds in entry order, in a ring that grows to its bound and is then reused.
type window struct {
	ring  []pendingAdd // length is 0 or a power of two
	first ledger.EntryID
	count int
	max   int
}

// firstRing is the size of a ring at first. Most writers have few entries under way.
const firstRing = 8

func newWindow(first ledger.EntryID, bound int) window { return window{first: first, max: bound} }

// next is the id of the entry that push will take.
func (w *window) next() ledger.EntryID { return w.first + ledger.EntryID(w.count) }

// at finds the ith pending add. Entry ids, not places, are taken modulo the ring, so that an entry stays where it is when
// those before it leave.
func (w *window) at(i int) *pendingAdd {
	return &w.ring[int((int64(w.first)+int64(i))&int64(len(w.ring)-1))]
}

// pending finds an entry; nil if it is not in the window (any more).
func (w *window) pending(e ledger.EntryID) *pendingAdd {
	if e < w.first || e >= w.next() {
		return nil
	}
	return w.at(int(e - w.first))
}

func (w *window) push(p pendingAdd) {
	invariant.Check(w.count < w.max, "an append has room in the window")
	if w.count == len(w.ring) {
		w.grow()
	}
	w.count++
	*w.at(w.count - 1) = p
}

func (w *window) grow() {
	old := *w
	w.ring = make([]pendingAdd, max(firstRing, 2*len(old.ring)))
	for i := range old.count {
		*w.at(i) = *old.at(i)
	}
}

// pop drops the first entry.
func (w *window) pop() {
	invariant.Check(w.count > 0, "only a pending entry is popped")
	w.first++
	w.count--
}

func (w window) clone() window {
	w.ring = append([]pendingAdd(nil), w.ring...)
	return w
}
