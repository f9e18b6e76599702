package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lakebed/trial/bench/metamorphic"
	"lakebed/trial/campaign"
)

// TestRelationsAnswerByTheirExitCode, with a table for readers and one JSON object for programs.
func TestRelationsAnswerByTheirExitCode(t *testing.T) {
	code, out, problems := simrun(t, "metamorphic", "striped", "--seed", "2", "--seeds", "1", "--real", "0")
	if code != campaign.ExitOK || !strings.Contains(out, "2 comparisons: every script ended in one state") || !strings.Contains(problems, "simulated, seed 2") {
		t.Errorf("exit code %d, %q, %q", code, out, problems)
	}
	code, out, _ = simrun(t, "metamorphic", "mac", "--seeds", "1", "--real", "0", "--json")
	var r metamorphic.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != campaign.ExitOK || len(r.Relations) != 2 || r.Relations[1].Simulated != 1 {
		t.Errorf("exit code %d, %v, %q", code, err, out)
	}
	for arguments, reason := range map[string]string{
		"stripes":            "no relation is called",
		"--seeds 0 --real 0": "nor both zero",
		"--seeds -1":         "must not be negative",
		"--sed 1":            "did you mean --seed",
	} {
		code, out, problems := simrun(t, append([]string{"metamorphic"}, strings.Fields(arguments)...)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(problems, reason) {
			t.Errorf("%s: exit code %d, %q, %q", arguments, code, out, problems)
		}
	}
	code, _, problems = simrun(t, "metamorphic", "mac", "--seeds", "0", "--real", "1", "--dir", "/nowhere/at/all")
	if code != campaign.ExitEnvironment || !strings.Contains(problems, "/nowhere/at/all") {
		t.Errorf("exit code %d, %q", code, problems)
	}
}

// TestTheHelpOfRelationsTeaches what each of them changes.
func TestTheHelpOfRelationsTeaches(t *testing.T) {
	code, out, _ := simrun(t, "metamorphic", "--help")
	for _, r := range metamorphic.All() {
		if code != campaign.ExitOK || !strings.Contains(out, string(r.Name)) || !strings.Contains(out, r.Change) {
			t.Errorf("exit code %d, and %s is missing", code, r.Name)
		}
	}
}
