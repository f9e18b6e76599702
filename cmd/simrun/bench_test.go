package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	var r bench.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Appends) != 1 {
		t.Fatalf("error %v, printed %s", err, text)
	}
	before := filepath.Join(dir, "before.json")
	if err := os.WriteFile(before, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	profiles := filepath.Join(dir, "profiles")
	text, _, err = benchWith(t, "append", "--dir", dir, "--only", "journal/batches/16/100B", "--compare", before,
		"--profile", "cpu", "--profile-dir", profiles)
	if err != nil || strings.Count(text, "journal/batches/16/100B") != 2 || !strings.Contains(text, "against the run of") {
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
