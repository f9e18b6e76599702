package protocol

import (
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/internal/invariant"
)

// change is the state of replacing bookies. An index whose bookie failed is in at most one of the first three sets.
type change struct {
	running bool // from the first failure until nothing is left to replace; the LAC stands still
	asking  bool // replacements were asked for

	failing IndexSet // to be replaced by the change that is running
	weak    IndexSet // failed, but there is no replacement
	delayed IndexSet // failed, but no entry needs a replacement yet (DelayEnsembleChange)

	asked    IndexSet // failing when replacements were asked for
	swaps    []swap   // chosen in the step that is being stored
	count    int      // changes that were stored or begun, ever
	attempts attempts
}

// swap replaces one bookie by another. It is made only where the old one still is.
type swap struct {
	index    int
	old, new ledger.BookieID
}

func (c *change) stop() { c.running, c.asking = false, false }

func (c change) clone() change {
	c.attempts.excluded, c.swaps = slices.Clone(c.attempts.excluded), slices.Clone(c.swaps)
	return c
}

// bookieFailed begins an ensemble change, or joins one that is running, or notes the failure for later.
func (w *Writer) bookieFailed(entry ledger.EntryID, index int, outcome AddOutcome) {
	p := w.window.pending(entry)
	if p != nil && !p.acked.Has(index) {
		p.failed = p.failed.With(index)
	}
	c := &w.change
	switch {
	case c.failing.Has(index):
		return
	case c.running:
		if !c.weak.Has(index) {
			c.delayed = c.delayed.Without(index)
			c.failing = c.failing.With(index) // handled before the LAC moves again
		}
		return
	case w.mayWait(p, index, outcome):
		return
	}
	if w.options.OnBookieFailure == NewLedger {
		w.fail(BookieFailed)
		return
	}
	c.running = true
	c.failing = (c.weak | c.delayed).With(index)
	if p != nil {
		c.failing |= p.failed // only a new bookie can still take it
	}
	c.weak, c.delayed = 0, 0
	w.askReplacements()
}

// mayWait decides, for a change that is not running, whether to begin one. An entry in danger cannot wait. A bookie that
// could not be replaced is not asked for with every entry that fails on it: each question holds the LAC back for a while.
func (w *Writer) mayWait(p *pendingAdd, index int, outcome AddOutcome) bool {
	c := &w.change
	switch {
	case w.endangered(p):
		return false
	case c.weak.Has(index):
		return !c.attempts.dueAfterFailure(&w.options)
	case w.options.DelayEnsembleChange && outcome != AddReadOnly:
		c.delayed = c.delayed.With(index)
		return true
	}
	return false
}

// askReplacements asks for all indexes that fail now, and excludes the bookies that stand there.
func (w *Writer) askReplacements() {
	c := &w.change
	ensemble := w.metadata.Last().Ensemble
	for i, b := range ensemble {
		if c.failing.Has(i) {
			c.attempts.exclude(b)
		}
	}
	c.asking, c.asked = true, c.failing
	exclude := slices.Clone(c.attempts.excluded)
	for _, b := range ensemble {
		if !slices.Contains(exclude, b) {
			exclude = append(exclude, b)
		}
	}
	w.out.add(Effect{Kind: AskReplacements, Set: c.asked, Exclude: exclude, Attempt: c.attempts.asked()})
}

// ReplacementsChosen answers AskReplacements: bookies for some of the indexes, or none. Those that were excluded are
// taken as not given.
func (w *Writer) ReplacementsChosen(chosen []Replacement) {
	c := &w.change
	if !c.asking || w.status != running {
		return
	}
	c.asking = false
	w.chooseSwaps(chosen)
	left := c.asked // those stay as they are, and their acknowledgements count
	for _, s := range c.swaps {
		left = left.Without(s.index)
	}
	c.failing, c.weak = c.failing&^left, c.weak|left
	if len(c.swaps) > 0 && c.count >= w.options.EnsembleChangesMax {
		w.fail(TooManyChanges)
		return
	}
	if c.attempts.answered() {
		w.sendAgain(left)
	}
	if len(c.swaps) == 0 {
		w.settle()
		return
	}
	c.count++
	w.storeSwaps()
}

// chooseSwaps keeps what is usable. A bookie must not stand at two indexes: it would count twice towards a quorum.
func (w *Writer) chooseSwaps(chosen []Replacement) {
	c := &w.change
	c.swaps = c.swaps[:0]
	ensemble := slices.Clone(w.metadata.Last().Ensemble)
	for _, r := range chosen {
		asked := r.Index >= 0 && r.Index < len(ensemble) && c.asked.Has(r.Index)
		if !asked || slices.Contains(c.attempts.excluded, r.Bookie) || slices.Contains(ensemble, r.Bookie) {
			continue
		}
		c.swaps = append(c.swaps, swap{r.Index, ensemble[r.Index], r.Bookie})
		ensemble[r.Index] = r.Bookie
	}
}

// storeSwaps makes the new fragment. A recovery keeps it to itself: readers see it with the closing write, and only
// then.
func (w *Writer) storeSwaps() {
	proposed := w.swapped(w.metadata)
	if w.local {
		w.install(proposed, w.version)
		w.settle()
		return
	}
	if w.options.AckBeforeMetadata {
		w.install(proposed, w.version) // bookkeeper#1591, on purpose
	}
	w.write.begin(&w.out, proposed, w.version)
}

// swapped is base with the swaps made in a fragment that starts behind the LAC. A fragment that starts there already
// holds no acknowledged entry and is replaced. Without any swap to make it is base again.
func (w *Writer) swapped(base *ledger.Metadata) *ledger.Metadata {
	m := base.Clone()
	ensemble := m.Last().Ensemble
	any := false
	for _, s := range w.change.swaps {
		if ensemble[s.index] == s.old && !slices.Contains(ensemble, s.new) {
			ensemble[s.index] = s.new
			any = true
		}
	}
	start := w.lac + 1
	if !any || m.Last().First == start {
		return &m
	}
	invariant.Check(start > m.Last().First, "a new fragment starts behind the last one")
	m.Fragments[len(m.Fragments)-1] = base.Clone().Fragments[len(m.Fragments)-1]
	m.Fragments = append(m.Fragments, ledger.Fragment{First: start, Ensemble: ensemble})
	return &m
}

// install puts metadata in force: what was stored on bookies that they do not name is forgotten, and what is pending is
// sent to those that are new. Everything is forgotten before anything is acknowledged, for which the caller sees
// (bookkeeper#3005).
func (w *Writer) install(m *ledger.Metadata, v metadata.Version) {
	invariant.Check(m.Last().First <= w.window.first, "all pending entries lie in the fragment in force")
	changed := difference(w.metadata.Last().Ensemble, m.Last().Ensemble)
	w.metadata, w.version = m, v
	if changed == 0 {
		return
	}
	c := &w.change
	c.failing, c.weak, c.delayed = c.failing&^changed, c.weak&^changed, c.delayed&^changed
	c.attempts.unproven |= changed
	w.watermarks.forget(changed, m.Last().First)
	for i := range w.window.count {
		p := w.window.at(i)
		p.acked, p.failed = p.acked&^changed, p.failed&^changed
	}
	w.out.add(Effect{Kind: EnsembleChanged, Set: changed, Metadata: m, Version: v})
	for i := range w.window.count {
		entry := w.window.first + ledger.EntryID(i)
		set := w.quorum.WriteSet(entry)
		for j := range set.Len() {
			if index := set.At(j); changed.Has(index) {
				w.send(entry, w.window.at(i), index, true)
			}
		}
	}
}

// difference is the indexes where two ensembles differ.
func difference(a, b []ledger.BookieID) IndexSet {
	var set IndexSet
	for i := range a {
		if a[i] != b[i] {
			set = set.With(i)
		}
	}
	return set
}

// settle goes on with what failed meanwhile, or ends the change. The flag is taken down whether or not anything was
// sent again (bookkeeper#1857).
func (w *Writer) settle() {
	c := &w.change
	if c.failing != 0 {
		w.askReplacements()
		return
	}
	c.running = false
	w.acknowledge() // before another round, which may wait for long
	wanted := w.wanted()
	switch {
	case wanted == 0:
	case c.attempts.anotherRound(&w.options):
		c.running = true
		c.failing, c.weak = wanted, c.weak&^wanted
		w.askReplacements()
	default:
		w.fail(NotEnoughBookies)
	}
}
