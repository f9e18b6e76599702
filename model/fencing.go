package model

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// barrier is the latest stamp at which an ordinary add can have taken effect, and the operation that says so.
type barrier struct {
	at      Stamp
	by      int32 // none: nothing stands in the way
	checker string
}

// barrierFor finds what bars an ordinary add: the first acknowledged fence or delete, which hold for ever, or an add
// refused as fenced, which says that a fence held up to then; one that is not acknowledged may be lost in a restart.
// The add took effect, if at all, up to the incarnation until.
func (c *checker) barrierFor(f *ledgerFacts, until Incarnation) barrier {
	b := barrier{at: Never, by: none, checker: CheckerFence}
	ops := c.history.Ops
	if f.fenceAcked != none {
		b.at, b.by = ops[f.fenceAcked].Return, f.fenceAcked
	}
	if len(f.deletes) > 0 && ops[f.deletes[0]].Return < b.at {
		b = barrier{ops[f.deletes[0]].Return, f.deletes[0], CheckerDeleted}
	}
	if r, found := f.refusalFor(until); found && r.at < b.at {
		b = barrier{r.at, r.op, CheckerFence}
	}
	return b
}

// refusal is an ordinary add refused as fenced, and the latest stamp at which the fence that it saw can have taken
// effect. That fence was there, without a break, at least from then to the incarnation in which the add was called.
type refusal struct {
	op   int32
	from Incarnation
	at   Stamp
}

// refusalFor is the refusal that bars an add the most: among those of the last incarnation in which it can take effect
// and later ones, the one with the earliest fence.
func (f *ledgerFacts) refusalFor(until Incarnation) (refusal, bool) {
	k, _ := slices.BinarySearchFunc(f.refusals, until, func(r refusal, n Incarnation) int {
		return cmp.Compare(r.from, n)
	})
	if k == len(f.refusals) {
		return refusal{}, false
	}
	return f.refusals[k], true
}

// firstRefusals makes of all adds answered "fenced" one refusal an incarnation: of this and all later incarnations the
// one with the earliest fence.
func (c *checker) firstRefusals(f *ledgerFacts, fenced []int32) []refusal {
	all := make([]refusal, 0, len(fenced))
	for _, i := range fenced {
		all = append(all, c.refusalOf(f, i))
	}
	slices.SortStableFunc(all, func(a, b refusal) int { return cmp.Compare(b.from, a.from) })
	kept := all[:0]
	for _, r := range all { // from the last incarnation to the first
		n := len(kept)
		switch {
		case n == 0:
			kept = append(kept, r)
		case kept[n-1].from == r.from && r.at < kept[n-1].at:
			kept[n-1] = r
		case kept[n-1].from != r.from:
			earliest := kept[n-1]
			if r.at <= earliest.at {
				earliest = r
			}
			earliest.from = r.from
			kept = append(kept, earliest)
		}
	}
	slices.Reverse(kept)
	return kept
}

// refusalOf works out when the fence that a refused add saw can have taken effect.
func (c *checker) refusalOf(f *ledgerFacts, i int32) refusal {
	op := &c.history.Ops[i]
	r := refusal{i, op.CallIncarnation, op.Return}
	if f.deleteCalled <= op.Return || c.excuses.limbo(op.Return) {
		return r // it may have seen a delete, or the fence that a bookie in doubt sets itself
	}
	called := sort.Search(len(f.fences), func(k int) bool { return c.history.Ops[f.fences[k]].Call > op.Return })
	if called == 0 {
		return r // no fence explains it, which checkFence reports
	}
	// It cannot have been refused before the first fence was called.
	r.from = max(r.from, c.history.Ops[f.fences[0]].CallIncarnation)
	r.at = min(r.at, f.fenceEnds[called-1])
	if len(f.fences) == 1 {
		r.at = min(r.at, f.firstRefused) // all refusals saw the same fence, and it took effect once
	}
	if f.fenceDoubted > op.Return {
		r.from = c.last // all fences it can have seen are acknowledged: no restart takes them back
	}
	return r
}

// settleFences orders the fences by call and notes what refusalOf asks about them.
func (c *checker) settleFences(f *ledgerFacts) {
	ops := c.history.Ops
	slices.SortStableFunc(f.fences, func(a, b int32) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
	f.fenceDoubted, f.firstRefused = Never, Never
	latest := Stamp(math.MinInt64)
	for _, i := range f.fences {
		latest = max(latest, ops[i].effectEnd())
		f.fenceEnds = append(f.fenceEnds, latest)
		if ops[i].Outcome != OK {
			f.fenceDoubted = min(f.fenceDoubted, ops[i].Call)
		}
	}
	for _, i := range f.unexcused {
		f.firstRefused = min(f.firstRefused, ops[i].Return)
	}
}

// checkFence treats the fence as an entry of its own: fences write it, refused adds see it, and whoever denies the
// ledger denies it.
func (e *entryCheck) checkFence(c *checker, f *ledgerFacts) {
	e.reset(c, f, ledgerWide)
	for _, i := range f.fences {
		op := &c.history.Ops[i]
		e.writes = append(e.writes, write{op: i, call: op.Call, end: op.effectEnd(), acked: op.Outcome == OK})
	}
	for _, i := range f.unexcused {
		e.seen = append(e.seen, sightingOf(&c.history.Ops[i], i, 0))
	}
	if len(e.writes) == 0 && len(e.seen) == 0 {
		return
	}
	e.sortValues()
	e.matchSightings(func(s sighting) {
		c.report(CheckerFence, "add refused as fenced though nobody fenced", none, s.op,
			"no fence was called before it returned, and the bookie never stopped uncleanly")
	})
	e.checkOrder()
}
