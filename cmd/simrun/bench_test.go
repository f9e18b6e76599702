package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/reports"
	"lakebed/trial/bench"
	"lakebed/trial/campaign"
)

// benchWith runs the command alone and returns what it printed.
func benchWith(t *testing.T, arguments ...string) (string, *app, error) {
	t.Helper()
	var out, progress bytes.Buffer
	a := &app{out: &out, err: &progress}
	c := a.benchCommand()
	c.SilenceUsage, c.SilenceErrors = true, true
	c.SetArgs(arguments)
	err := c.ExecuteContext(t.Context())
	if progress.Len() > 0 {
		t.Errorf("progress was shown where there is no terminal: %q", progress.String())
	}
	return out.String(), a, err
}

// TestBenchPrintsTheSameFiguresForReadersAndPrograms, and what has changed between two runs.
func TestBenchPrintsTheSameFiguresForReadersAndPrograms(t *testing.T) {
	dir := t.TempDir()
	text, _, err := benchWith(t, "append", "--dir", dir, "--only", "journal/batches/16/100B", "--json")
	if err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(dir, "before.json")
	if err := os.WriteFile(before, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := reports.ReadResult(before)
	if err != nil || len(r.Groups) != 1 || r.Command != "bench append --only journal/batches/16/100B" {
		t.Fatalf("error %v, command %q, printed %s", err, r.Command, text)
	}
	profiles := filepath.Join(dir, "profiles")
	text, _, err = benchWith(t, "append", "--dir", dir, "--only", "journal/batches/16/100B", "--compare", before,
		"--profile", "cpu", "--profile-dir", profiles)
	if err != nil || !strings.Contains(text, "Appends to the journal") || !strings.Contains(text, "figures compared") ||
		!strings.Contains(text, "journal/batches/16/100B  by raw") {
		t.Errorf("error %v, printed:\n%s", err, text)
	}
	if info, err := os.Stat(filepath.Join(profiles, "cpu.pprof")); err != nil || info.Size() == 0 {
		t.Errorf("no profile: %v", err)
	}
}

// TestBenchRefusesWhatItDoesNotKnow as wrong use, before it measures anything.
func TestBenchRefusesWhatItDoesNotKnow(t *testing.T) {
	dir := t.TempDir()
	for _, arguments := range [][]string{
		{"append", "reed", "--dir", dir},
		{"--only", "nothing", "--dir", dir},
		{"--profile", "gpu", "--dir", dir},
		{"--compare", filepath.Join(dir, "missing.json"), "--dir", dir},
		{"world", "--process", "flat"},
		{"ledger", "--rate", "-1", "--dir", dir},
		{"ledger", "--in-flight", "1000000", "--dir", dir},
		{"ledger", "--processes", "--profile", "cpu", "--dir", dir},
	} {
		if _, _, err := benchWith(t, arguments...); err == nil || !isUsage(err) {
			t.Errorf("%v: %v", arguments, err)
		}
	}
	if _, _, err := benchWith(t, "--dir", filepath.Join(dir, "missing")); err == nil || isUsage(err) {
		t.Errorf("a missing directory is a matter of the environment: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestWholeLedgersAreMeasuredByName, with the goals of what was measured and a profile on demand.
func TestWholeLedgersAreMeasuredByName(t *testing.T) {
	dir := t.TempDir()
	profiles := filepath.Join(dir, "profiles")
	text, a, err := benchWith(t, "ledger", "--dir", dir, "--only", "ledger/write/3-3-2/100B/1000", "--length", "10ms", "--require-goals",
		"--profile", "cpu", "--profile-dir", profiles)
	if err != nil || !strings.Contains(text, "CPU of an acknowledged add") || !strings.Contains(text, "Raw lines") {
		t.Errorf("error %v, printed:\n%s", err, text)
	}
	if missed := strings.Contains(text, "0 of 1 goals met"); missed != (a.code == campaign.ExitBroken) {
		t.Errorf("exit code %d after:\n%s", a.code, text)
	}
	if info, err := os.Stat(filepath.Join(profiles, "cpu.pprof")); err != nil || info.Size() == 0 {
		t.Errorf("no profile: %v", err)
	}
}

// TestAReportOfAnOlderVersionIsToldFromOtherFiles: it kept no samples, and nothing else can be done about it.
func TestAReportOfAnOlderVersionIsToldFromOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "before.json")
	for text, want := range map[string]string{
		`{"started":"2026-01-02T03:04:05Z","clock":"wall clock of this machine","appends":[{"name":"x"}]}`: "older simrun",
		`{"clock":"wall"}`: "not a result",
		`no JSON`:          "not a result",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := benchWith(t, "append", "--compare", path)
		if err == nil || !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// isUsage also holds that the class is named once.
func isUsage(err error) bool {
	return strings.Count(err.Error(), campaign.ErrUsage.Error()) == 1 && strings.HasPrefix(err.Error(), campaign.ErrUsage.Error())
}

// TestAWorldIsMeasuredByAProcessOfItsOwn: what the hidden flag prints is what the parent reads.
func TestAWorldIsMeasuredByAProcessOfItsOwn(t *testing.T) {
	text, _, err := benchWith(t, "world", "--process", "bare", "--length", "1ms")
	var f bench.WorldFigures
	if err != nil || json.Unmarshal([]byte(text), &f) != nil || f.Kind != bench.BareWorld || f.Events == 0 {
		t.Errorf("error %v, printed %s", err, text)
	}
}
