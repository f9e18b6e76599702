package campaign

import (
	"path/filepath"
	"testing"

	"lakebed/trial"
)

func realCatalogue() Catalogue {
	return Catalogue{Run: trial.Run, Scenarios: trial.Scenarios(), RequiredMarks: trial.RequiredMarks()}
}

// TestACaseOfARealTrialReplaysEventByEvent: the plan goes into a file and comes back, and the world takes the same way
// as when it drew the plan itself. Canaries serve as trials that fail.
func TestACaseOfARealTrialReplaysEventByEvent(t *testing.T) {
	canaries := realCatalogue().canaries()
	if len(canaries) == 0 {
		t.Fatal("the catalogue has no canary")
	}
	failed := 0
	for seed := uint64(1); seed <= 6; seed++ {
		result := trial.Run(trial.Options{Scenario: canaries[0], Seed: seed})
		if !result.Failed() {
			continue
		}
		failed++
		path := filepath.Join(t.TempDir(), "case.json")
		if err := WriteCase(path, Case{Kind: Kind(result.Verdict), Result: result}); err != nil {
			t.Fatal(err)
		}
		r, err := Replay(ReplayOptions{Catalogue: realCatalogue(), Target: path})
		if err != nil {
			t.Fatal(err)
		}
		if r.TraceHash != hexHash(result.Hash) || r.Image != hexHash(result.Image) || r.Verdict != result.Verdict || r.Recorded != r.TraceHash {
			t.Errorf("seed %d: trace %s, recorded %s; %s, recorded %s", seed, r.TraceHash, r.Recorded, r.Verdict, result.Verdict)
		}
	}
	if failed == 0 {
		t.Error("no canary failed: nothing was compared")
	}
}

// TestARealCampaignSeesItsCanary: from scenario files to a verdict, in one process.
func TestARealCampaignSeesItsCanary(t *testing.T) {
	s := conduct(t, Options{Catalogue: realCatalogue(), Seed: 1, Seeds: 4, CanarySeeds: 6})
	if s.Seeds != 4 || s.Events == 0 || s.ClientOperations == 0 || !s.CanaryCaught || s.DeterminismChecked == 0 || s.Nondeterministic != 0 {
		t.Errorf("%+v", s)
	}
}
