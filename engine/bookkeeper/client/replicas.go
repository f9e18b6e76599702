package client

import (
	"lakebed/engine/bookkeeper/ledger"
)

// replicas are the bookies that hold an entry, in the order in which they are asked, and what those said that failed.
// It decides nothing about time and sends nothing.
type replicas struct {
	fragment ledger.Fragment
	set      ledger.WriteSet
	asked    int
	problem  error
}

func replicasOf(m *ledger.Metadata, entry ledger.EntryID) replicas {
	return replicas{fragment: m.FragmentOf(entry), set: m.Quorum.WriteSet(entry)}
}

// next is the replica to ask now; false when all were asked.
func (r *replicas) next() (ledger.BookieID, bool) {
	if r.asked == r.set.Len() {
		return "", false
	}
	r.asked++
	return r.current(), true
}

// current is the replica that was asked last.
func (r *replicas) current() ledger.BookieID { return r.fragment.Ensemble[r.set.At(r.asked-1)] }

// failed takes note of a replica's failure. What is reported in the end is the failure that leaves most open, the first
// of its kind: "no such entry" only if every replica said so, "may have lost it" only if every replica answered.
func (r *replicas) failed(err error) {
	if r.problem == nil || openness(err) > openness(r.problem) {
		r.problem = err
	}
}

// openness ranks failures by how much they leave open about whether the entry exists.
func openness(err error) int {
	switch readClass(err) {
	case ErrNoSuchEntry:
		return 0
	case ErrMaybeLost:
		return 1
	case ErrDigest:
		return 2
	default:
		return 3
	}
}
