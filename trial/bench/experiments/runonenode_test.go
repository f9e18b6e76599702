package experiments

import (
	"testing"
	"time"

	"lakebed/trial/bench/stores"
)

// TestGrowthRuns: both stores, two sizes, and a start from an image of each.
func TestGrowthRuns(t *testing.T) {
	r := quickly(t, "X-17", Program{})
	for _, kind := range growthKinds() {
		if value(t, r, startCell(kind), figureStart) <= 0 {
			t.Errorf("no start of %s", kind)
		}
	}
}

// TestPartitionsRun: rate, p99 and open files of appends, and both ways of reading, each with a line for each store.
func TestPartitionsRun(t *testing.T) {
	r := quickly(t, "X-26", Program{})
	if len(r.Plots) != 5 {
		t.Errorf("%d plots, not 5", len(r.Plots))
	}
	for _, plot := range r.Plots {
		if len(plot.Lines) != len(stores.Kinds()) {
			t.Errorf("%s has %d lines", plot.Title, len(plot.Lines))
		}
	}
	for _, kind := range stores.Kinds() {
		if value(t, r, partitionReadCell(kind, indexCold, 20), figureRestart) <= 0 {
			t.Errorf("no restart of %s", kind)
		}
		if groups := value(t, r, partitionCell(kind, stores.Group, 20), figureCommits); groups <= 0 || groups > 1 {
			t.Errorf("%s: %v groups a message", kind, groups)
		}
	}
}

// TestPoliciesRun: on the disk, where groups that wait for more do, and in worlds whose power is cut.
func TestPoliciesRun(t *testing.T) {
	r := quickly(t, "X-31", Program{})
	for _, kind := range stores.Kinds() {
		for _, policy := range stores.Policies() {
			lost := value(t, r, lossCell(kind, policy), figureLostAcked)
			if policy.Mode.Synced() && lost != 0 || policy.Mode == stores.Never && lost == 0 {
				t.Errorf("%s, %s: a power cut takes what was synced, or leaves what was not: %v", kind, policy, lost)
			}
			// Two groups begin that wait apart, and hold one append of each appender; the last round has one group more.
			rate, round := value(t, r, policyCell(kind, policy), figureRate), 50*time.Millisecond
			if wait := policy.Wait; wait > 0 && rate > policyAppenders*(1/wait.Seconds()+1/round.Seconds()) {
				t.Errorf("%s, %s: %v appends a second, although groups wait", kind, policy, rate)
			}
		}
	}
}

func TestLayoutsRun(t *testing.T) {
	r := quickly(t, "X-53", Program{})
	if value(t, r, layoutCell(logPerLedger, 10), figureLogs) != 10 {
		t.Error("ten ledgers have not ten logs")
	}
}
