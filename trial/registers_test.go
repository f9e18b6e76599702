package trial

import (
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/metadata/service"
)

// TestTheMetadataServerKeepsItsPromises in some worlds, each the same when it is run again by its plan. They meet sessions that
// end, that come back on another connection, and answers that are lost; no search for an explanation is given up.
func TestTheMetadataServerKeepsItsPromises(t *testing.T) {
	s, err := Find("metadata-service")
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]int64{}
	for seed := range uint64(seedCount(t, 30)) {
		a := Run(Options{Scenario: s, Seed: seed})
		if a.Failed() {
			t.Errorf("seed %d: %s: %+v", seed, a.Verdict, a.Findings)
		}
		if a.Operations < 50 {
			t.Errorf("seed %d: only %d operations", seed, a.Operations)
		}
		for name, n := range a.Marks {
			marks[name] += n
		}
		for i := range a.Plan.Elements {
			if endsServer(&a.Plan.Elements[i]) {
				t.Errorf("seed %d ends the server: %+v", seed, a.Plan.Elements[i])
			}
		}
		if seed >= 3 {
			continue
		}
		if b := Run(Options{Scenario: s, Seed: seed, Plan: &a.Plan}); a.Hash != b.Hash || a.Events != b.Events {
			t.Errorf("seed %d: %x/%d and, by its plan, %x/%d", seed, a.Hash, a.Events, b.Hash, b.Events)
		}
	}
	for _, p := range []string{string(service.PointExpired), string(service.PointMoved), string(service.PointNewSession), string(service.PointLost)} {
		if marks[p] == 0 {
			t.Errorf("%s was not reached", p)
		}
	}
	if marks[MarkUndecided] > 0 {
		t.Errorf("%d registers were not judged", marks[MarkUndecided])
	}
}

// TestRegisterScenariosAreChecked: what makes no sense is refused with the scenario's name.
func TestRegisterScenariosAreChecked(t *testing.T) {
	good := "name = \"s\"\nabout = \"a\"\nwork_millis = 1\nclients = 1\npace_micros = 1\n"
	section := "[registers]\nkeys_max = 1\n[registers.work]\ncreate = 1\nget = 1\n"
	if _, err := ParseScenario([]byte(good + section)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no key":            good + strings.Replace(section, "keys_max = 1", "keys_max = 0", 1),
		"nobody creates":    good + strings.Replace(section, "create = 1", "put = 1", 1),
		"a negative weight": good + section + "sync = -1\n",
		"a bookie's work":   good + section + "[work]\nadd = 1\n",
		"damage":            good + "damage = true\n" + section,
	} {
		if _, err := ParseScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), "scenario s") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
