package shrink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"lakebed/trial"
)

// Defaults of a budget.
const (
	BudgetDefault = 60 * time.Second
	TriesDefault  = 20_000
)

// wallFactor is for a machine that is busy otherwise, and for a trial that hangs without using the processor.
const wallFactor = 4

// ErrPasses says that the trial which is to be made smaller does not fail.
var ErrPasses = errors.New("the trial does not fail")

// Options say what to make smaller, and for how long.
type Options struct {
	// Trial is the one that fails: scenario, seed, plan, reduction, planted bug.
	Trial trial.Options
	// Run runs a trial.
	Run func(trial.Options) trial.Result
	// Checkers are those whose finding counts. Empty: any.
	Checkers []string
	// Signature is that of the finding that counts, numbers aside. Empty: of the first one.
	Signature string
	// Budget bounds the processor time of this process, Tries the trials. Zero: the defaults. On the wall's clock it may
	// take wallFactor times the budget.
	Budget time.Duration
	Tries  int
	// Watch is told after each stage.
	Watch func(Stage)
}

// Size is how large a trial is.
type Size struct {
	Faults      int     `json:"faults"`
	Operations  int     `json:"operations"`
	Clients     int     `json:"clients"`
	Nodes       int     `json:"nodes"` // that faults strike
	WorkSeconds float64 `json:"work_seconds"`
	Events      int64   `json:"events"`
}

// Ending is why shrinking ended.
type Ending string

// The endings.
const (
	Minimal     Ending = "minimal"     // each element that is left was shown to be needed
	OutOfBudget Ending = "budget"      // time or tries were used up
	Interrupted Ending = "interrupted" // the context ended
	Rounds      Ending = "rounds"      // it was still getting smaller after the last round
)

// Report is what shrinking has made of a trial.
type Report struct {
	Scenario  string        `json:"scenario"`
	Seed      uint64        `json:"seed"`
	Defect    string        `json:"defect,omitempty"`
	Verdict   trial.Verdict `json:"verdict"`
	Checker   string        `json:"checker"`
	Signature string        `json:"signature"`
	Before    Size          `json:"before"`
	After     Size          `json:"after"`
	Ending    Ending        `json:"ending"`
	// Needed counts the elements of which the last pass has shown that none can be removed alone.
	Needed     int     `json:"needed"`
	Tries      int     `json:"tries"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Stages     []Stage `json:"stages"`

	// Trial is the small one, ready to run, and Result what it gave.
	Trial  trial.Options `json:"-"`
	Result trial.Result  `json:"-"`
}

// shrinking is one call of Run.
type shrinking struct {
	options Options
	ctx     context.Context
	begun   time.Duration // of processor time
	begunAt time.Time
	class   string
	last    trial.Result // of the newest candidate that failed
	tries   int
}

// Run makes a failing trial smaller. With the context over it returns what it has.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Trial.Check(); err != nil {
		return nil, err
	}
	o.Budget, o.Tries = cmp.Or(o.Budget, BudgetDefault), cmp.Or(o.Tries, TriesDefault)
	begun, cpu := time.Now(), cpuTime()
	limited, cancel := context.WithTimeout(ctx, wallFactor*o.Budget)
	defer cancel()
	s := &shrinking{options: o, ctx: limited, begun: cpu, begunAt: begun}
	r, first, err := s.begin()
	if err != nil {
		return nil, err
	}
	before := size(&r.best, first.Events, r.work)
	r.run()
	s.tidyResult(&r.best)
	report := &Report{
		Scenario: o.Trial.Scenario.Name, Seed: o.Trial.Seed, Defect: o.Trial.Defect, Before: before,
		After: size(&r.best, s.last.Events, r.work), Ending: s.ending(ctx, r), Needed: r.removals, Tries: s.tries,
		Seconds: time.Since(begun).Seconds(), CPUSeconds: (cpuTime() - cpu).Seconds(), Stages: r.stages,
		Trial: s.trial(r.best), Result: s.last, Verdict: s.last.Verdict,
	}
	finding := s.find(&s.last)
	report.Checker, report.Signature = finding.Checker, finding.Signature
	return report, nil
}

// begin runs the trial as it is, learns how it fails, and writes out all that it did.
func (s *shrinking) begin() (*reducer, trial.Result, error) {
	o := &s.options
	whole := Candidate{}
	if o.Trial.Reduction != nil {
		whole.Reduction = *o.Trial.Reduction
	}
	first, course, ok := s.run(o.Trial)
	if !ok {
		return nil, first, s.ctx.Err()
	}
	wanted := s.wanted(&first)
	if wanted == nil {
		return nil, first, fmt.Errorf("%w in the way that is looked for: seed %d of %s is %s%s", ErrPasses, o.Trial.Seed,
			o.Trial.Scenario.Name, first.Verdict, heard(&first))
	}
	s.class, s.last = wanted.Class(), first
	whole.Plan = first.Plan
	if whole.Reduction.Operations == nil {
		whole.Reduction.Operations = course.Performed
	}
	r := &reducer{
		try: s.try, more: s.more, spare: s.spare, watch: o.Watch, shapes: shapesOf(&o.Trial.Scenario), draws: trial.Draws(&o.Trial.Scenario),
		work: time.Duration(o.Trial.Scenario.WorkMillis) * time.Millisecond, seen: map[string]bool{}, best: whole,
		dice: rand.New(rand.NewPCG(o.Trial.Seed, searchStream)),
	}
	r.outcome = s.try(whole)
	if !r.outcome.Fails {
		return nil, first, fmt.Errorf("%w any more once all that it did is written out: seed %d of %s", ErrPasses, o.Trial.Seed, o.Trial.Scenario.Name)
	}
	return r, first, nil
}

// wanted is the finding by which the trial is to be known.
func (s *shrinking) wanted(r *trial.Result) *trial.Finding {
	signature := trial.Finding{Signature: s.options.Signature}
	for i := range r.Findings {
		f := &r.Findings[i]
		signature.Checker = f.Checker
		if len(s.options.Checkers) > 0 && !slices.Contains(s.options.Checkers, f.Checker) {
			continue
		}
		if s.options.Signature == "" || f.Class() == signature.Class() {
			return f
		}
	}
	return nil
}

// heard lists what was found instead.
func heard(r *trial.Result) string {
	var b strings.Builder
	for i := range r.Findings {
		fmt.Fprintf(&b, "; %s: %s", r.Findings[i].Checker, r.Findings[i].Signature)
	}
	return b.String()
}

// find is the finding of the class that is looked for.
func (s *shrinking) find(r *trial.Result) *trial.Finding {
	for i := range r.Findings {
		if r.Findings[i].Class() == s.class {
			return &r.Findings[i]
		}
	}
	return nil
}

func (s *shrinking) spent() time.Duration { return cpuTime() - s.begun }

func (s *shrinking) more() bool {
	return s.ctx.Err() == nil && s.tries < s.options.Tries && s.spent() < s.options.Budget
}

// spare leaves a quarter of the budget for the last pass.
func (s *shrinking) spare() bool {
	return s.more() && s.spent() < s.options.Budget*3/4 && time.Since(s.begunAt) < wallFactor*s.options.Budget*3/4 &&
		s.tries < s.options.Tries*3/4
}

func (s *shrinking) trial(c Candidate) trial.Options {
	o := s.options.Trial
	plan, reduction := c.Plan, c.Reduction
	o.Plan, o.Reduction, o.Trace = &plan, &reduction, nil
	return o
}

// try runs a candidate. With a planted bug, one that fails so without it shows something else.
func (s *shrinking) try(c Candidate) Outcome {
	o := s.trial(c)
	if o.Check() != nil {
		return Outcome{}
	}
	s.tries++
	result, course, ok := s.run(o)
	if !ok || s.find(&result) == nil {
		return Outcome{}
	}
	if o.Defect != "" {
		o.Defect = ""
		sound, _, ok := s.run(o)
		if !ok || s.find(&sound) != nil {
			return Outcome{}
		}
	}
	s.last = result
	return Outcome{Fails: true, Performed: course.Performed, Firings: course.Firings, Visited: course.Visited}
}

// run runs a trial. Not ok: the time was over before it ended. It then goes on until the process ends, since a trial cannot
// be stopped from outside; nothing else runs any more.
func (s *shrinking) run(o trial.Options) (trial.Result, trial.Passage, bool) {
	type ran struct {
		result trial.Result
		course trial.Passage
	}
	done := make(chan ran, 1)
	go func() {
		var r ran
		o.Passage = func(c trial.Passage) { r.course = c }
		r.result = s.options.Run(o)
		done <- r
	}()
	select {
	case r := <-done:
		return r.result, r.course, true
	case <-s.ctx.Done():
		return trial.Result{}, trial.Passage{}, false
	}
}

// tidyResult gives the result the plan that the candidate has: one that never fired is part of it.
func (s *shrinking) tidyResult(c *Candidate) { s.last.Plan = c.Plan }

func (s *shrinking) ending(ctx context.Context, r *reducer) Ending {
	switch {
	case r.minimal:
		return Minimal
	case ctx.Err() != nil:
		return Interrupted
	case !s.more():
		return OutOfBudget
	}
	return Rounds
}

func size(c *Candidate, events int64, work time.Duration) Size {
	if c.Reduction.Work > 0 {
		work = time.Duration(c.Reduction.Work)
	}
	return Size{
		Faults: len(c.Plan.Elements), Operations: len(c.Reduction.Operations), Clients: len(c.clients()), Nodes: len(c.nodes()),
		WorkSeconds: work.Seconds(), Events: events,
	}
}

// shapesOf lists the sizes that a scenario's clusters can have, the smallest first. The least has no bookie to spare.
func shapesOf(s *trial.Scenario) []shape {
	if s.Cluster == nil {
		return nil
	}
	var shapes []shape
	for _, quorum := range s.Cluster.Shapes {
		var ensemble int
		if _, err := fmt.Sscanf(quorum, "%d/", &ensemble); err != nil {
			continue // the scenario's own check has refused it
		}
		for bookies := ensemble; bookies <= ensemble+s.Cluster.SparesMax; bookies++ {
			shapes = append(shapes, shape{quorum, bookies})
		}
	}
	slices.SortStableFunc(shapes, func(a, b shape) int {
		return cmp.Or(cmp.Compare(a.bookies, b.bookies), cmp.Compare(a.quorum, b.quorum))
	})
	return shapes
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
