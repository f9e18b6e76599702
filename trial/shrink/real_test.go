package shrink_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"lakebed/trial"
	"lakebed/trial/shrink"
)

// failing is the first seed of a scenario that fails.
func failing(t *testing.T, name string) trial.Options {
	t.Helper()
	s, err := trial.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 40; seed++ {
		if r := trial.Run(trial.Options{Scenario: s, Seed: seed}); r.Failed() {
			return trial.Options{Scenario: s, Seed: seed}
		}
	}
	t.Fatalf("no seed of %s fails", name)
	return trial.Options{}
}

// TestRealFailuresBecomeSmall: a canary's failing trial, of each store that there is, becomes a third of itself or less
// within a small budget of tries, fails in the same way when it is run again, and again with the same trace.
func TestRealFailuresBecomeSmall(t *testing.T) {
	for _, name := range []string{"canary", "cluster-canary", "segments-canary", "commitlog-canary"} {
		o := failing(t, name)
		report, err := shrink.Run(t.Context(), shrink.Options{Trial: o, Run: trial.Run, Tries: 160, Budget: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, seed %d: %+v -> %+v, %s, %d tries, %.1f s", name, o.Seed, report.Before, report.After, report.Ending, report.Tries, report.Seconds)
		if report.After.Operations*3 > report.Before.Operations || report.After.Faults > report.Before.Faults || report.Tries > 160 {
			t.Errorf("%s, seed %d: %+v is left of %+v after %d tries", name, o.Seed, report.After, report.Before, report.Tries)
		}
		again := trial.Run(report.Trial)
		same := slices.ContainsFunc(again.Findings, func(f trial.Finding) bool {
			return f.Checker == report.Checker && f.Signature == report.Signature
		})
		if !same || again.Hash != report.Result.Hash {
			t.Errorf("%s, seed %d: run again it gives %+v, trace %x and not %x", name, o.Seed, again.Findings, again.Hash, report.Result.Hash)
		}
	}
}

// TestTheSameTrialBecomesTheSame: with a bound on tries, and none on time that matters, shrinking is deterministic.
func TestTheSameTrialBecomesTheSame(t *testing.T) {
	o := failing(t, "canary")
	var first *shrink.Report
	for range 2 {
		report, err := shrink.Run(t.Context(), shrink.Options{Trial: o, Run: trial.Run, Tries: 100, Budget: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = report
		} else if report.Result.Hash != first.Result.Hash || report.Tries != first.Tries {
			t.Errorf("%+v in %d tries, and %+v in %d", first.After, first.Tries, report.After, report.Tries)
		}
	}
}

// TestATrialThatPassesIsNotShrunk, nor one that fails in another way than is asked for.
func TestATrialThatPassesIsNotShrunk(t *testing.T) {
	s, err := trial.Find("bookie")
	if err != nil {
		t.Fatal(err)
	}
	o := shrink.Options{Trial: trial.Options{Scenario: s, Seed: 1}, Run: trial.Run}
	if _, err := shrink.Run(t.Context(), o); !errors.Is(err, shrink.ErrPasses) {
		t.Errorf("a trial that passes: %v", err)
	}
	o = shrink.Options{Trial: failing(t, "canary"), Run: trial.Run, Checkers: []string{"memory"}}
	if _, err := shrink.Run(t.Context(), o); !errors.Is(err, shrink.ErrPasses) {
		t.Errorf("a trial that fails otherwise: %v", err)
	}
}

// TestAnInterruptKeepsTheSmallestSoFar: when the context ends, even while a trial hangs, what was reached is reported.
func TestAnInterruptKeepsTheSmallestSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	runs, hung := 0, make(chan struct{})
	defer close(hung)
	run := func(o trial.Options) trial.Result {
		if runs++; runs == 20 {
			cancel()
			<-hung
		}
		return trial.Run(o)
	}
	o := failing(t, "canary")
	report, err := shrink.Run(ctx, shrink.Options{Trial: o, Run: run})
	if err != nil {
		t.Fatal(err)
	}
	if report.Ending != shrink.Interrupted || report.After.Operations >= report.Before.Operations || report.Trial.Plan == nil {
		t.Errorf("%s: %+v of %+v", report.Ending, report.After, report.Before)
	}
	if again := trial.Run(report.Trial); !again.Failed() {
		t.Error("the smallest so far passes")
	}
}
