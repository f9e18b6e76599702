package campaign

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/faults"
	"lakebed/sim"
	"lakebed/trial"
)

// init keeps the first thread of a worker for its main task, so that a trial that never waits runs on another one: the
// signal that asks for stacks comes to the first.
func init() {
	if isWorker() {
		runtime.LockOSThread()
	}
}

func isWorker() bool { return len(os.Args) > 1 && os.Args[1] == "worker" }

// TestMain lets the test program be its own worker, as simrun is.
func TestMain(m *testing.M) {
	if isWorker() {
		if err := ServeProcess(fakeCatalogue()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// fakeCatalogue has a scenario for each thing that may happen to a campaign. Two have a weight: the default mix is well
// behaved.
func fakeCatalogue() Catalogue {
	return Catalogue{
		Run: runFake,
		Scenarios: []trial.Scenario{
			{Name: "good", Weight: 3}, {Name: "fine", Weight: 1},
			{Name: "bad"}, {Name: "elsewhere"}, {Name: "forked"}, {Name: "undecided"},
			{Name: "asleep"}, {Name: "busy"}, {Name: "mortal"}, {Name: "mute"}, {Name: "slow"}, {Name: "talkative"}, {Name: "lavish"},
			{Name: "canary", Canary: true},
		},
		RequiredMarks: []string{"fake.rare", "fake.common"},
	}
}

// runs counts the trials of this process.
var runs atomic.Int64

// runFake behaves as the name of the scenario says.
func runFake(o trial.Options) trial.Result {
	run := runs.Add(1)
	r := trial.Result{
		Scenario: o.Scenario.Name, Seed: o.Seed, Verdict: trial.OK, Hash: scatter(o.Seed), Events: 1000 + int64(o.Seed%10),
		Image: o.Seed, Simulated: time.Second, Operations: 5,
		Answers: map[string]int64{"add ok": 4, "add unknown": 1},
		Effects: map[string]int64{"power-cut": 2, "reset": 1},
		Marks:   map[string]int64{"fake.common": 3},
	}
	if o.Seed%50 == 7 {
		r.Marks["fake.rare"] = 1
	}
	switch o.Scenario.Name {
	case "bad":
		judgeBad(&r)
	case "elsewhere":
		r.Hash = uint64(os.Getpid())
	case "forked":
		r.Hash, r.Events = forkedWorld(o, run)
	case "undecided":
		if run%2 == 0 {
			r.Verdict = trial.Violation
		}
	case "asleep", "busy", "mortal":
		if o.Seed%10 == 5 {
			perish(o.Scenario.Name)
		}
	case "mute":
		r.Marks = nil
	case "slow":
		time.Sleep(20 * time.Millisecond)
	case "canary":
		r.Verdict = trial.Stalled // which is not what the checkers are there for
		if o.Seed%4 == 0 {
			r.Verdict = trial.Violation
		}
	case "talkative":
		fmt.Println(`{"result":{"seed":0}}`)
	case "lavish":
		if runtime.GOMAXPROCS(0) != 1 || os.Getenv("GOGC") != "400" {
			r.Verdict = trial.Violation
		}
	}
	return r
}

// judgeBad breaks two promises, one of them often.
func judgeBad(r *trial.Result) {
	switch {
	case r.Seed%5 == 0:
		r.Verdict = trial.Violation
		r.Events = 10000 - int64(r.Seed) // the last one is the shortest
		r.Plan.Elements = []faults.Element{{ID: "cut-1", Kind: faults.PowerCut, Target: faults.Target{Node: "bookie"}}}
		r.Findings = []trial.Finding{
			{Checker: "log", Signature: "acked entry is absent", Text: fmt.Sprintf("entry %d", r.Seed)},
			{Checker: "marks", Signature: "and so on", Text: "a consequence"},
		}
	case r.Seed%7 == 0:
		r.Verdict = trial.Stalled
	}
}

// forkedWorld is a world that takes another way each time: its callback number 30 comes at a time that no seed decides.
func forkedWorld(o trial.Options, run int64) (hash uint64, events int64) {
	w := sim.New(sim.Config{Seed: o.Seed, Observer: o.Observer})
	for i := range 60 {
		at := time.Duration(i) * time.Millisecond
		if i == 30 {
			at += time.Duration(run%900+1) * time.Microsecond // before the next one
		}
		w.At(at, func() {})
	}
	verdict := w.Run(time.Minute)
	return verdict.Hash, verdict.Events
}

// perish does not answer.
func perish(how string) {
	switch how {
	case "asleep":
		time.Sleep(time.Hour)
	case "busy":
		go spin() // on a thread that the signal does not come to
		time.Sleep(time.Hour)
	case "mortal":
		go func() { panic("the disk is on fire") }()
		time.Sleep(time.Hour)
	}
}

// spin never waits.
func spin() {
	for turns := 0; ; turns++ {
		if turns < 0 {
			return
		}
	}
}

// options is a campaign of so many seeds of one scenario by two workers, with no canary.
func options(scenario string, seeds int64) Options {
	return Options{
		Catalogue: fakeCatalogue(), Scenarios: []string{scenario}, Seed: 1, Seeds: seeds,
		Workers: 2, WorkerCommand: []string{os.Args[0], "worker"}, HangAfter: 20 * time.Second,
	}
}

// conduct runs a campaign that must not fail for reasons of the machine.
func conduct(t *testing.T, o Options) *Summary {
	t.Helper()
	s, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onlyGroup returns the one group of failures there must be.
func onlyGroup(t *testing.T, s *Summary) Group {
	t.Helper()
	if len(s.Failures) != 1 {
		t.Fatalf("%d groups of failures: %+v", len(s.Failures), s.Failures)
	}
	return s.Failures[0]
}
