package defects

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"lakebed/trial"
)

// checkers are all names that a finding may carry.
var checkers = []string{
	"acked", "ack-order", "content", "end", "length", "confirmed", "beyond", "divergence", "metadata", "ensemble", "quorum", "log",
	"bookie", "invented", "fence", "negative", "vanished", "last-entry", "range", "list", "deleted", "durability",
	checkerRestart, checkerWorld, checkerLiveness, checkerMemory, checkerScrub,
	"foreign", "queue-order", "place", "lost", "prefix", "visible", "duplicate",
	checkerEjection, checkerHealed, "segments-content", "segments-invented", "segments-lost", "segments-order", "segments-time", "segments-trimmed",
	checkerAgreement, checkerRetention, checkerWritable, "foreign", "queue-order", "place", "lost", "prefix", "visible", "duplicate", "time", "left-out", "trimmed",
}

// TestEveryEntrySaysWhatItIs: an id to type, an origin, a scenario of its own right, checkers that exist, places.
func TestEveryEntrySaysWhatItIs(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, d := range All() {
		if !id.MatchString(d.ID) || seen[d.ID] {
			t.Errorf("id %q is no id, or is there twice", d.ID)
		}
		seen[d.ID] = true
		if d.Title == "" || d.Origin == "" || d.Mechanism == "" || d.UnitTest == "" || len(d.Edits) == 0 || len(d.Checkers) == 0 {
			t.Errorf("%s is incomplete: %+v", d.ID, d)
		}
		if s, err := trial.Find(d.Scenario); err != nil || s.Canary || s.Weight == 0 {
			t.Errorf("%s: scenario %q is not part of ordinary campaigns: %v", d.ID, d.Scenario, err)
		}
		for _, c := range d.Checkers {
			if !slices.Contains(checkers, c) {
				t.Errorf("%s: there is no checker %q", d.ID, c)
			}
		}
		for _, e := range d.Edits {
			if !strings.HasPrefix(e.File, "engine/") {
				t.Errorf("%s is planted in %s: defects are mistakes of the engine", d.ID, e.File)
			}
		}
	}
	if len(seen) < 120 {
		t.Errorf("only %d defects", len(seen))
	}
}

// TestFindKnowsAllAndNoOthers.
func TestFindKnowsAllAndNoOthers(t *testing.T) {
	for _, d := range All() {
		if found, err := Find(d.ID); err != nil || found.Title != d.Title {
			t.Errorf("%s: %+v, %v", d.ID, found, err)
		}
	}
	if _, err := Find("no-such-defect"); err == nil {
		t.Error("found what is not there")
	}
}
