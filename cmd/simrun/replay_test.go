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
