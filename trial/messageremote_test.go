package trial

import (
	"os"
	"strconv"
	"testing"

	"lakebed/engine/commitlog/server"
)

// TestTrialsOfACommitLogOverTheNetworkAreEqualAndReachItsRareStates: the same seed gives the same result, no promise is broken,
// and together the seeds come to every state that the scenario exists for. LAKEBED_SEEDS says how many.
func TestTrialsOfACommitLogOverTheNetworkAreEqualAndReachItsRareStates(t *testing.T) {
	s, err := Find("commitlog-remote")
	if err != nil {
		t.Fatal(err)
	}
	seeds := 24
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_SEEDS")); err == nil {
		seeds = n
	}
	marks, answers := map[string]int64{}, map[string]int64{}
	for seed := range uint64(seeds) {
		a := Run(Options{Scenario: s, Seed: seed})
		if a.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, a.Verdict, a.Findings)
		}
		for name, n := range a.Marks {
			marks[name] += n
		}
		for name, n := range a.Answers {
			answers[name] += n
		}
		if seed < 3 {
			b := Run(Options{Scenario: s, Seed: seed, Plan: &a.Plan})
			if a.Hash != b.Hash || a.Events != b.Events || a.Image != b.Image {
				t.Errorf("seed %d: its own plan gives another trial", seed)
			}
		}
	}
	for _, point := range append(remoteMessageMarks(), server.PointTorn) {
		if marks[string(point)] == 0 {
			t.Errorf("no trial came to %s", point)
		}
	}
	t.Logf("%v\n%v", marks, answers)
}
