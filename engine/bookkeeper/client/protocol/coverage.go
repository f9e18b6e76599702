package protocol

import "lakebed/engine/bookkeeper/ledger"

// covered reports whether no ack quorum can consist of bookies in open alone: in every write set fewer than Qa are
// open. Then each entry that is still to be acknowledged needs a bookie that refuses it.
func covered(q ledger.Quorum, open IndexSet) bool {
	for start := range q.Ensemble {
		n := 0
		set := q.WriteSet(ledger.EntryID(start))
		for i := range set.Len() {
			if open.Has(set.At(i)) {
				n++
			}
		}
		if n >= q.Ack {
			return false
		}
	}
	return true
}

// tailRead is what is known of one entry that a recovery looks for.
type tailRead struct {
	answered IndexSet // bookies that answered or failed to
	absent   IndexSet
	unknown  IndexSet
	corrupt  IndexSet
	found    bool
	length   int64
	size     int64
}

// verdict is what the answers say about an entry.
type verdict uint8

const (
	undecided verdict = iota // more answers may decide
	found
	absent
	unprovable // all have answered and there is no proof either way
	damaged    // the same, and so many copies are damaged that an acknowledged entry may be among them
)

// take notes an answer; it reports whether this is the copy to keep.
func (t *tailRead) take(index int, a ReadAnswer) bool {
	if t.answered.Has(index) {
		return false
	}
	t.answered = t.answered.With(index)
	switch a.Outcome {
	case ReadFound:
		if t.found {
			return false
		}
		t.found, t.length, t.size = true, a.Length, a.Size
		return true
	case ReadAbsent:
		t.absent = t.absent.With(index)
	case ReadUnknown:
		t.unknown = t.unknown.With(index)
	case ReadCorrupt:
		t.corrupt = t.corrupt.With(index)
	}
	return false
}

// judge decides. The answers come from fencing reads, so "absent" stays true (bookkeeper#2614): Qw−Qa+1 of them leave
// no ack quorum. If all have answered, an entry that was acknowledged would have been found on one of its Qa holders,
// unless all of these are damaged; damage in sight is held against that.
func (t *tailRead) judge(q ledger.Quorum) verdict {
	switch {
	case t.found:
		return found
	case t.absent.Len() >= q.Write-q.Ack+1:
		return absent
	case t.answered.Len() < q.Write:
		return undecided
	case t.corrupt.Len() >= q.Ack:
		return damaged
	case (t.absent | t.unknown | t.corrupt).Len() == q.Write:
		return absent
	}
	return unprovable
}
