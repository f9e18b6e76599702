package model

import (
	"cmp"
	"math"
	"slices"
)

// The order rules run once for each incarnation N in which they can fail. For N they take into account all answers up
// to N, but only of values that no restart before N can have taken back: a value that was popped before N says nothing
// about the order of what is left. The rest is an ordinary register, whose values are there one after the other.

// checkOrder looks for answers that no order of the writes explains.
func (e *entryCheck) checkOrder() {
	if len(e.seen) == 0 && len(e.writes) == 0 {
		return
	}
	for _, until := range e.incarnations() {
		denial := e.latestDenial(until)
		if !e.checkPresence(until, denial) || !e.checkZones(until, denial) {
			return // one finding an entry: the next would be its shadow
		}
	}
}

// incarnations lists those for which the order rules may find something.
func (e *entryCheck) incarnations() []Incarnation {
	all := e.lives[:0]
	for k := range e.seen {
		if s := &e.seen[k]; !e.values[s.value].solid {
			all = append(all, s.from, s.until)
		}
	}
	all = append(all, e.c.last)
	e.lives = all // keeps what it grew to
	slices.Sort(all)
	return slices.Compact(all)
}

// counts says whether a sighting bears on the order at the incarnation.
func (e *entryCheck) counts(s *sighting, until Incarnation) bool {
	v := &e.values[s.value]
	switch {
	case s.until > until:
		return false
	case v.solid || s.from == until:
		return true
	}
	// One write only, or what was seen may have been another write of the same value, which was popped.
	return len(v.writes) == 1 && v.seenIn >= until
}

// latestDenial is the operation, called latest up to an incarnation, that said that the entry is not there.
func (e *entryCheck) latestDenial(until Incarnation) int32 {
	ops := e.c.history.Ops
	latest := e.ledger.absentBy(ops, e.entry, until)
	for k := range e.denied {
		if d := &e.denied[k]; d.until <= until && (latest == none || d.call > ops[latest].Call) {
			latest = d.op
		}
	}
	return latest
}

// checkPresence holds the entry against its last denial: it must have been acknowledged or seen for the first time
// after that, and by a write that could still take effect.
func (e *entryCheck) checkPresence(until Incarnation, denial int32) bool {
	if denial == none {
		return true
	}
	denied := e.c.history.Ops[denial].Call
	acked, seen := e.firstProofs(until)
	if acked != nil && acked.end < denied {
		e.reportAckedDenied(acked, denial)
		return false
	}
	if seen != nil && seen.ret < denied {
		checker := CheckerVanished
		if e.c.history.Ops[denial].Kind == LastEntry {
			checker = CheckerLastEntry
		}
		e.c.report(checker, "denied after it was seen", seen.op, denial,
			"what was seen cannot vanish: either no restart lies between, or it was acknowledged, or was seen again later")
		return false
	}
	for k := range e.seen {
		// Seen at this incarnation or later, so no restart took it back before: it was not there yet when it was denied.
		if s := &e.seen[k]; s.from >= until && e.values[s.value].endsBy(s.ret) < denied {
			e.reportNegative(denial, s.op)
			return false
		}
	}
	return true
}

// firstProofs finds the acknowledged write that ended first and the sighting that returned first.
func (e *entryCheck) firstProofs(until Incarnation) (acked *write, seen *sighting) {
	for k := range e.writes {
		if w := &e.writes[k]; w.acked && (acked == nil || w.end < acked.end) {
			acked = w
		}
	}
	for k := range e.seen {
		if s := &e.seen[k]; e.counts(s, until) && (seen == nil || s.ret < seen.ret) {
			seen = s
		}
	}
	return acked, seen
}

func (e *entryCheck) reportAckedDenied(acked *write, denial int32) {
	ops := e.c.history.Ops
	switch {
	case ops[acked.op].Return >= ops[denial].Call:
		e.c.report(CheckerNegative, "acknowledged after it was denied in a fenced ledger", denial, acked.op,
			"the add could only take effect before the ledger was fenced, and after that the entry was denied")
	case ops[acked.op].Kind == Fence:
		e.c.report(CheckerBookie, "ledger of an acknowledged fence denied", acked.op, denial,
			"a fence makes the ledger, durably")
	case ops[denial].Kind == LastEntry:
		e.c.report(CheckerLastEntry, "below an acknowledged entry", acked.op, denial,
			"the last entry cannot be below one that was acknowledged")
	default:
		e.c.report(CheckerBookie, "acknowledged entry denied: "+ops[denial].Outcome.String(), acked.op, denial,
			"an acknowledged entry can be read for ever")
	}
}

func (e *entryCheck) reportNegative(denial, seen int32) {
	e.c.report(CheckerNegative, "seen after it was denied, without an add", denial, seen,
		"no add could take effect after the denial was called and before the entry was seen")
}

// checkOverwritten finds reads of a value that an acknowledged add of another value had replaced for certain. It needs
// no unique values, unlike the zones.
func (e *entryCheck) checkOverwritten() bool {
	if len(e.values) < 2 || len(e.seen) == 0 {
		return true
	}
	acked := slices.DeleteFunc(slices.Clone(e.writes), func(w write) bool { return !w.acked })
	slices.SortFunc(acked, func(a, b write) int { return cmp.Compare(a.end, b.end) })
	seen := slices.Clone(e.seen)
	slices.SortStableFunc(seen, func(a, b sighting) int { return cmp.Compare(a.call, b.call) })
	var newest, other *write // the latest called of those that ended, and the latest called of another value
	next := 0
	for k := range seen {
		s := &seen[k]
		for ; next < len(acked) && acked[next].end < s.call; next++ {
			newest, other = insertNewest(newest, other, &acked[next])
		}
		by := newest
		if by != nil && by.digest == s.digest {
			by = other
		}
		if by != nil && e.values[s.value].endsBy(s.ret) < by.call {
			e.c.report(CheckerBookie, "overwritten value read", by.op, s.op,
				"every add of the value it answered had ended before that acknowledged add was called")
			return false
		}
	}
	return true
}

// insertNewest keeps the latest called write, and the latest called among those of other values than that.
func insertNewest(newest, other, w *write) (*write, *write) {
	switch {
	case newest == nil:
		return w, nil
	case w.call > newest.call && w.digest == newest.digest:
		return w, other
	case w.call > newest.call:
		return w, newest
	case w.digest != newest.digest && (other == nil || w.call > other.call):
		return newest, w
	}
	return newest, other
}

// endsBy is the latest stamp at which a write of the value that was called by a stamp can have taken effect.
func (v *value) endsBy(stamp Stamp) Stamp {
	k, _ := slices.BinarySearchFunc(v.writes, stamp, func(w write, at Stamp) int {
		if w.call <= at {
			return -1
		}
		return 1
	})
	if k == 0 {
		return math.MinInt64
	}
	return v.writes[k-1].latestEnd
}
