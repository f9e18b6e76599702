package shrink

import (
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/faults"
	"lakebed/trial"
	"lakebed/workloads/agenda"
)

// roundsMax bounds how often all stages are gone through. Each that changes nothing is the last; few trials need four, and some that
// depend on luck need more than ten. The budget ends those before.
const roundsMax = 100

// reducer is a failing trial on its way to a smaller one.
type reducer struct {
	try    Try
	more   func() bool // whether the budget lasts
	spare  func() bool // whether it lasts for more than the last pass
	watch  func(Stage)
	shapes []shape
	draws  []trial.Draw
	dice   *rand.Rand    // of the search
	work   time.Duration // of the scenario

	best    Candidate
	outcome Outcome
	seen    map[string]bool // candidates that did not fail
	tries   int
	stages  []Stage
	// removals is how many single elements the last pass has seen to be needed. It is zero if that pass did not end.
	removals int
	minimal  bool
}

// shape is a cluster's size, as a reduction has it.
type shape struct {
	quorum  string
	bookies int
}

// Stage says what one kind of reduction did, over all rounds.
type Stage struct {
	Name       string  `json:"name"`
	Tries      int     `json:"tries"`
	Accepted   int     `json:"accepted"`
	Faults     int     `json:"faults"` // that were left after it
	Operations int     `json:"operations"`
	Seconds    float64 `json:"seconds"`
}

// accept installs a candidate if it fails.
func (r *reducer) accept(c Candidate) bool {
	key := c.key()
	if !r.more() || r.seen[key] {
		return false
	}
	r.tries++
	o := r.try(c)
	if !o.Fails {
		r.seen[key] = true
		return false
	}
	r.best, r.outcome = c, o
	if n := len(r.stages); n > 0 {
		r.stages[n-1].Accepted++
	}
	return true
}

// stage runs one kind of reduction and keeps account of it.
func (r *reducer) stage(name string, reduce func()) {
	begun, tries := time.Now(), r.tries
	r.stages = append(r.stages, Stage{Name: name})
	reduce()
	s := &r.stages[len(r.stages)-1]
	s.Tries, s.Seconds = r.tries-tries, time.Since(begun).Seconds()
	s.Faults, s.Operations = len(r.best.Plan.Elements), len(r.best.Reduction.Operations)
	if r.watch != nil {
		r.watch(*s)
	}
}

// run reduces until nothing changes, and then shows that each element is needed.
func (r *reducer) run() {
	r.stage("what happened", r.tidy)
	r.stage("after the failure", r.cut)
	r.stage("plain world", r.plain)
	r.stage("fault kinds", r.kinds)
	r.stage("nodes", r.nodes)
	r.stage("clients", r.clients)
	r.stage("triggers", r.anchor)
	for round := 0; round < roundsMax && r.more(); round++ {
		r.stage("faults", r.faults)
		r.stage("operations", r.operations)
		r.stage("after the failure", r.cut)
		r.stage("nodes", r.nodes)
		r.stage("parameters", r.parameters)
		found := false
		r.stage("other luck", func() { found = r.search() })
		if found {
			continue
		}
		r.stage("plain world", r.plain)
		removed := false
		r.stage("one by one", func() { removed = r.lastPass() })
		if !removed {
			return
		}
	}
}

// tidy leaves out what did not come to pass.
func (r *reducer) tidy() { r.accept(r.best.explicit(&r.outcome)) }

// cut heals the world as early as possible: by halves, since a failure that shows in a healed world often needs no more
// than a moment of a broken one.
func (r *reducer) cut() {
	const exact = 5 * time.Millisecond
	low, high := time.Duration(0), r.work
	if at := time.Duration(r.best.Reduction.Work); at > 0 {
		high = at
	}
	for high-low > exact && r.more() {
		middle := (low + (high-low)/2).Truncate(time.Millisecond)
		if middle <= low || middle >= high {
			break
		}
		if r.accept(r.best.cut(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	r.tidy()
}

// plain takes the seed's choices away, one after the other.
func (r *reducer) plain() {
	for _, d := range r.draws {
		if !slices.Contains(r.best.Reduction.Plain, d) {
			r.accept(r.best.with(func(c *Candidate) { c.Reduction.Plain = append(c.Reduction.Plain, d) }))
		}
	}
}

func (r *reducer) kinds() {
	if r.accept(r.best.withElements(nil)) {
		return
	}
	for _, kind := range r.best.kinds() {
		left := slices.DeleteFunc(r.best.kinds(), func(k faults.Kind) bool { return k == kind })
		r.accept(r.best.withPlan(r.best.Plan.OnlyKinds(left...)))
	}
}

// nodes takes away what strikes a node, and makes the cluster smaller.
func (r *reducer) nodes() {
	for _, node := range r.best.nodes() {
		r.accept(r.best.withElements(slices.DeleteFunc(slices.Clone(r.best.Plan.Elements), func(e faults.Element) bool { return struck(&e) == node })))
	}
	for _, s := range r.shapes { // smallest first
		if s.quorum == r.best.Reduction.Quorum && s.bookies == r.best.Reduction.Bookies {
			return
		}
		if r.accept(r.best.with(func(c *Candidate) { c.Reduction.Quorum, c.Reduction.Bookies = s.quorum, s.bookies })) {
			return
		}
	}
}

func (r *reducer) clients() {
	if r.accept(r.best.withOperations(nil)) {
		return
	}
	for _, client := range r.best.clients() {
		r.accept(r.best.onlyOperations(func(o agenda.Op) bool { return o.Client != client }))
	}
}

// anchor has triggers that count visits and operations begin to count at the moment at which they struck. It is tried for
// all at once, and else for each.
func (r *reducer) anchor() {
	at := map[string]time.Duration{}
	for _, f := range r.outcome.Firings {
		at[f.ID] = f.At
	}
	anchored := func(c *Candidate, i int) {
		e := &c.Plan.Elements[i]
		when, fired := at[e.ID]
		if v := e.Trigger.Visit; v != nil && fired {
			moved := *v
			moved.Nth, moved.After = 1, when
			e.Trigger.Visit = &moved
		}
		if o := e.Trigger.Operation; o != nil && fired {
			moved := *o
			moved.Nth, moved.After = 1, when
			e.Trigger.Operation = &moved
		}
	}
	all := r.best.with(func(c *Candidate) {
		for i := range c.Plan.Elements {
			anchored(c, i)
		}
	})
	if r.accept(all) {
		return
	}
	for i := range r.best.Plan.Elements {
		r.accept(r.best.with(func(c *Candidate) { anchored(c, i) }))
	}
}

func (r *reducer) faults() {
	Minimize(r.best.Plan.Elements, 1, func(left []faults.Element) bool { return r.accept(r.best.withElements(left)) }, r.more)
}

// piecesMax is how many pieces a list is cut into at most, as long as it is long: where a failure hangs on a race, removing
// single elements from hundreds takes all the time and gets nowhere, and the search gets on.
const piecesMax = 32

// operations takes away steps, and then the parts of those that are left.
func (r *reducer) operations() {
	steps := r.best.steps()
	Minimize(steps, max(len(steps)/piecesMax, 1), func(left []step) bool { return r.accept(r.best.onlySteps(left)) }, r.more)
	r.tidy()
	if ops := r.best.Reduction.Operations; len(ops) <= piecesMax {
		Minimize(ops, 1, func(left []agenda.Op) bool { return r.accept(r.best.withOperations(left)) }, r.more)
	}
}

// elementsSimplified is the largest plan whose elements are made simpler one by one: of larger ones most go away.
const elementsSimplified = 12

// parameters makes each fault simpler in every way that leaves the failure.
func (r *reducer) parameters() {
	if len(r.best.Plan.Elements) > elementsSimplified {
		return
	}
	for i := 0; i < len(r.best.Plan.Elements); i++ {
		for simpler := true; simpler && r.more(); {
			simpler = false
			for _, e := range simplerThan(&r.best.Plan.Elements[i]) {
				if r.accept(r.best.with(func(c *Candidate) { c.Plan.Elements[i] = e })) {
					simpler = true
					break
				}
			}
		}
	}
}

// lastPass removes each element alone, and reports whether one was not needed.
func (r *reducer) lastPass() (removed bool) {
	needed := 0
	for i := range r.best.Plan.Elements {
		if !r.more() {
			return false
		}
		if r.accept(r.best.withPlan(r.best.Plan.Without(r.best.Plan.Elements[i].ID))) {
			return true
		}
		needed++
	}
	for i := range r.best.Reduction.Operations {
		if !r.more() {
			return false
		}
		if r.accept(r.best.withOperations(slices.Delete(slices.Clone(r.best.Reduction.Operations), i, i+1))) {
			return true
		}
		needed++
	}
	r.minimal = r.more()
	r.removals = needed
	return false
}
