package main

import (
	"os"
	"strings"
	"testing"

	"lakebed/trial/campaign"
)

// TestWithoutStepsNeedsATrace: alone it would do nothing, and with a file it writes there.
func TestWithoutStepsNeedsATrace(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, err := simrun(t, "replay", "17", "--without-steps")
	if code != campaign.ExitUsage || !strings.Contains(err, "--trace") {
		t.Errorf("exit code %d, %q", code, err)
	}
	code, _, err = simrun(t, "replay", "17", "--trace=seventeen.txt", "--without-steps")
	text, read := os.ReadFile("seventeen.txt")
	if code != campaign.ExitOK || err != "" || read != nil || string(text) != "event of seed 17\n" {
		t.Errorf("exit code %d, %q, file %q %v", code, err, text, read)
	}
}

// TestPageFlagsThatMeanNothingAreRefused: a stretch of time needs a page that shows it, an end behind its beginning, and
// a trial that tells its course.
func TestPageFlagsThatMeanNothingAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for wanted, arguments := range map[string][]string{
		"--html":    {"replay", "17", "--from", "1s"},
		"nothing":   {"replay", "17", "--html=a.html", "--from", "2s", "--until", "1s"},
		"no course": {"replay", "17", "--html=a.html"}, // of the fake runner
	} {
		code, _, err := simrun(t, arguments...)
		if code != campaign.ExitUsage || !strings.Contains(strings.ReplaceAll(err, "tells no course", "no course"), wanted) {
			t.Errorf("%q: exit code %d, %q", arguments, code, err)
		}
		if _, err := os.Stat("a.html"); err == nil {
			t.Errorf("%q: a page was written", arguments)
		}
	}
}
