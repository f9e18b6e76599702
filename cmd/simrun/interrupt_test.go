package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lakebed/trial"
	"lakebed/trial/campaign"
)

// TestAMeasurementThatIsInterruptedSaysSo and exits with 3, whether it measures in this process or in another one.
func TestAMeasurementThatIsInterruptedSaysSo(t *testing.T) {
	for _, line := range []string{
		"bench world --length 5m",
		"bench world --process bare --length 5m",
		"bench cluster-world sequential --length 5m",
		"bench cluster-world sequential --length 5m --profile cpu --profile-dir " + t.TempDir(),
	} {
		code, said := -1, ""
		for wait := 200 * time.Millisecond; code == -1 && wait < 30*time.Second; wait *= 3 { // -1: it did not listen yet
			c := exec.Command(os.Args[0], strings.Fields(line)...)
			var progress bytes.Buffer
			c.Stderr = &progress
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait() // the exit code is what is looked at
			code, said = c.ProcessState.ExitCode(), progress.String()
		}
		if code != campaign.ExitEnvironment || !strings.HasSuffix(said, "simrun: interrupted\n") {
			t.Errorf("%s: exit code %d, %q", line, code, said)
		}
	}
}

// TestTheDefectOfACaseIsPlanted without a flag, since the file names it.
func TestTheDefectOfACaseIsPlanted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "case.json")
	if err := campaign.WriteCase(path, campaign.Case{Defect: "resend-nothing", Result: trial.Result{Scenario: "steady"}}); err != nil {
		t.Fatal(err)
	}
	a := &app{}
	replay, inspect := a.replayCommand(), a.inspectCommand()
	for _, c := range []struct{ target, want string }{{path, "resend-nothing"}, {"17", ""}, {"absent.json", ""}} {
		if got := demandedDefect(replay, []string{c.target}); got != c.want {
			t.Errorf("%s: %q", c.target, got)
		}
	}
	if got := demandedDefect(inspect, []string{path}); got != "" {
		t.Errorf("inspect: %q", got)
	}
	if err := replay.Flags().Set("defect", "no-sync"); err != nil {
		t.Fatal(err)
	}
	if got := demandedDefect(replay, []string{path}); got != "no-sync" {
		t.Errorf("the flag is there, and %q is planted", got)
	}
}
