package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

// realSimrun runs a command line on the real laboratory.
func realSimrun(t *testing.T, arguments string) map[string]any {
	t.Helper()
	t.Chdir(t.TempDir())
	var out, progress bytes.Buffer
	a := &app{
		catalogue: campaign.Catalogue{Run: trial.Run, Scenarios: trial.Scenarios(), RequiredMarks: trial.RequiredMarks()},
		out:       &out, err: &progress,
	}
	if code := a.run(t.Context(), strings.Fields(arguments)); code == campaign.ExitUsage || code == campaign.ExitEnvironment {
		t.Fatalf("%s: exit code %d: %s", arguments, code, progress.String())
	}
	var object map[string]any
	if err := json.Unmarshal(out.Bytes(), &object); err != nil {
		t.Fatalf("%s: %v: %s", arguments, err, out.String())
	}
	return object
}

// holdsKeys wants each key, with something in it.
func holdsKeys(t *testing.T, command string, object map[string]any, keys ...string) {
	t.Helper()
	for _, key := range keys {
		switch v := object[key].(type) {
		case nil:
			t.Errorf("%s: %s is missing", command, key)
		case map[string]any:
			if len(v) == 0 {
				t.Errorf("%s: %s is empty", command, key)
			}
		}
	}
}

// TestPromisedKeysOfClusters: programs find in a cluster's report what they find in that of one bookie, faults of both
// nodes and links among it, and every canary is asked.
func TestPromisedKeysOfClusters(t *testing.T) {
	const run = "campaign cluster cluster-rivals --seeds 6 --canary 1 --workers 0 --json"
	object := realSimrun(t, run)
	holdsKeys(t, run, object, "outcome", "seeds", "violations", "client_operations", "faults", "events", "simulated_seconds",
		"wall_seconds", "cpu_seconds", "distinct_hashes", "determinism_checked", "canary_caught", "marks", "marks_missing",
		"answers", "scenarios", "verdicts", "failures", "notes", "faults_per_seed", "operations_per_seed", "build")
	if object["violations"] != 0.0 || object["seeds"] != 6.0 || object["distinct_hashes"] != 6.0 {
		t.Errorf("%v violations, %v seeds, %v hashes", object["violations"], object["seeds"], object["distinct_hashes"])
	}
	faults, _ := object["faults"].(map[string]any)
	for _, kind := range []string{"restart", "reset", "slow-link"} {
		if faults[kind] == nil {
			t.Errorf("no fault of kind %s in %v", kind, faults)
		}
	}
	canaries, _ := object["canaries"].([]any)
	wanted := 0
	for _, s := range trial.Scenarios() {
		if s.Canary {
			wanted++
		}
	}
	if len(canaries) != wanted || wanted < 2 {
		t.Errorf("canaries: %v, want %d", canaries, wanted)
	}
	const again = "replay 1 --scenario cluster --json"
	object = realSimrun(t, again)
	holdsKeys(t, again, object, "scenario", "seed", "verdict", "trace_hash", "events", "image", "simulated_seconds",
		"wall_seconds", "client_operations", "findings", "answers", "faults", "marks", "build")
	if object["verdict"] != "ok" || len(object["trace_hash"].(string)) != 16 {
		t.Errorf("%v, %v", object["verdict"], object["trace_hash"])
	}
}
