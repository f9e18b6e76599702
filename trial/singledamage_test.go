package trial

import (
	"testing"

	"lakebed/engine/seglog/partition"
)

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

// TestASegmentLogLivesWithDisksThatAreFull: what is refused for lack of room is not there, what is there is read, also after a start
// on a full disk, which has no room to copy the newest log; and when there is room again messages are taken.
func TestASegmentLogLivesWithDisksThatAreFull(t *testing.T) {
	s, err := Find("segments-full")
	if err != nil {
		t.Fatal(err)
	}
	full, kept := int64(0), int64(0)
	for seed := range uint64(seedCount(t, 14)) {
		r := Run(Options{Scenario: s, Seed: seed})
		if r.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, r.Verdict, r.Findings)
		}
		full += r.Effects["no-space"]
		kept += r.Marks[string(partition.PointKeptInPlace)]
	}
	if full == 0 || kept == 0 {
		t.Errorf("%d writes found no room, %d logs were kept in place for that", full, kept)
	}
}
