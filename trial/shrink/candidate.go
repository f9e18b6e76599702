package shrink

import (
	"encoding/json"
	"slices"
	"time"

	"lakebed/faults"
	"lakebed/trial"
	"lakebed/workloads/agenda"
)

// Candidate is a trial that may still fail: what is left of its faults, and how it is reduced.
type Candidate struct {
	Plan      faults.Plan
	Reduction trial.Reduction
}

// Outcome is what became of a candidate.
type Outcome struct {
	Fails     bool // in the way that is looked for
	Performed []agenda.Op
	Firings   []faults.Firing
	Visited   []faults.Visit
}

// Try runs a candidate.
type Try func(Candidate) Outcome

// key is equal for equal candidates.
func (c *Candidate) key() string {
	text, err := json.Marshal(c)
	if err != nil {
		return "" // nothing in it can fail
	}
	return string(text)
}

// with returns a copy whose parts can be changed.
func (c Candidate) with(change func(*Candidate)) Candidate {
	c.Plan.Elements = slices.Clone(c.Plan.Elements)
	c.Reduction.Plain = slices.Clone(c.Reduction.Plain)
	if c.Reduction.Operations != nil { // nil is everything, and must not become it
		c.Reduction.Operations = append([]agenda.Op{}, c.Reduction.Operations...)
	}
	change(&c)
	return c
}

// kinds lists the fault kinds that are left, in the order of the plan.
func (c *Candidate) kinds() []faults.Kind {
	var kinds []faults.Kind
	for i := range c.Plan.Elements {
		if k := c.Plan.Elements[i].Kind; !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// nodes lists the nodes that faults strike, in the order of the plan.
func (c *Candidate) nodes() []string {
	var nodes []string
	for i := range c.Plan.Elements {
		if n := struck(&c.Plan.Elements[i]); n != "" && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// struck is the node that an element is about.
func struck(e *faults.Element) string {
	switch {
	case e.Target.Node != "":
		return e.Target.Node
	case e.Trigger.Visit != nil:
		return e.Trigger.Visit.Node
	}
	return ""
}

// step is a client's step, with all its parts.
type step struct{ client, number int }

// steps lists those that are left, in the order of the operations.
func (c *Candidate) steps() []step {
	var steps []step
	seen := map[step]bool{}
	for _, o := range c.Reduction.Operations {
		s := step{o.Client, o.Step}
		if !seen[s] {
			seen[s] = true
			steps = append(steps, s)
		}
	}
	return steps
}

func (c *Candidate) clients() []int {
	var clients []int
	for _, o := range c.Reduction.Operations {
		if !slices.Contains(clients, o.Client) {
			clients = append(clients, o.Client)
		}
	}
	return clients
}

func (c Candidate) withPlan(p faults.Plan) Candidate {
	return c.with(func(c *Candidate) { c.Plan = p })
}

func (c Candidate) withElements(elements []faults.Element) Candidate {
	return c.withPlan(faults.Plan{Elements: slices.Clone(elements)})
}

func (c Candidate) withOperations(ops []agenda.Op) Candidate {
	return c.with(func(c *Candidate) { c.Reduction.Operations = append([]agenda.Op{}, ops...) })
}

// onlyOperations keeps those that are wanted.
func (c Candidate) onlyOperations(wanted func(agenda.Op) bool) Candidate {
	return c.with(func(c *Candidate) {
		c.Reduction.Operations = slices.DeleteFunc(c.Reduction.Operations, func(o agenda.Op) bool { return !wanted(o) })
	})
}

func (c Candidate) onlySteps(steps []step) Candidate {
	kept := map[step]bool{}
	for _, s := range steps {
		kept[s] = true
	}
	return c.onlyOperations(func(o agenda.Op) bool { return kept[step{o.Client, o.Step}] })
}

// explicit has what came to pass, and nothing else.
func (c Candidate) explicit(o *Outcome) Candidate {
	fired := map[string]bool{}
	for _, f := range o.Firings {
		fired[f.ID] = true
	}
	return c.with(func(c *Candidate) {
		c.Plan.Elements = slices.DeleteFunc(c.Plan.Elements, func(e faults.Element) bool { return !fired[e.ID] })
		c.Reduction.Operations = append([]agenda.Op{}, o.Performed...)
	})
}

// cut heals the world at a time, and leaves out what waits for a later one.
func (c Candidate) cut(at time.Duration) Candidate {
	return c.with(func(c *Candidate) {
		c.Plan = c.Plan.Before(at)
		c.Reduction.Work = trial.Span(at)
	})
}
