package trial

import (
	"os"
	"strconv"
	"testing"
)

func TestScenarioFilesAreValid(t *testing.T) {
	if len(Scenarios()) == 0 {
		t.Fatal("no scenarios")
	}
}

func TestTheSameSeedGivesTheSameResult(t *testing.T) {
	s, err := Find("bookie")
	if err != nil {
		t.Fatal(err)
	}
	seeds := 20
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_SEEDS")); err == nil {
		seeds = n
	}
	total := map[string]int64{}
	for seed := range uint64(seeds) {
		a := Run(Options{Scenario: s, Seed: seed})
		if a.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, a.Verdict, a.Findings)
		}
		for k, v := range a.Effects {
			total["effect "+k] += v
		}
		for k, v := range a.Marks {
			total["mark "+k] += v
		}
		total["operations"] += a.Operations
		total["events"] += a.Events
		if seed < 5 {
			b := Run(Options{Scenario: s, Seed: seed})
			if a.Hash != b.Hash || a.Events != b.Events || a.Image != b.Image {
				t.Errorf("seed %d: %x/%d/%x and %x/%d/%x", seed, a.Hash, a.Events, a.Image, b.Hash, b.Events, b.Image)
			}
		}
	}
	t.Logf("%v", total)
}
