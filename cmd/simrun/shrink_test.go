package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lakebed/trial/campaign"
)

// TestShrinkWritesACaseThatReplaysAlike: the small trial is in the named file, replays in processes of their own fail in
// the same way, and the table says how to see it; --json tells the same.
func TestShrinkWritesACaseThatReplaysAlike(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, err := simrun(t, "shrink", "3", "--scenario", "crumbling", "--replays", "2", "--out", "small.json")
	for _, want := range []string{"0 faults, 0 client operations", "entry 7 is lost", "2 of 2 replays", "simrun replay small.json"} {
		if !strings.Contains(out, want) {
			t.Errorf("output without %q:\n%s", want, out)
		}
	}
	if code != campaign.ExitOK {
		t.Errorf("exit code %d: %s", code, err)
	}
	c, failed := campaign.ReadCase("small.json")
	if failed != nil || c.Result.Seed != 3 || c.Reduction == nil {
		t.Errorf("%+v, %v", c, failed)
	}
	code, out, err = simrun(t, "shrink", "3", "--scenario", "crumbling", "--replays", "1", "--json")
	var told map[string]any
	if failed := json.Unmarshal([]byte(out), &told); failed != nil || code != campaign.ExitOK {
		t.Fatalf("exit code %d, %v: %s%s", code, failed, out, err)
	}
	if told["ending"] != "minimal" || told["replays_alike"] != 1.0 || told["file"] != "shrunk.json" {
		t.Errorf("%v", told)
	}
}
