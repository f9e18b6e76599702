package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestALineThatDiffersOrIsMissingIsADifference: nothing that one side alone says passes.
func TestALineThatDiffersOrIsMissingIsADifference(t *testing.T) {
	const two = "bookie seed 1 hash a\nbookie seed 2 hash b\n"
	for _, c := range []struct{ native, guest, want string }{
		{two, two, ""},
		{two, "bookie seed 1 hash a\nbookie seed 2 hash c\n", "bookie seed 2 hash b|bookie seed 2 hash c"},
		{two, "bookie seed 1 hash a\n", "bookie seed 2 hash b|" + nothing},
		{"bookie seed 1 hash a\n", two, nothing + "|bookie seed 2 hash b"},
		{"bookie seed 1 hash a\n", "", "bookie seed 1 hash a|" + nothing},
	} {
		found := differences(0, c.native, c.guest)
		var got string
		if len(found) > 0 {
			got = found[0].Native + "|" + found[0].Guest
		}
		if got != c.want || len(found) > 1 {
			t.Errorf("%q and %q: got %v, want %q", c.native, c.guest, found, c.want)
		}
	}
}

// TestReportsSayWhatDiffers: as text and as JSON, the latter with an empty list where nothing does.
func TestReportsSayWhatDiffers(t *testing.T) {
	clean := report{Trials: 2, Randoms: 3, Differences: []difference{}}
	dirty := report{Trials: 2, Randoms: 3, Differences: differences(1, "a\nb\n", "a\nc\n")}
	for _, c := range []struct {
		r    report
		json bool
		says string
	}{
		{clean, false, "2 trials, each once natively and 3 times under wazero: the same"},
		{clean, true, `"differences": []`},
		{dirty, false, "random source 2:\n  native  b\n  wazero  c\n1 of 6 comparisons differ"},
		{dirty, true, `"native": "b"`},
	} {
		var out bytes.Buffer
		if err := c.r.print(&out, c.json); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("got %v, %s, want something with %q", err, &out, c.says)
		}
	}
}

// TestWrongUseHasItsExitCode, and help is none.
func TestWrongUseHasItsExitCode(t *testing.T) {
	for arguments, want := range map[string]int{"--help": exitOK, "--seeds 0": exitUsage, "--randoms 0": exitUsage, "--sed 1": exitUsage} {
		var out bytes.Buffer
		if got := run(t.Context(), strings.Fields(arguments), &out, &out); got != want {
			t.Errorf("%s: got exit code %d, want %d", arguments, got, want)
		}
	}
}

// TestATrialIsTheSameUnderWazero: one seed of a single bookie, with two random sources.
func TestATrialIsTheSameUnderWazero(t *testing.T) {
	if os.Getenv("LAKEBED_WASM") == "" {
		t.Skip("building for wasip1 takes most of a minute: set LAKEBED_WASM, or run .ci/nightly")
	}
	var out, problems bytes.Buffer
	if code := run(t.Context(), []string{"--seeds", "1", "bookie"}, &out, &problems); code != exitOK {
		t.Errorf("got exit code %d\n%s\n%s", code, &out, &problems)
	}
	// A scenario that the command does not know is an error of the environment, and no pass.
	if code := run(t.Context(), []string{"nowhere"}, &out, &problems); code != exitEnvironment || !strings.Contains(problems.String(), "no scenario") {
		t.Errorf("got exit code %d\n%s", code, &problems)
	}
}
