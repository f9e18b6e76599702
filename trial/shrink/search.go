package shrink

import (
	"slices"

	"lakebed/faults"
	"lakebed/workloads/agenda"
)

// Bounds of the search.
const (
	searchStream    = 0x73687269 // keeps its numbers apart from those that the seed draws elsewhere
	missesOfPieces  = 60         // tries in a row that fail to remove a piece of one size
	missesOfSingles = 400        // and to remove a single element
	nthMax          = 4          // a trigger that is aimed anew strikes at one of the first visits
)

// search looks for a smaller trial that fails with other luck. Latencies, the order of tasks and the moment of a fault
// depend on everything that happens before; so does a race, and greedy removal ends where each element is needed for no
// other reason than that it keeps the race as it is. Here each try removes elements, draws the world's chance anew, and
// aims a fault at another moment. It ends when no piece of any size could be removed for long,
// and reports whether it found anything.
func (r *reducer) search() (found bool) {
	for size := max(r.elements()/2, 1); r.spare(); {
		misses := missesOfPieces
		if size == 1 {
			misses = missesOfSingles
		}
		for miss := 0; miss < misses && r.elements() > 0 && r.spare(); miss++ {
			if r.accept(r.other(size)) {
				miss, found = -1, true
				r.tidy()
				size = max(min(size, r.elements()/2), 1)
			}
		}
		if size == 1 {
			return found
		}
		size = (size + 1) / 2
		if size == 2 {
			size = 1
		}
	}
	return found
}

// elements is how many could be removed.
func (r *reducer) elements() int { return len(r.best.Plan.Elements) + len(r.best.Reduction.Operations) }

// other is the best candidate without so many elements, and with other luck.
func (r *reducer) other(size int) Candidate {
	c := r.best.with(func(c *Candidate) { c.Reduction.Luck = 1 + r.dice.Uint64N(1<<32) })
	drop := map[int]bool{}
	for _, i := range r.dice.Perm(r.elements())[:min(size, r.elements())] {
		drop[i] = true
	}
	at := -1
	dropped := func() bool { at++; return drop[at] }
	c.Plan.Elements = slices.DeleteFunc(c.Plan.Elements, func(faults.Element) bool { return dropped() })
	c.Reduction.Operations = slices.DeleteFunc(c.Reduction.Operations, func(agenda.Op) bool { return dropped() })
	if n := len(c.Plan.Elements); n > 0 && r.dice.IntN(2) == 0 {
		r.aim(&c.Plan.Elements[r.dice.IntN(n)])
	}
	return c
}

// aim has a fault strike when a node comes to one of its points: mostly the node that it strikes.
func (r *reducer) aim(e *faults.Element) {
	var places []faults.Visit
	anywhere := r.dice.IntN(4) == 0
	for _, v := range r.outcome.Visited {
		if anywhere || v.Node == e.Target.Node {
			places = append(places, v)
		}
	}
	if e.Kind == faults.Perhaps || len(places) == 0 {
		return
	}
	v := places[r.dice.IntN(len(places))]
	v.Nth = 1 + r.dice.Int64N(min(v.Nth, nthMax))
	e.Trigger = faults.Trigger{Visit: &v}
}
