package campaign

import (
	"errors"
	"strings"
	"testing"
)

// TestTheDefaultMixSharesSeedsByWeight: three to one, and none to scenarios without a weight.
func TestTheDefaultMixSharesSeedsByWeight(t *testing.T) {
	m, err := newMix(fakeCatalogue(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	share := map[string]int{}
	for seed := range uint64(10_000) {
		share[m.of(seed).Name]++
	}
	if len(share) != 2 || share["good"] < 7300 || share["good"] > 7700 {
		t.Errorf("shares: %v", share)
	}
}

// TestTheScenarioOfASeedIsTheSameInReplayAndCampaign, so that a seed alone names a trial.
func TestTheScenarioOfASeedIsTheSameInReplayAndCampaign(t *testing.T) {
	o := options("", 40)
	o.Scenarios = nil
	counted := conduct(t, o).Scenarios
	replayed := map[string]int64{}
	for seed := uint64(1); seed <= 40; seed++ {
		r, err := Replay(ReplayOptions{Catalogue: fakeCatalogue(), Target: "0x" + hexHash(seed)})
		if err != nil {
			t.Fatal(err)
		}
		replayed[r.Scenario]++
	}
	if replayed["good"] != counted["good"] || replayed["fine"] != counted["fine"] || counted["fine"] == 0 {
		t.Errorf("campaign %v, replay %v", counted, replayed)
	}
}

// TestAMistypedNameFindsItsNeighbour and one from another planet finds the list.
func TestAMistypedNameFindsItsNeighbour(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"sedes", "seeds"}, {"sede", "seed"}, {"tim", "time"}, {"worker", "workers"}, {"wrk", ""}, {"", ""}, {"xylophone", ""}, {"wor", "workers"},
	} {
		if got := Nearest(c.word, []string{"seed", "seeds", "time", "workers"}); got != c.want {
			t.Errorf("%q: got %q, want %q", c.word, got, c.want)
		}
	}
	_, err := fakeCatalogue().find("morta")
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "did you mean mortal?") {
		t.Error(err)
	}
	_, err = fakeCatalogue().find("xylophone")
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "good, fine, bad") {
		t.Error(err)
	}
}
