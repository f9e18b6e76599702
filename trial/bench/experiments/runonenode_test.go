package experiments

import "testing"

// TestGrowthRuns: both stores, two sizes, and a start from an image of each.
func TestGrowthRuns(t *testing.T) {
	r := quickly(t, "X-17", Program{})
	for _, kind := range growthKinds() {
		if value(t, r, startCell(kind), figureStart) <= 0 {
			t.Errorf("no start of %s", kind)
		}
	}
}

func TestPartitionsRun(t *testing.T) {
	r := quickly(t, "X-26", Program{})
	if len(r.Plots) != 1 || len(r.Plots[0].Lines) != 3 {
		t.Errorf("%d plots", len(r.Plots))
	}
}

func TestPoliciesRun(t *testing.T) { quickly(t, "X-31", Program{}) }

func TestLayoutsRun(t *testing.T) {
	r := quickly(t, "X-53", Program{})
	if value(t, r, layoutCell(logPerLedger, 10), figureLogs) != 10 {
		t.Error("ten ledgers have not ten logs")
	}
}
