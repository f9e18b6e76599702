package campaign

import (
	"fmt"
	"slices"
	"time"

	"lakebed/sim"
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
	Shard       string  `json:"shard,omitempty"`         // such as 2/8, of a campaign that is spread
	Log         string  `json:"log,omitempty"`           // the file of the campaign's lines
	Merged      int     `json:"merged_shards,omitempty"` // this is the sum of so many
	Resumed     int64   `json:"resumed_seeds,omitempty"` // of the seeds, those that an earlier process ran
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
	Scenarios        map[string]int64 `json:"scenarios"`  // seeds by scenario
	Schedulers       map[string]int64 `json:"schedulers"` // seeds by scheduler
	Verdicts         map[string]int64 `json:"verdicts"`   // seeds by verdict
	Answers          map[string]int64 `json:"answers"`    // by operation and outcome
	Marks            map[string]int64 `json:"marks"`      // how often each named state was reached
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
	FaultsPerCPU    float64  `json:"faults_per_cpu_second"`       // effective ones, without split reads
	CrashesPerCPU   float64  `json:"crash_points_per_cpu_second"` // at which a process or machine died
	EventsPerWall   float64  `json:"events_per_wall_second"`
	SimulatedRatio  float64  `json:"simulated_per_wall"`
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

// Timeless is the summary without what depends on the machine, on its clock, on how the work was spread, and on which of
// many equal failures ran twice. It is equal for equal campaigns, whether they ran at once, in shards, or were killed
// and went on.
func (s *Summary) Timeless() Summary {
	c := *s
	c.Log = ""
	c.Shard, c.Merged, c.Resumed, c.Workers, c.DeterminismChecked = "", 0, 0, 0, 0
	c.WallSeconds, c.CPUSeconds, c.EventsPerCPU, c.SimulatedPerCPU, c.FaultsPerCPU, c.CrashesPerCPU = 0, 0, 0, 0, 0, 0
	c.EventsPerWall, c.SimulatedRatio, c.SeedsPerSecond = 0, 0, 0
	c.Failures = slices.Clone(s.Failures)
	for i := range c.Failures {
		c.Failures[i].Replays, c.Failures[i].File, c.Failures[i].Smaller = 0, "", ""
	}
	return c
}

// finish closes the books, wall being how long it all took. Nothing may be counted afterwards.
func (t *tally) finish(interrupted bool, wall time.Duration) *Summary {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	s := &t.summary
	s.FirstSeed, s.Defect, s.Build = t.header.FirstSeed, t.header.Defect, t.header.Build
	if !t.header.Shard.whole() {
		s.Shard = t.header.Shard.String()
	}
	s.DistinctHashes = int64(len(t.hashes))
	t.measure(wall)
	for _, g := range t.groups {
		s.Failures = append(s.Failures, *g)
	}
	slices.SortFunc(s.Failures, func(a, b Group) int { return byGravity(&a, &b) })
	s.Notes = append(s.Notes, t.early...)
	if s.Interrupted = interrupted; interrupted {
		s.Notes = append(s.Notes, "interrupted: trials that were not finished are not counted, and states that were not reached prove nothing")
	}
	blind, weak := t.judgeReach()
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

func (t *tally) measure(wall time.Duration) {
	s := &t.summary
	s.SimulatedSeconds = s.simulated.Seconds()
	s.WallSeconds, s.CPUSeconds = wall.Seconds(), t.cpu.Seconds()
	if s.CPUSeconds > 0 {
		s.EventsPerCPU = float64(t.executed.events) / s.CPUSeconds
		s.SimulatedPerCPU = t.executed.simulated.Seconds() / s.CPUSeconds
		s.FaultsPerCPU = float64(t.executed.faults) / s.CPUSeconds
		s.CrashesPerCPU = float64(t.executed.crashes) / s.CPUSeconds
	}
	if s.WallSeconds > 0 {
		s.EventsPerWall = float64(t.executed.events) / s.WallSeconds
		s.SimulatedRatio = t.executed.simulated.Seconds() / s.WallSeconds
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

// crashes are the effects that are points of a program's work at which it died.
func crashes(effects map[string]int64) int64 {
	return effects[sim.EffectCrash] + effects[sim.EffectPowerCut]
}

// deliberate are the effects that a plan or a world does to a node on purpose. Networks split reads all the time, and that
// count would drown the others.
func deliberate(effects map[string]int64) int64 {
	return total(effects) - effects[sim.EffectSplitRead]
}

// judgeReach judges what only a whole campaign can be held to: a shard has too few canaries and seeds to reach all that
// the campaign must.
func (t *tally) judgeReach() (blind, weak bool) {
	if t.header.Shard.whole() {
		return t.judgeCanaries(), t.judgeMarks()
	}
	s := &t.summary
	s.MarksRequired, s.MarksMissing = len(t.header.Marks), t.missing()
	s.CanaryCaught = len(s.Canaries) > 0 && !slices.ContainsFunc(s.Canaries, func(c Canary) bool { return c.Caught == 0 })
	s.Notes = append(s.Notes, fmt.Sprintf("shard %s: canaries and rare states are judged when all shards are merged", s.Shard))
	return false, false
}

// missing are the required rare states that were not reached.
func (t *tally) missing() []string {
	missing := []string{}
	for _, name := range t.header.Marks {
		if t.summary.Marks[name] == 0 {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// judgeCanaries reports whether the campaign cannot see what it should.
func (t *tally) judgeCanaries() (blind bool) {
	s := &t.summary
	if len(s.Canaries) == 0 || t.header.CanarySeeds == 0 {
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
	s.MarksRequired, s.MarksMissing = len(t.header.Marks), t.missing()
	if s.Seeds == 0 {
		s.Notes = append(s.Notes, "no seed was finished: nothing was checked")
		return true
	}
	if len(s.MarksMissing) == 0 {
		return false
	}
	asked := max(t.header.Seeds, s.Seeds)
	weak = t.header.isDefaultMix() && asked >= strongSeedsMin
	degree := "not reached by so few seeds or these scenarios"
	if weak {
		degree = "weak campaign, it never reached"
	}
	s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", degree, joinNames(s.MarksMissing)))
	return weak
}
