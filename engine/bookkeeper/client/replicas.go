package client

import (
	"lakebed/engine/bookkeeper/ledger"
)

// replicas are the bookies that hold an entry, in the order in which they are asked, and what those said that failed.
// It decides nothing about time and sends nothing.
type replicas struct {
	fragment ledger.Fragment
	set      ledger.WriteSet
	order    []int // positions in the set; nil: as they are
	asked    int
	problem  error
}

// replicasOf orders the replicas of an entry: as in its write set, but those to avoid come last. They are asked all the
// same when the others have failed: only they can say that they do not have it.
func replicasOf(m *ledger.Metadata, entry ledger.EntryID, avoid func(ledger.BookieID) bool) replicas {
	r := replicas{fragment: m.FragmentOf(entry), set: m.Quorum.WriteSet(entry)}
	var last []int
	for i := range r.set.Len() {
		if avoid(r.fragment.Ensemble[r.set.At(i)]) {
			last = append(last, i)
		}
	}
	if len(last) == 0 || len(last) == r.set.Len() {
		return r
	}
	r.order = make([]int, 0, r.set.Len())
	for i, skipped := 0, 0; i < r.set.Len(); i++ {
		if skipped < len(last) && last[skipped] == i {
			skipped++
			continue
		}
		r.order = append(r.order, i)
	}
	r.order = append(r.order, last...)
	return r
}

// next is the replica to ask now; false when all were asked.
func (r *replicas) next() (ledger.BookieID, bool) {
	if r.asked == r.set.Len() {
		return "", false
	}
	position := r.asked
	if r.order != nil {
		position = r.order[r.asked]
	}
	r.asked++
	return r.fragment.Ensemble[r.set.At(position)], true
}

// left reports whether there is a replica that was not asked.
func (r *replicas) left() bool { return r.asked < r.set.Len() }

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
