package explore

import (
	"fmt"
	"slices"

	"lakebed/internal/invariant"
)

// Result is what a search found.
type Result struct {
	States    int
	Steps     int // tried, over all states
	Depth     int // the most steps that the shortest way to a state has
	Complete  bool
	Violation *Violation // nil: no rule is broken
}

func (r Result) String() string {
	how := "all"
	if !r.Complete {
		how = "stopped"
	}
	return fmt.Sprintf("%d states (%s), %d steps, depth %d", r.States, how, r.Steps, r.Depth)
}

// visit is how a state was reached first.
type visit struct {
	parent int32
	by     step
}

// search is one run of Search.
type search struct {
	config  Config
	seen    map[digest]struct{}
	visits  []visit
	scratch []byte
	watched int // steps when Watch was told last
	result  Result
}

// Search walks through all states, breadth first, up to the first that breaks a rule.
func Search(c Config) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	s := &search{config: c, seen: map[digest]struct{}{}}
	s.run()
	return s.result, nil
}

// reached is a state in a layer of the search, with its place in visits.
type reached struct {
	state *state
	place int32
}

func (s *search) run() {
	first, _ := s.config.initial()
	layer := s.visit(first, 0, step{}, nil)
	var list []step
	for depth := 0; len(layer) > 0; depth++ {
		s.result.Depth = depth
		var next []reached
		for _, r := range layer {
			list = s.config.steps(r.state, list)
			if s.stuck(list) {
				if b := s.config.checkWaiting(r.state); s.counts(b) {
					s.result.Violation = s.explain(b, r.place, nil)
					return
				}
			}
			for _, p := range list {
				if next = s.try(r, p, next); s.result.Violation != nil {
					return
				}
			}
			if s.config.StatesMax > 0 && s.result.States >= s.config.StatesMax || s.stopped() {
				return
			}
		}
		layer = next
	}
	s.result.Complete = true
}

// watchSteps is how many steps lie between two calls of Watch: a fraction of a second.
const watchSteps = 1 << 16

// stopped asks whoever watches.
func (s *search) stopped() bool {
	if s.config.Watch == nil || s.result.Steps < s.watched+watchSteps {
		return false
	}
	s.watched = s.result.Steps
	return !s.config.Watch(s.result)
}

// counts reports whether a broken rule is one that is looked for.
func (s *search) counts(b *broken) bool {
	return b != nil && (s.config.Only == "" || s.config.Only == b.rule)
}

// stuck reports whether nothing is under way: only what somebody would have to begin can happen.
func (s *search) stuck(list []step) bool {
	return !slices.ContainsFunc(list, func(p step) bool { return p.kind == deliver || p.kind == deliverCall || p.kind == lateWrite })
}

// try takes a step and notes the state it leads to, if that is new.
func (s *search) try(r reached, p step, next []reached) []reached {
	s.result.Steps++
	var after *state
	if b := guarded(func() { after = s.config.take(r.state, p) }); b != nil {
		s.result.Violation = s.explain(b, r.place, &p)
		return next
	}
	next = s.visit(after, r.place, p, next)
	if place := int32(len(s.visits) - 1); s.visits[place].parent == r.place && s.visits[place].by == p {
		if b := s.config.check(after); s.counts(b) {
			s.result.Violation = s.explain(b, place, nil)
		}
	}
	return next
}

// guarded runs a step; an invariant that a core finds broken is a result, too.
func guarded(f func()) (b *broken) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case invariant.Broken:
			b = &broken{RuleInvariant, p.Message}
		default:
			panic(p)
		}
	}()
	f()
	return nil
}

func (s *search) visit(after *state, parent int32, by step, next []reached) []reached {
	var key digest
	key, s.scratch = after.key(s.scratch)
	if _, known := s.seen[key]; known {
		return next
	}
	s.seen[key] = struct{}{}
	s.visits = append(s.visits, visit{parent, by})
	s.result.States++
	return append(next, reached{after, int32(len(s.visits) - 1)})
}

// explain walks again the way to a place, and then one more step that could not be finished, in words.
func (s *search) explain(b *broken, place int32, unfinished *step) *Violation {
	var way []step
	for ; place > 0; place = s.visits[place].parent {
		way = append(way, s.visits[place].by)
	}
	slices.Reverse(way)
	now, told := s.config.initial()
	v := &Violation{Rule: b.rule, What: b.what, Steps: [][]string{told}}
	if unfinished != nil {
		way = append(way, *unfinished)
	}
	for _, p := range way {
		w := &world{config: &s.config, state: now.clone(), tell: true}
		guarded(func() { w.carryOut(p) }) // the last step may be the one in which an invariant breaks
		w.state.sweep()
		now, v.Steps = w.state, append(v.Steps, w.told)
	}
	s.result.Depth = len(way) // the last step leads one further than the layer at hand
	return v
}
