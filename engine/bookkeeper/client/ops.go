package client

import (
	"iter"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/internal/invariant"
)

// opsRing is the size of a ring at first.
const opsRing = 16

// ops are the appends under way, in entry order, in a ring that grows to the window and is then reused.
type ops struct {
	ring  []*Op // length is 0 or a power of two
	first ledger.EntryID
	count int
}

func (o *ops) at(entry ledger.EntryID) **Op { return &o.ring[int64(entry)&int64(len(o.ring)-1)] }

// push adds the append of the entry behind the last, or of any if there is none.
func (o *ops) push(entry ledger.EntryID, op *Op) {
	if o.count == len(o.ring) {
		grown := ops{ring: make([]*Op, max(opsRing, 2*len(o.ring))), first: o.first, count: o.count}
		for e, one := range o.all() {
			*grown.at(e) = one
		}
		*o = grown
	}
	if o.count == 0 {
		o.first = entry
	}
	*o.at(entry) = op
	o.count++
}

// get is the append of an entry, nil if it is not under way.
func (o *ops) get(entry ledger.EntryID) *Op {
	if entry < o.first || entry >= o.first+ledger.EntryID(o.count) {
		return nil
	}
	return *o.at(entry)
}

// pop takes out the append of the first entry.
func (o *ops) pop(entry ledger.EntryID) *Op {
	invariant.Check(o.count > 0 && entry == o.first, "appends end in entry order")
	op := *o.at(entry)
	*o.at(entry) = nil
	o.first, o.count = entry+1, o.count-1
	return op
}

func (o *ops) all() iter.Seq2[ledger.EntryID, *Op] {
	return func(yield func(ledger.EntryID, *Op) bool) {
		for i := range o.count {
			entry := o.first + ledger.EntryID(i)
			if !yield(entry, *o.at(entry)) {
				return
			}
		}
	}
}
