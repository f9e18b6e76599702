package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lakebed/reports"
)

// TestAClusterIsMeasuredInThisProcessForAProfiler, with one JSON object for programs.
func TestAClusterIsMeasuredInThisProcessForAProfiler(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "profiles")
	text, _, err := benchWith(t, "cluster-world", "sequential", "--length", "1ms", "--json", "--profile", "mem", "--profile-dir", profiles)
	var r reports.Result
	if err != nil || json.Unmarshal([]byte(text), &r) != nil || r.Check() != nil || len(r.Groups) != 1 || len(r.Groups[0].Cells) != 1 {
		t.Fatalf("error %v, %v, printed %s", err, r.Check(), text)
	}
	if info, err := os.Stat(filepath.Join(profiles, "mem.pprof")); err != nil || info.Size() == 0 {
		t.Errorf("no profile: %v", err)
	}
}

// TestAWorldOfAClusterThatIsNotKnownIsWrongUse.
func TestAWorldOfAClusterThatIsNotKnownIsWrongUse(t *testing.T) {
	for _, arguments := range [][]string{{"cluster-world", "flat"}, {"cluster-world", "steady", "--profile", "gpu"}} {
		if _, _, err := benchWith(t, arguments...); err == nil || !isUsage(err) {
			t.Errorf("%s: %v", strings.Join(arguments, " "), err)
		}
	}
}
