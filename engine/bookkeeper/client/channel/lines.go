package channel

import (
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// key is what an answer is matched by. Batch reads have their id where others have the entry.
type key struct {
	operation wire.Operation
	ledger    ledger.ID
	entry     ledger.EntryID
}

func keyOf(operation wire.Operation, id ledger.ID, entry ledger.EntryID, requestID int64) key {
	switch operation {
	case wire.BatchRead:
		return key{operation: operation, entry: ledger.EntryID(requestID)}
	case wire.Auth:
		return key{operation: operation}
	default:
		return key{operation, id, entry}
	}
}

// place is where a key's line is looked for. The entries of a ledger are neighbours: they come and go in order, so that
// the places in use lie together, and collisions come from different ledgers only.
func (k key) place() uint64 {
	const golden = 0x9e3779b97f4a7c15 // spreads ledgers, whose ids are neighbours as well
	return uint64(k.entry) + (uint64(k.ledger)*8+uint64(k.operation))*golden>>20
}

// linesMin is the number of places at first.
const linesMin = 16

// lines finds the call on the wire for a key: a table of lists, linked through the calls. It is a map that hashes by an
// addition and allocates nothing: each add is looked up twice, and a Go map cost a tenth of all that an add costs.
type lines struct {
	heads []*call // length is 0 or a power of two
	count int
}

func (l *lines) place(k key) **call { return &l.heads[k.place()&uint64(len(l.heads)-1)] }

// find returns the head of a key's line, nil if there is none.
func (l *lines) find(k key) *call {
	if len(l.heads) == 0 {
		return nil
	}
	head := *l.place(k)
	for head != nil && head.key != k {
		head = head.chain
	}
	return head
}

// put adds the head of a line that was not there.
func (l *lines) put(head *call) {
	if l.count == len(l.heads) {
		l.grow()
	}
	at := l.place(head.key)
	head.chain, *at = *at, head
	l.count++
}

// take removes the head of a line, which is there.
func (l *lines) take(head *call) {
	at := l.place(head.key)
	for *at != head {
		at = &(*at).chain
	}
	*at, head.chain = head.chain, nil
	l.count--
}

func (l *lines) grow() {
	old := l.heads
	l.heads = make([]*call, max(linesMin, 2*len(old)))
	for _, head := range old {
		for head != nil {
			next := head.chain
			at := l.place(head.key)
			head.chain, *at = *at, head
			head = next
		}
	}
}
