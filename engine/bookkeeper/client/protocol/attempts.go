package protocol

import (
	"slices"

	"lakebed/engine/bookkeeper/ledger"
)

// attempts keeps ensemble changes from going round in circles. Where more bookies refuse than there are spare ones, each
// change only puts one that refuses in the place of another. So a bookie that failed is excluded until there is a sign
// that changes help: an entry was acknowledged while every bookie that came in by a change had stored something. The
// acknowledgement alone is no sign, since the bookies that never failed may have sufficed for it.
//
// Without that sign the spare bookies run out. Failures may have been of the passing kind, so there are a few rounds more,
// in which all are tried anew.
type attempts struct {
	excluded []ledger.BookieID // that failed, in this round
	unproven IndexSet          // their bookie came in by a change and has stored nothing yet

	// Since an entry was acknowledged: rounds begun for entries in danger, and whether one was for weak indexes.
	round   int
	lenient bool

	retry   bool // the open question begins a round for entries in danger
	useless int  // rounds for weak indexes since a bookie that came in stored something
	failed  int  // adds to weak indexes since replacements were last asked for
}

// patienceDoublings bounds for how many failures at most a weak index is left alone: RetryReplacementAfter, doubled so
// often. A bookie that joins the cluster is not noticed earlier.
const patienceDoublings = 6

// exclude notes that a bookie failed. It is bounded by the bookies that there are.
func (a *attempts) exclude(b ledger.BookieID) {
	if !slices.Contains(a.excluded, b) {
		a.excluded = append(a.excluded, b)
	}
}

// asked notes that replacements are asked for, and returns for the how-manieth time entries in danger need them: the
// owner waits before all but the first.
func (a *attempts) asked() int {
	a.failed = 0
	if a.retry {
		return a.round
	}
	return 0
}

// answered notes that the open question is answered, and reports whether it began a round for entries in danger.
func (a *attempts) answered() bool {
	retry := a.retry
	a.retry = false
	return retry
}

// stored notes that the bookie at index has stored an entry.
func (a *attempts) stored(index int) {
	if a.unproven.Has(index) {
		a.unproven, a.useless = a.unproven.Without(index), 0
	}
}

// acknowledged notes that an entry was, while no change was under way.
func (a *attempts) acknowledged() {
	a.round, a.lenient = 0, false
	if a.unproven == 0 {
		a.excluded = a.excluded[:0]
	}
}

// anotherRound lets all bookies be tried anew for entries that are in danger; false: often enough.
func (a *attempts) anotherRound(o *WriterOptions) bool {
	if a.round >= o.RoundsMax {
		return false
	}
	a.round++
	a.retry = true
	a.excluded = a.excluded[:0]
	return true
}

// dueAfterFailure counts a failure at a weak index, and reports whether to ask again for its replacement, in a round of
// its own. That is the later the more often it did not help, since each round may store changes for nothing, and at most
// once until an entry is acknowledged.
func (a *attempts) dueAfterFailure(o *WriterOptions) bool {
	a.failed++
	if a.lenient || a.failed < o.RetryReplacementAfter<<min(a.useless, patienceDoublings) {
		return false
	}
	a.lenient = true
	a.useless++
	a.excluded = a.excluded[:0]
	return true
}

func (a *attempts) appendState(b []byte) []byte {
	b = append(b, flag(a.retry), flag(a.lenient))
	b = appendInts(b, int64(a.unproven), int64(a.round), int64(a.useless), int64(a.failed), int64(len(a.excluded)))
	return appendBookies(b, a.excluded)
}

// wanted is the indexes where a copy would take an entry out of danger.
func (w *Writer) wanted() IndexSet {
	var set IndexSet
	for i := range w.window.count {
		if p := w.window.at(i); w.endangered(p) {
			set |= p.failed
		}
	}
	return set
}

// sendAgain sends what failed at indexes to the bookies there once more: nobody else can take it. Copies are the same
// each time, so it does no harm if the first one is there after all.
func (w *Writer) sendAgain(indexes IndexSet) {
	for i := range w.window.count {
		p, entry := w.window.at(i), w.window.first+ledger.EntryID(i)
		again := p.failed & indexes
		p.failed &^= indexes
		for index := range w.quorum.Ensemble {
			if again.Has(index) {
				w.send(entry, p, index, false)
			}
		}
	}
}
