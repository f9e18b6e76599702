package trial

import "testing"

// TestStoresOfOneNodeTellWhatTheirMediaLost: with bytes that rot, both stores keep their promises about what they give, and say
// of the rest that it is lost. A trial that destroys nothing, or in which nobody is told, proves nothing.
func TestStoresOfOneNodeTellWhatTheirMediaLost(t *testing.T) {
	for _, c := range []struct {
		scenario string
		told     []string
	}{
		{"segments-damage", []string{"read error", "seek error"}},
		{"commitlog-damage", []string{"pull error", "pull told of damage", "search by time error"}},
	} {
		s, err := Find(c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		rot, told := int64(0), int64(0)
		for seed := range uint64(seedCount(t, 6)) {
			r := Run(Options{Scenario: s, Seed: seed})
			if r.Failed() {
				t.Errorf("%s, seed %d: %s: %+v", s.Name, seed, r.Verdict, r.Findings)
			}
			rot += r.Effects["bit-rot"] + r.Effects["latent-error"]
			for _, answer := range c.told {
				told += r.Answers[answer]
			}
		}
		if rot == 0 || told == 0 {
			t.Errorf("%s: %d places were destroyed, and %d answers told of it", s.Name, rot, told)
		}
	}
}
