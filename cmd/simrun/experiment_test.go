package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/reports"
	"lakebed/trial/bench/experiments"
	"lakebed/trial/campaign"
)

// TestExperimentsAreListedRunAndReported: a quick run writes a result only where it is told to, the list and the page
// then have it.
func TestExperimentsAreListedRunAndReported(t *testing.T) {
	if testing.Short() {
		t.Skip("runs some dozens of worlds")
	}
	t.Chdir(t.TempDir())
	if code, out, err := simrun(t, "experiment", "list"); code != campaign.ExitOK || !strings.Contains(out, "X-47") || !strings.Contains(out, "not run") || !strings.Contains(out, "clone of the repository") {
		t.Fatalf("exit code %d: %s %s", code, out, err)
	}
	code, out, err := simrun(t, "experiment", "run", "x-47", "--quick", "--json")
	var results []reports.Result
	if parsed := json.Unmarshal([]byte(out), &results); code != campaign.ExitOK || parsed != nil || len(results) != 1 || results[0].ID != "X-47" {
		t.Fatalf("exit code %d, %v: %s %s", code, parsed, out, err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("a quick run left %v, %v", left, err)
	}
	code, out, err = simrun(t, "experiment", "run", "X-47", "--quick", "--out", "kept")
	if code != campaign.ExitOK || !strings.Contains(out, "X-47") || !strings.Contains(err, "kept/X-47.json") {
		t.Fatalf("exit code %d: %s %s", code, out, err)
	}
	code, out, _ = simrun(t, "experiment", "show", "47", "--results", "kept")
	if code != campaign.ExitOK || !strings.HasPrefix(out, "# X-47: ") || !strings.Contains(out, "Refuted if") || !strings.Contains(out, "confirmed") && !strings.Contains(out, "**") {
		t.Errorf("exit code %d: %s", code, out)
	}
	code, out, _ = simrun(t, "experiment", "list", "--results", "kept", "--json")
	var listed []listedExperiment
	if parsed := json.Unmarshal([]byte(out), &listed); code != campaign.ExitOK || parsed != nil || len(listed) != len(experiments.Hypotheses()) {
		t.Fatalf("exit code %d, %v: %s", code, parsed, out)
	}
	for _, l := range listed {
		if (l.ID == "X-47") == (l.State == "not run") {
			t.Errorf("%s is %s", l.ID, l.State)
		}
	}
	if code, _, err := simrun(t, "experiment", "report", "--results", "kept", "--out", "page.md"); code != campaign.ExitOK {
		t.Fatalf("exit code %d: %s", code, err)
	}
	page, failed := os.ReadFile("page.md")
	if failed != nil || !strings.Contains(string(page), "## X-47: ") || !strings.Contains(string(page), "a quick run") {
		t.Errorf("%v: %s", failed, page)
	}
}

// TestExperimentsRefuseWhatMakesNoSense, and a shelf with something else on it.
func TestExperimentsRefuseWhatMakesNoSense(t *testing.T) {
	t.Chdir(t.TempDir())
	for arguments, reason := range map[string]string{
		"run":                    "--all",
		"run X-99":               "there are: X-07",
		"run --all X-45":         "give no numbers",
		"run X-45 --workers -1":  "more than nothing",
		"run X-45 --seed 0":      "more than nothing",
		"run X-45 --quik":        "did you mean --quick?",
		"list X-45":              "takes no arguments",
		"report --result x":      "did you mean --results?",
		"fingerprints one three": "a first seed",
	} {
		code, out, err := simrun(t, append([]string{"experiment"}, strings.Fields(arguments)...)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, reason) {
			t.Errorf("%s: exit code %d, %q, %q", arguments, code, out, err)
		}
	}
	if err := os.WriteFile(filepath.Join(".", "X-07.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, err := simrun(t, "experiment", "list", "--results", "."); code != campaign.ExitEnvironment || !strings.Contains(err, "X-07.json") {
		t.Errorf("exit code %d: %s", code, err)
	}
}
