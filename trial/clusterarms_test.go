package trial

import (
	"testing"
)

// armSeedsMax is how many seeds an arm gets to show that it is wrong.
const armSeedsMax = 400

// firstFinding runs an arm of the scenario "cluster" until a checker reports, and counts what the others did until then.
func firstFinding(t *testing.T, rule, checker string) (seeds int, others map[string]int) {
	t.Helper()
	s, err := Find("cluster")
	if err != nil {
		t.Fatal(err)
	}
	arm := *s.Cluster
	arm.LACRule, s.Cluster = rule, &arm
	others = map[string]int{}
	for seed := range uint64(armSeedsMax) {
		result := Run(Options{Scenario: s, Seed: seed})
		for _, f := range result.Findings {
			if f.Checker == checker {
				t.Logf("%s: seed %d, %s: %s", rule, seed, f.Checker, f.Signature)
				return int(seed) + 1, others
			}
			others[f.Checker]++
		}
	}
	t.Errorf("%s: checker %s reported nothing on %d seeds, others %v", rule, checker, armSeedsMax, others)
	return armSeedsMax, others
}

// TestTheRuleOfSortedWatermarksIsRefutedInBothReadings (C-1): with the highest entry that each bookie has, entries are
// acknowledged that recovery does not find; with the entry up to which each has everything, the LAC of a striped ledger
// stands still, so that its writer waits for ever, and loses nothing.
func TestTheRuleOfSortedWatermarksIsRefutedInBothReadings(t *testing.T) {
	if testing.Short() {
		t.Skip("runs up to some hundred trials")
	}
	firstFinding(t, "highest", "acked")
	if seeds, others := firstFinding(t, "contiguous", "world"); len(others) > 0 {
		t.Errorf("the contiguous reading is not only stuck: %v on %d seeds", others, seeds)
	}
}
