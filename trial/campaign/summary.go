package campaign

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is a campaign in one word.
type Outcome string

// The outcomes, the gravest first.
const (
	Broken      Outcome = "broken"      // a seed failed
	Blind       Outcome = "blind"       // a canary was not caught
	Interrupted Outcome = "interrupted" // ended from outside, no failure until then
	Weak        Outcome = "weak"        // no failure, but rare states that must be reached were not
	Passed      Outcome = "passed"
)

// Summary is what a campaign found. Its JSON form is what simrun campaign --json prints.
type Summary struct {
	Outcome     Outcome `json:"outcome"`
	FirstSeed   uint64  `json:"first_seed"`
	Workers     int     `json:"workers"`
	Interrupted bool    `json:"interrupted"` // ended from outside: what was not finished is not counted
	Defect      string  `json:"defect,omitempty"`
	Build       Build   `json:"build"`

	// Of the seeds alone: neither second runs nor canaries are counted here.
	Seeds            int64            `json:"seeds"`
	Violations       int64            `json:"violations"` // failures of all kinds, of Failures in sum
	ClientOperations int64            `json:"client_operations"`
	Faults           map[string]int64 `json:"faults"` // by kind; those that engine code saw
	Events           int64            `json:"events"`
	SimulatedSeconds float64          `json:"simulated_seconds"`
	DistinctHashes   int64            `json:"distinct_hashes"`
	Scenarios        map[string]int64 `json:"scenarios"` // seeds by scenario
	Verdicts         map[string]int64 `json:"verdicts"`  // seeds by verdict
	Answers          map[string]int64 `json:"answers"`   // by operation and outcome
	Marks            map[string]int64 `json:"marks"`     // how often each named state was reached
	OperationsMean   float64          `json:"operations_per_seed"`
	FaultsMean       float64          `json:"faults_per_seed"`

	DeterminismChecked int64    `json:"determinism_checked"` // seeds that ran twice
	Nondeterministic   int64    `json:"nondeterministic"`
	CanaryCaught       bool     `json:"canary_caught"` // each canary, at least once
	Canaries           []Canary `json:"canaries"`
	MarksRequired      int      `json:"marks_required"`
	MarksMissing       []string `json:"marks_missing"`

	// Measured on the real clock, over everything that ran.
	WallSeconds     float64  `json:"wall_seconds"`
	CPUSeconds      float64  `json:"cpu_seconds"`
	EventsPerCPU    float64  `json:"events_per_cpu_second"`
	SimulatedPerCPU float64  `json:"simulated_seconds_per_cpu_second"`
	SeedsPerSecond  float64  `json:"seeds_per_wall_second"`
	Failures        []Group  `json:"failures"`
	Notes           []string `json:"notes"`
	simulated       time.Duration
}

// Canary is how a scenario that must fail fared.
type Canary struct {
	Scenario string `json:"scenario"`
	Seeds    int64  `json:"seeds"`
	Caught   int64  `json:"caught"` // that ended in a violation
}

// Exit codes of the command line.
const (
	ExitOK          = 0
	ExitBroken      = 1 // a promise that was checked does not hold
	ExitUsage       = 2
	ExitEnvironment = 3
)

// ExitCode is what a command that ran this campaign should exit with.
func (s *Summary) ExitCode() int {
	switch s.Outcome {
	case Passed:
		return ExitOK
	case Interrupted:
		return ExitEnvironment
	default:
		return ExitBroken
	}
}

// finish closes the books. Nothing may be counted afterwards.
func (t *tally) finish(interrupted bool) *Summary {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	s := &t.summary
	s.FirstSeed, s.Workers, s.Defect, s.Build = t.options.Seed, t.options.Workers, t.options.Defect, ThisBuild()
	s.DistinctHashes = int64(len(t.hashes))
	t.measure()
	for _, g := range t.groups {
		s.Failures = append(s.Failures, *g)
	}
	slices.SortFunc(s.Failures, func(a, b Group) int { return byGravity(&a, &b) })
	if t.early != "" {
		s.Notes = append(s.Notes, t.early)
	}
	if s.Interrupted = interrupted; interrupted {
		s.Notes = append(s.Notes, "interrupted: trials that were not finished are not counted, and states that were not reached prove nothing")
	}
	blind := t.judgeCanaries()
	weak := t.judgeMarks()
	s.Outcome = outcome(s.Violations > 0, interrupted, blind, weak)
	return s
}

// outcome: an interrupted campaign cannot be blind or weak, because it was not given its time.
func outcome(broken, interrupted, blind, weak bool) Outcome {
	switch {
	case broken:
		return Broken
	case interrupted:
		return Interrupted
	case blind:
		return Blind
	case weak:
		return Weak
	default:
		return Passed
	}
}

func (t *tally) measure() {
	s := &t.summary
	s.SimulatedSeconds = s.simulated.Seconds()
	s.WallSeconds, s.CPUSeconds = time.Since(t.start).Seconds(), t.cpu.Seconds()
	if s.CPUSeconds > 0 {
		s.EventsPerCPU = float64(t.executed.events) / s.CPUSeconds
		s.SimulatedPerCPU = t.executed.simulated.Seconds() / s.CPUSeconds
	}
	if s.WallSeconds > 0 {
		s.SeedsPerSecond = float64(s.Seeds) / s.WallSeconds
	}
	if s.Seeds > 0 {
		s.OperationsMean = float64(s.ClientOperations) / float64(s.Seeds)
		s.FaultsMean = float64(total(s.Faults)) / float64(s.Seeds)
	}
}

func total(counts map[string]int64) int64 {
	var sum int64
	for _, count := range counts {
		sum += count
	}
	return sum
}

// judgeCanaries reports whether the campaign cannot see what it should.
func (t *tally) judgeCanaries() (blind bool) {
	s := &t.summary
	if len(s.Canaries) == 0 || t.options.CanarySeeds == 0 {
		s.Notes = append(s.Notes, "no canary ran: nothing shows that a broken promise would have been seen")
		return false
	}
	s.CanaryCaught = true
	for _, c := range s.Canaries {
		if c.Caught == 0 {
			s.CanaryCaught, blind = false, true
			s.Notes = append(s.Notes, fmt.Sprintf("canary not caught: %d trials of %s, which breaks its promise, found no violation",
				c.Seeds, c.Scenario))
		}
	}
	return blind
}

// judgeMarks reports whether the campaign must call itself weak: it had the seeds to reach every rare state. Named
// scenarios may be unable to reach some, so they are told and not held to it.
func (t *tally) judgeMarks() (weak bool) {
	s := &t.summary
	s.MarksRequired = len(t.options.Catalogue.RequiredMarks)
	for _, name := range t.options.Catalogue.RequiredMarks {
		if s.Marks[name] == 0 {
			s.MarksMissing = append(s.MarksMissing, name)
		}
	}
	slices.Sort(s.MarksMissing)
	if s.Seeds == 0 {
		s.Notes = append(s.Notes, "no seed was finished: nothing was checked")
		return true
	}
	if len(s.MarksMissing) == 0 {
		return false
	}
	asked := max(t.options.Seeds, s.Seeds)
	weak = len(t.options.Scenarios) == 0 && asked >= strongSeedsMin
	degree := "not reached by so few seeds or these scenarios"
	if weak {
		degree = "weak campaign, it never reached"
	}
	s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", degree, joinNames(s.MarksMissing)))
	return weak
}
