package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lakebed/trial"
)

// TestALineIsTheTrials: what is printed is what the trial found, and the same again.
func TestALineIsTheTrials(t *testing.T) {
	s, err := trial.Find("bookie")
	if err != nil {
		t.Fatal(err)
	}
	r := trial.Run(trial.Options{Scenario: s, Seed: 7})
	want := fmt.Sprintf("bookie seed 7 hash %016x events %d image %016x %s\n", r.Hash, r.Events, r.Image, r.Verdict)
	var out, problems bytes.Buffer
	if code := run([]string{"--seed", "7", "bookie"}, &out, &problems); code != exitOK || out.String() != want {
		t.Errorf("got exit code %d, %q and %q, want %q", code, &out, &problems, want)
	}
	out.Reset()
	if code := run([]string{"--seed", "6", "--seeds", "2", "--json", "bookie"}, &out, &problems); code != exitOK {
		t.Fatalf("got exit code %d, %s", code, &problems)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var l line
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &l); err != nil || len(lines) != 2 || l != lineOf(r) {
		t.Errorf("got %v and %d lines, the last %+v, want %+v", err, len(lines), l, lineOf(r))
	}
}

// TestWithoutAScenarioAllOfTheMixRun, and no canary.
func TestWithoutAScenarioAllOfTheMixRun(t *testing.T) {
	a, err := parse(nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.scenarios {
		if s.Canary || s.Weight == 0 {
			t.Errorf("%s is not of the mix", s.Name)
		}
	}
	if len(a.scenarios) < 5 {
		t.Errorf("only %d scenarios", len(a.scenarios))
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// TestExitCodesTellWhatWentWrong: wrong use, an output that takes nothing, and help, which is neither.
func TestExitCodesTellWhatWentWrong(t *testing.T) {
	for _, c := range []struct {
		arguments string
		code      int
		says      string
	}{
		{"--help", exitOK, "usage: fingerprint"},
		{"nowhere", exitUsage, "no scenario is called"},
		{"--seeds 0 bookie", exitUsage, "more than nothing"},
		{"--sed 1", exitUsage, "not defined"},
	} {
		var out, problems bytes.Buffer
		if code := run(strings.Fields(c.arguments), &out, &problems); code != c.code || !strings.Contains(problems.String(), c.says) {
			t.Errorf("%s: got exit code %d, %s", c.arguments, code, &problems)
		}
	}
	var problems bytes.Buffer
	if code := run([]string{"bookie"}, full{}, &problems); code != exitEnvironment || !strings.Contains(problems.String(), "no space") {
		t.Errorf("got exit code %d, %s", code, &problems)
	}
}
