package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/trial"
)

// TestASoundCampaignCountsEachSeedOnce, whatever else ran beside: second runs and canaries are not in the figures.
func TestASoundCampaignCountsEachSeedOnce(t *testing.T) {
	o := options("good", 100)
	o.Scenarios, o.CanarySeeds = nil, 20
	for _, workers := range []int{0, 1, 2, 3} {
		o.Workers = workers
		s := conduct(t, o)
		if s.Outcome != Passed || s.ExitCode() != ExitOK || s.Violations != 0 || len(s.Failures) != 0 {
			t.Errorf("%d workers: %s, %+v", workers, s.Outcome, s.Failures)
		}
		if s.Seeds != 100 || s.ClientOperations != 500 || s.Events != 100*1000+10*45 || s.SimulatedSeconds != 100 || s.DistinctHashes != 100 {
			t.Errorf("%d workers: wrong figures: %+v", workers, s)
		}
		if s.Faults["power-cut"] != 200 || s.Faults["reset"] != 100 || s.Marks["fake.common"] != 300 || s.Marks["fake.rare"] != 2 || s.Answers["add ok"] != 400 {
			t.Errorf("%d workers: faults %v, marks %v, answers %v", workers, s.Faults, s.Marks, s.Answers)
		}
		if s.OperationsMean != 5 || s.FaultsMean != 3 || s.Verdicts["ok"] != 100 || s.Scenarios["good"]+s.Scenarios["fine"] != 100 {
			t.Errorf("%d workers: %+v", workers, s)
		}
		if s.DeterminismChecked != 5 || s.Nondeterministic != 0 || !s.CanaryCaught {
			t.Errorf("%d workers: %d ran twice, %d differed, canary caught %v", workers, s.DeterminismChecked, s.Nondeterministic, s.CanaryCaught)
		}
		if s.WallSeconds <= 0 || s.CPUSeconds <= 0 || s.EventsPerCPU <= 0 {
			t.Errorf("%d workers: wall %v s, CPU %v s, %v events a CPU second", workers, s.WallSeconds, s.CPUSeconds, s.EventsPerCPU)
		}
	}
}

// TestTheSameOptionsGiveTheSameSummary but for the clock, with any number of workers.
func TestTheSameOptionsGiveTheSameSummary(t *testing.T) {
	timeless := func(workers int) *Summary {
		o := options("bad", 120)
		o.Workers, o.CanarySeeds = workers, 8
		s := conduct(t, o)
		timeless := s.Timeless()
		return &timeless
	}
	first := timeless(0)
	for _, workers := range []int{1, 2, 3} {
		if s := timeless(workers); !reflect.DeepEqual(toJSON(t, first), toJSON(t, s)) {
			t.Errorf("%d workers:\n%v\nin this process:\n%v", workers, toJSON(t, s), toJSON(t, first))
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestFailuresWithOneSignatureFormOneGroupWithTheShortestTrial and the command that shows it.
func TestFailuresWithOneSignatureFormOneGroupWithTheShortestTrial(t *testing.T) {
	o := options("bad", 100)
	s := conduct(t, o)
	if s.Outcome != Broken || s.ExitCode() != ExitBroken || len(s.Failures) != 2 || s.Violations != 20+12 {
		t.Fatalf("%s, %d violations: %+v", s.Outcome, s.Violations, s.Failures)
	}
	lost, stalled := s.Failures[0], s.Failures[1]
	if lost.Kind != Kind(trial.Violation) || lost.Signature != "acked entry is absent" || lost.Checker != "log" || lost.Count != 20 {
		t.Errorf("the largest group: %+v", lost)
	}
	if lost.Seed != 100 || lost.Events != 9900 || lost.Text != "entry 100" {
		t.Errorf("not the shortest trial: %+v", lost)
	}
	if lost.Replay != "go run ./cmd/simrun replay 100 --scenario bad" {
		t.Errorf("replay: %s", lost.Replay)
	}
	if want := []uint64{5, 10, 15, 20, 25, 30, 35, 40, 45, 50}; !slices.Equal(lost.Seeds, want) {
		t.Errorf("seeds %v, want %v", lost.Seeds, want)
	}
	if stalled.Kind != Kind(trial.Stalled) || stalled.Signature != "stalled" || stalled.Count != 12 || stalled.Seed != 21 {
		t.Errorf("the other group: %+v", stalled)
	}
	// 5 by their number, 3 of each kind because they failed; seed 21 is both.
	if s.DeterminismChecked < 8 || s.DeterminismChecked > 11 || s.Nondeterministic != 0 {
		t.Errorf("%d ran twice, %d differed", s.DeterminismChecked, s.Nondeterministic)
	}
}

// TestSecondRunsHappenInAnotherProcess if there is one: this scenario's trace is its process id.
func TestSecondRunsHappenInAnotherProcess(t *testing.T) {
	o := options("elsewhere", 200)
	if s := conduct(t, o); s.DeterminismChecked != 10 || s.Nondeterministic != 10 {
		t.Errorf("two workers: of %d second runs, %d were elsewhere", s.DeterminismChecked, s.Nondeterministic)
	}
	o.Workers = 1
	if s := conduct(t, o); s.DeterminismChecked != 10 || s.Nondeterministic != 0 {
		t.Errorf("one worker: of %d second runs, %d were elsewhere", s.DeterminismChecked, s.Nondeterministic)
	}
}

// TestRunsOfASeedThatDifferAreBisected to the event, and come before all other failures.
func TestRunsOfASeedThatDifferAreBisected(t *testing.T) {
	o := options("forked", 20)
	for _, workers := range []int{0, 1} { // two processes start with the same count, and may agree
		o.Workers = workers
		s := conduct(t, o)
		g := onlyGroup(t, s)
		if s.Outcome != Broken || g.Kind != Nondeterminism || s.Nondeterministic != 1 || g.Signature != "two runs of forked differ in their trace" {
			t.Fatalf("%d workers: %s, %+v", workers, s.Outcome, g)
		}
		if !strings.Contains(g.Divergence, "differ from event 30 on") || !strings.Contains(g.Divergence, ">") {
			t.Errorf("%d workers: divergence: %s", workers, g.Divergence)
		}
		if !strings.Contains(g.Text, "once:") || !strings.Contains(s.next(), "nondeterminism first") {
			t.Errorf("%d workers: %q, next: %q", workers, g.Text, s.next())
		}
	}
}

// TestAnUndecidedVerdictIsNondeterminism even if both traces are equal.
func TestAnUndecidedVerdictIsNondeterminism(t *testing.T) {
	o := options("undecided", 1)
	o.Workers = 0
	runs.Store(0) // the first run is good, the second is not
	s := conduct(t, o)
	if g := onlyGroup(t, s); g.Kind != Nondeterminism || g.Signature != "two runs of undecided differ in the verdict on them" {
		t.Errorf("%+v", g)
	}
}

// TestACanaryThatIsNotCaughtFailsTheCampaign: seeds 1 to 3 of this one do not fail.
func TestACanaryThatIsNotCaughtFailsTheCampaign(t *testing.T) {
	o := options("good", 10)
	for _, c := range []struct {
		canaries int64
		outcome  Outcome
		caught   int64
		note     string
	}{
		{0, Passed, 0, "no canary ran"},
		{3, Blind, 0, "canary not caught"},
		{4, Passed, 1, ""},
		{20, Passed, 5, ""},
	} {
		o.CanarySeeds = c.canaries
		s := conduct(t, o)
		if s.Outcome != c.outcome || s.CanaryCaught != (c.caught > 0) || s.Canaries[0] != (Canary{"canary", c.canaries, c.caught}) {
			t.Errorf("%d canaries: %s, %+v", c.canaries, s.Outcome, s.Canaries)
		}
		if (s.ExitCode() == ExitBroken) != (c.outcome == Blind) || s.Violations != 0 || s.Seeds != 10 {
			t.Errorf("%d canaries: exit code %d, %d violations, %d seeds", c.canaries, s.ExitCode(), s.Violations, s.Seeds)
		}
		if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "canary") {
			t.Errorf("%d canaries: notes %q", c.canaries, notes)
		}
	}
}

// TestACampaignThatMissesARareStateIsWeak if it is a default campaign with seeds enough; others only say so.
func TestACampaignThatMissesARareStateIsWeak(t *testing.T) {
	unreachable := func(seeds int64, names ...string) Options {
		o := options("", seeds)
		o.Scenarios, o.Workers = names, 0
		o.Catalogue.RequiredMarks = append(o.Catalogue.RequiredMarks, "fake.unreachable")
		return o
	}
	for _, c := range []struct {
		name    string
		options Options
		outcome Outcome
		note    string
	}{
		{"enough seeds", unreachable(300), Weak, "weak campaign, it never reached: fake.unreachable"},
		{"few seeds", unreachable(299), Passed, "not reached"},
		{"named scenario", unreachable(300, "good"), Passed, "not reached"},
		{"all reached", options("good", 300), Passed, ""},
	} {
		s := conduct(t, c.options)
		if s.Outcome != c.outcome || (s.ExitCode() == ExitBroken) != (c.outcome == Weak) {
			t.Errorf("%s: %s, exit code %d", c.name, s.Outcome, s.ExitCode())
		}
		if reached := c.note == ""; reached != (len(s.MarksMissing) == 0) || !strings.Contains(strings.Join(s.Notes, "\n"), c.note) {
			t.Errorf("%s: missing %v, notes %q", c.name, s.MarksMissing, s.Notes)
		}
	}
}

// TestTimeEndsACampaign without a number of seeds, and a campaign too short for one seed does not pass.
func TestTimeEndsACampaign(t *testing.T) {
	o := options("slow", 0)
	o.Time = 600 * time.Millisecond
	s := conduct(t, o)
	if s.Outcome != Passed || s.Seeds < 2 || s.WallSeconds < 0.6 || s.WallSeconds > 5 {
		t.Errorf("%s: %d seeds in %v s", s.Outcome, s.Seeds, s.WallSeconds)
	}
	o.Time = time.Nanosecond
	if s := conduct(t, o); s.Outcome != Weak || s.Seeds != 0 || s.ExitCode() != ExitBroken {
		t.Errorf("no time at all: %s with %d seeds", s.Outcome, s.Seeds)
	}
}

// TestAnInterruptKeepsWhatWasFinished and counts nothing that was not; the processes are gone.
func TestAnInterruptKeepsWhatWasFinished(t *testing.T) {
	for _, c := range []struct {
		scenario string
		workers  int
		outcome  Outcome
		code     int
	}{
		{"slow", 2, Interrupted, ExitEnvironment}, {"slow", 0, Interrupted, ExitEnvironment}, {"bad", 2, Broken, ExitBroken},
	} {
		ctx, interrupt := context.WithCancel(context.Background())
		o := options(c.scenario, 1_000_000)
		o.Workers, o.CanarySeeds = c.workers, 3 // too few to be caught: not held against it
		told := int64(0)
		o.Watch = func(p Progress) {
			if told = p.Seeds; told == 40 {
				interrupt()
			}
		}
		s, err := Run(ctx, o)
		interrupt()
		if err != nil || s.Outcome != c.outcome || s.ExitCode() != c.code || !s.Interrupted {
			t.Errorf("%s: %v, %s, exit code %d", c.scenario, err, s.Outcome, s.ExitCode())
			continue
		}
		if s.Seeds < 40 || s.Seeds != told || s.Verdicts[string(Hang)]+s.Verdicts[string(Died)] != 0 {
			t.Errorf("%s: %d seeds, %d told, verdicts %v", c.scenario, s.Seeds, told, s.Verdicts)
		}
	}
}

// TestOptionsThatMakeNoSenseAreRefused before anything runs.
func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"no end":           func(o *Options) { o.Seeds = 0 },
		"negative seeds":   func(o *Options) { o.Seeds = -1 },
		"past the last":    func(o *Options) { o.Seed = math.MaxUint64 - 5 },
		"negative time":    func(o *Options) { o.Time = -1 },
		"negative workers": func(o *Options) { o.Workers = -1 },
		"no command":       func(o *Options) { o.WorkerCommand = nil },
		"unknown scenario": func(o *Options) { o.Scenarios = []string{"godo"} },
		"a canary":         func(o *Options) { o.Scenarios = []string{"canary"} },
		"twice":            func(o *Options) { o.Scenarios = []string{"good", "good"} },
	} {
		o := options("good", 10)
		change(&o)
		if s, err := Run(context.Background(), o); !errors.Is(err, ErrUsage) || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAWorkerThatCannotStartIsTheEnvironment and not a failure of a seed.
func TestAWorkerThatCannotStartIsTheEnvironment(t *testing.T) {
	for _, command := range [][]string{{"/nonexistent/worker"}, {os.Args[0], "-test.run=^$"}} {
		o := options("good", 10)
		o.WorkerCommand = command
		s, err := Run(context.Background(), o)
		if !errors.Is(err, ErrEnvironment) || s == nil || s.Violations != 0 || s.Seeds != 0 || s.Outcome != Interrupted {
			t.Errorf("%v: %v, %+v", command, err, s)
		}
	}
}
