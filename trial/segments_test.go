package trial

import (
	"reflect"
	"strings"
	"testing"
)

// TestSegmentLogsKeepTheirPromises in some worlds, each the same when it is run again; and the canary, which never syncs
// and promises that it does, is caught.
func TestSegmentLogsKeepTheirPromises(t *testing.T) {
	s, err := Find("segments")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(seedCount(t, 15)) {
		a := Run(Options{Scenario: s, Seed: seed})
		if a.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, a.Verdict, a.Findings)
		}
		if a.Operations < 50 {
			t.Errorf("seed %d: only %d operations", seed, a.Operations)
		}
		if seed >= 3 {
			continue
		}
		if b := Run(Options{Scenario: s, Seed: seed, Plan: &a.Plan}); a.Hash != b.Hash || a.Events != b.Events || a.Image != b.Image {
			t.Errorf("seed %d: %x/%d/%x and, by its plan, %x/%d/%x", seed, a.Hash, a.Events, a.Image, b.Hash, b.Events, b.Image)
		}
	}
	canary, err := Find("segments-canary")
	if err != nil {
		t.Fatal(err)
	}
	caught := 0
	for seed := range uint64(5) {
		r := Run(Options{Scenario: canary, Seed: seed})
		if r.Verdict == Violation && strings.HasPrefix(r.Findings[0].Checker, "segments-") {
			caught++
		}
	}
	if caught == 0 {
		t.Error("no canary was caught")
	}
}

// TestSegmentScenariosAreChecked: what makes no sense is refused with the scenario's name.
func TestSegmentScenariosAreChecked(t *testing.T) {
	good := "name = \"s\"\nabout = \"a\"\nwork_millis = 1\nclients = 1\npace_micros = 1\n"
	section := "[segments]\nvolumes_max = 1\npartitions_max = 1\n[segments.work]\nappend = 1\n"
	if _, err := ParseScenario([]byte(good + section)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no volume":         good + strings.Replace(section, "volumes_max = 1", "volumes_max = 0", 1),
		"no partition":      good + strings.Replace(section, "partitions_max = 1", "partitions_max = -1", 1),
		"nobody appends":    good + strings.Replace(section, "append = 1", "read = 1", 1),
		"a bookie's work":   good + section + "[work]\nadd = 1\n",
		"a negative weight": good + section + "seek = -1\n",
		"no such placement": good + strings.Replace(section, "[segments]", "[segments]\nplacement = \"random\"", 1),
		"an unknown key":    good + section + "write = 1\n",
	} {
		if _, err := ParseScenario([]byte(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestAFixedPlacementChangesNothingElse: who chooses the partition is as the scenario says in every draw, and the rest of the
// draw is what it is without.
func TestAFixedPlacementChangesNothingElse(t *testing.T) {
	s, err := Find("segments")
	if err != nil {
		t.Fatal(err)
	}
	draw := func(placement string, seed uint64) segmentsDraw {
		segments := *s.Segments
		segments.Placement = placement
		fixed := s
		fixed.Segments = &segments
		o := Options{Scenario: fixed, Seed: seed}
		return drawSegments(&fixed, o.draw("segments"))
	}
	for seed := range uint64(20) {
		free := draw("", seed)
		for placement, oneIn := range map[string]int{PlaceNamed: 1, PlaceBalanced: 0} {
			fixed := draw(placement, seed)
			if fixed.mix.NamedOneIn != oneIn {
				t.Errorf("seed %d, %s: one append of %d names its partition", seed, placement, fixed.mix.NamedOneIn)
			}
			fixed.mix.NamedOneIn = free.mix.NamedOneIn
			if !reflect.DeepEqual(fixed, free) {
				t.Errorf("seed %d, %s: %+v, without %+v", seed, placement, fixed, free)
			}
		}
	}
}
