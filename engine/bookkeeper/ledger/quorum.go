package ledger

import (
	"fmt"
	"math"

	"lakebed/internal/invariant"
)

// Quorum says how many bookies a ledger uses: an ensemble of E, of which each entry goes to Qw, and is acknowledged
// when Qa of these have it.
type Quorum struct {
	Ensemble int // E
	Write    int // Qw
	Ack      int // Qa
}

// Validate reports what is wrong: it must be E ≥ Qw ≥ Qa ≥ 1.
func (q Quorum) Validate() error {
	if q.Ack < 1 || q.Write < q.Ack || q.Ensemble < q.Write {
		return fmt.Errorf("ensemble %d, write quorum %d, ack quorum %d: must not rise, and not be below 1", q.Ensemble, q.Write, q.Ack)
	}
	if q.Ensemble > math.MaxInt32 {
		return fmt.Errorf("ensemble of %d bookies: more than metadata can say", q.Ensemble)
	}
	return nil
}

// WriteSet returns the ensemble indexes that hold entry e. The quorum must be valid, and e an entry's id.
func (q Quorum) WriteSet(e EntryID) WriteSet {
	invariant.Check(e >= 0 && q.Ensemble > 0, "a write set is that of an entry in an ensemble")
	return WriteSet{first: int(int64(e) % int64(q.Ensemble)), size: q.Write, ensemble: q.Ensemble}
}

// Striped reports whether bookies hold only some of the entries.
func (q Quorum) Striped() bool { return q.Ensemble != q.Write }

// WriteSet is the Qw ensemble indexes of one entry, in the order in which they are tried. It is a value; comparing two
// with == compares the indexes and their order.
type WriteSet struct{ first, size, ensemble int }

// Len is the write quorum.
func (s WriteSet) Len() int { return s.size }

// At is the ensemble index at position i.
func (s WriteSet) At(i int) int {
	invariant.Check(i >= 0 && i < s.size, "a position within the write set")
	index := s.first + i
	if index >= s.ensemble {
		index -= s.ensemble
	}
	return index
}

// Position is where in the write set an ensemble index stands; false if it does not.
func (s WriteSet) Position(index int) (int, bool) {
	if index < 0 || index >= s.ensemble {
		return 0, false
	}
	i := index - s.first
	if i < 0 {
		i += s.ensemble
	}
	return i, i < s.size
}

// Contains reports whether the entry belongs on the bookie at an ensemble index.
func (s WriteSet) Contains(index int) bool {
	_, ok := s.Position(index)
	return ok
}
