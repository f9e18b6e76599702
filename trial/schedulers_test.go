package trial

import (
	"testing"

	"lakebed/sim"
)

// TestEverySchedulerHasItsShareOfSeeds: priorities starve a task for long, which uniform picks hardly ever do. A result says
// which scheduler its seed had.
func TestEverySchedulerHasItsShareOfSeeds(t *testing.T) {
	const seeds = 400
	counts := map[sim.Policy]int{}
	for seed := range uint64(seeds) {
		c := drawWorld(seed, sim.Stream(seed, "trial/world"))
		counts[c.Policy]++
		if c.Policy == sim.PCT && (c.PCTDepth < 1 || c.PCTSteps < 1000) {
			t.Errorf("seed %d: priorities change %d times in %d steps", seed, c.PCTDepth, c.PCTSteps)
		}
	}
	if counts[sim.PCT] < seeds/6 || counts[sim.Random] < seeds/3 || counts[sim.FIFO] < seeds/6 {
		t.Errorf("schedulers of %d seeds: %v", seeds, counts)
	}
	s, err := Find("starts")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		want := drawWorld(seed, sim.Stream(seed, "trial/world")).Policy.String()
		if got := Run(Options{Scenario: s, Seed: seed}).Scheduler; got != want {
			t.Errorf("seed %d had the scheduler %s, the result says %q", seed, want, got)
		}
	}
}
