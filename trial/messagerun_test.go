package trial

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// TestTrialsOfACommitLogAreEqualAndReachItsRareStates: the same seed gives the same result, no promise is broken, and together
// the seeds come to every state that the scenario exists for. LAKEBED_SEEDS says how many.
func TestTrialsOfACommitLogAreEqualAndReachItsRareStates(t *testing.T) {
	s, err := Find("commitlog")
	if err != nil {
		t.Fatal(err)
	}
	seeds := 25
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_SEEDS")); err == nil {
		seeds = n
	}
	marks := map[string]int64{}
	for seed := range uint64(seeds) {
		a := Run(Options{Scenario: s, Seed: seed})
		if a.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, a.Verdict, a.Findings)
		}
		for name, n := range a.Marks {
			marks[name] += n
		}
		if seed < 4 {
			b := Run(Options{Scenario: s, Seed: seed})
			if a.Hash != b.Hash || a.Events != b.Events || a.Image != b.Image {
				t.Errorf("seed %d: %x/%d/%x and %x/%d/%x", seed, a.Hash, a.Events, a.Image, b.Hash, b.Events, b.Image)
			}
			c := Run(Options{Scenario: s, Seed: seed, Plan: &a.Plan})
			if c.Hash != a.Hash {
				t.Errorf("seed %d: its own plan gives another trial", seed)
			}
		}
	}
	for _, point := range slices.Concat(messageMarks(), []host.Point{
		series.PointRecycled, series.PointRemoved, consumequeue.PointRemoved, // a few trials in a hundred come there
		MarkEndedByItself, MarkReplayCut,
	}) {
		if marks[string(point)] == 0 {
			t.Errorf("no trial came to %s", point)
		}
	}
	t.Logf("%v", marks)
}

// TestTheCommitLogsCanaryDies: a store that never syncs breaks the promise of one that always does.
func TestTheCommitLogsCanaryDies(t *testing.T) {
	s, err := Find("commitlog-canary")
	if err != nil {
		t.Fatal(err)
	}
	caught := 0
	for seed := range uint64(10) {
		if r := Run(Options{Scenario: s, Seed: seed}); r.Verdict == Violation {
			caught++
		}
	}
	if caught < 5 {
		t.Errorf("caught in %d of 10 trials", caught)
	}
}
