package main

import (
	"bytes"
	"io"
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

// TestAnInterruptedDeathLeavesNothingBehind: it says that it was interrupted, exits with 3, and removes its directory.
func TestAnInterruptedDeathLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a cluster of processes")
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "death", "--rounds", "50")
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	var out bytes.Buffer
	c.Stdout = &out
	progress, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 1)
	if _, err := progress.Read(seen); err != nil { // the first round's line
		t.Error(err)
	}
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	said, _ := io.ReadAll(progress)
	_ = c.Wait() // the exit code is what is looked at
	if code := c.ProcessState.ExitCode(); code != campaign.ExitEnvironment || !strings.HasPrefix(out.String(), "INTERRUPTED, nothing found until then") {
		t.Errorf("exit code %d, %s\n%s", code, out.String(), said)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
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
