package campaign

import (
	"errors"
	"fmt"
	"math"
	"time"

	"lakebed/trial"
)

// ErrUsage is wrapped by errors that are the caller's: an unknown scenario, a bound that makes no sense.
var ErrUsage = errors.New("wrong use")

// ErrEnvironment is wrapped by errors that are the machine's: a worker that cannot be started, a file that cannot be
// written.
var ErrEnvironment = errors.New("the environment failed")

// Defaults for what Options leaves zero, and for the command line.
const (
	SeedsDefault       = 1500
	CanarySeedsDefault = 20
	HangAfterDefault   = 60 * time.Second
	OutDefault         = "failures"
)

const (
	twiceEvery          = 20  // every twentieth seed runs twice
	twiceFailuresMax    = 3   // trials of one group of failures that run twice
	divergencesMax      = 3   // seeds that are bisected; one explains the others more often than not
	divergencePatience  = 10  // a bisection is many runs: it may take so many times longer than a trial
	batchMax            = 4   // trials a worker is given at once
	lostWorkersMax      = 10  // a campaign that loses more processes stops: what follows is likely the same
	strongSeedsMin      = 300 // fewer seeds are not expected to reach every rare state
	seedsOfGroupMax     = 10  // seeds listed with a group of failures
	startPatience       = 30 * time.Second
	endPatience         = 5 * time.Second
	excerptHalfMaxBytes = 64 << 10
	replaysOfNewMax     = 2       // runs that follow the first failure of each group
	shardsMax           = 100_000 // as many as an Indexed Job of Kubernetes may complete
	weightMax           = 1_000_000
	workersMax          = 1024 // processes of this machine; more come with shards
	logBufferBytes      = 64 << 10
	lineMaxBytes        = 64 << 20 // of a log; the longest hold the plan or the stacks of a failure
	programDigestBytes  = 16
	framesOfPanicMax    = 3  // functions that name a panic
	missingListedMax    = 20 // shards that a refusal lists
	orphanPoll          = 20 * time.Millisecond
)

// Runner runs one trial.
type Runner func(trial.Options) trial.Result

// Catalogue is what a campaign can run, and what it must reach.
type Catalogue struct {
	Run           Runner
	Scenarios     []trial.Scenario
	RequiredMarks []string
}

// Options says what to run, and for how long.
type Options struct {
	Catalogue Catalogue
	// Scenarios are the names of those to run, by their weights. Empty: the default mix of all that have a weight.
	Scenarios []string
	// Weights replace those of the catalogue, by name. A weight of zero leaves a scenario out.
	Weights map[string]int64
	// Shard is the part of the campaign to run. Zero: all of it.
	Shard Shard
	// Seed is the first seed; the others follow.
	Seed uint64
	// Seeds and Time end the campaign, whichever comes first. Zero: no such bound; one of them must be there. Seeds are
	// those of all shards.
	Seeds int64
	Time  time.Duration
	// Workers is how many processes run trials. Zero: they run here, one after the other.
	Workers int
	// WorkerCommand starts a worker: a program that calls ServeProcess.
	WorkerCommand []string
	// CanarySeeds is how often each canary runs. Zero: no canary, and the summary says so.
	CanarySeeds int64
	// HangAfter is how long a trial may take on the real clock. Zero: HangAfterDefault.
	HangAfter time.Duration
	// Out is the directory for the files of failures. It is made when there are any. Empty: no files.
	Out string
	// Log is the file of the campaign's lines, see the package's comment. If there is one already, the campaign goes on
	// where that ends. Empty: none.
	Log string
	// Defect is a planted bug to run all trials with. Empty: none.
	Defect string
	// Shrink makes failures smaller once all trials have run, for as long as ShrinkBudget in all. Nil, or zero: nothing is
	// shrunk. It needs Out.
	Shrink       Shrinker
	ShrinkBudget time.Duration
	// Watch is told after each seed. Calls do not overlap.
	Watch func(Progress)
}

// Progress is how far a campaign is.
type Progress struct {
	Seeds      int64
	SeedsMax   int64 // zero: no bound
	Violations int64
	Elapsed    time.Duration
	TimeMax    time.Duration // zero: no bound
}

func (o *Options) check() error {
	switch {
	case o.Seeds < 0 || o.Time < 0 || o.HangAfter < 0 || o.CanarySeeds < 0 || o.Workers < 0 || o.ShrinkBudget < 0:
		return fmt.Errorf("%w: seeds, time, hang guard, canary seeds, shrink budget and workers cannot be negative", ErrUsage)
	case o.Seeds == 0 && o.Time == 0:
		return fmt.Errorf("%w: a campaign needs an end: a number of seeds, a time, or both", ErrUsage)
	case o.Seeds > math.MaxInt64-shardsMax:
		return fmt.Errorf("%w: %d seeds are more than any campaign can run", ErrUsage, o.Seeds)
	case o.Seeds > 0 && o.Seed > math.MaxUint64-uint64(o.Seeds):
		return fmt.Errorf("%w: there are fewer than %d seeds from %d on: the last is 2^64-1", ErrUsage, o.Seeds, o.Seed)
	case o.Workers > workersMax:
		return fmt.Errorf("%w: %d workers are more than the %d that a campaign starts on one machine; spread it with shards", ErrUsage, o.Workers, workersMax)
	case o.Workers > 0 && len(o.WorkerCommand) == 0:
		return fmt.Errorf("%w: %d workers and no command that starts one", ErrUsage, o.Workers)
	}
	if o.HangAfter == 0 {
		o.HangAfter = HangAfterDefault
	}
	if o.Shard == (Shard{}) {
		o.Shard = wholeCampaign
	}
	return o.Shard.check()
}
