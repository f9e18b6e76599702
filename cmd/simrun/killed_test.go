package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"lakebed/trial/campaign"
)

// realCatalogueVariable has simrun run real trials where a test starts it as a process.
const realCatalogueVariable = "SIMRUN_TEST_REAL"

// campaignProcess starts simrun campaign as a process.
func campaignProcess(t *testing.T, arguments string) (c *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	c = exec.Command(os.Args[0], append([]string{"campaign"}, strings.Fields(arguments)...)...)
	c.Env = append(os.Environ(), realCatalogueVariable+"=1")
	out = &bytes.Buffer{}
	c.Stdout = out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c, out
}

// processState is what the system says of a process: its parent, and its processor time in ticks.
type processState struct {
	parent, ticks int
	gone          bool // or dead, and not yet buried by whoever should
}

func stateOf(pid int) processState {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processState{gone: true}
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, _ := strconv.Atoi(fields[1])
	ticks, _ := strconv.Atoi(fields[11])
	return processState{parent, ticks, fields[0] == "Z" || fields[0] == "X"}
}

// childrenOf are the processes that a process has started.
func childrenOf(t *testing.T, parent int) (children []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if s := stateOf(pid); !s.gone && s.parent == parent {
				children = append(children, pid)
			}
		}
	}
	return children
}

// await waits until something is so, or fails the test.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// kill ends a campaign as kill -9 does, and sees to it that no worker outlives it.
func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	workers := childrenOf(t, c.Process.Pid)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	if len(workers) != 2 {
		t.Errorf("%d workers", len(workers))
	}
	for _, pid := range workers {
		await(t, fmt.Sprintf("worker %d goes", pid), func() bool { return stateOf(pid).gone })
	}
}

// seedsOf counts the seeds of a log, and how many stand in it more than once.
func seedsOf(path string) (seeds, twice int) {
	text, _ := os.ReadFile(path) // it may not be there yet
	seen := map[uint64]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Kind string
			Seed uint64
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Kind != "seed" {
			continue
		}
		if seen[l.Seed] {
			twice++
		}
		seen[l.Seed] = true
	}
	return len(seen), twice
}

// summaryOf waits for the end of a campaign, and leaves out what its clock says.
func summaryOf(t *testing.T, c *exec.Cmd, out *bytes.Buffer) campaign.Summary {
	t.Helper()
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var s campaign.Summary
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return s.Timeless()
}

// TestAKilledCampaignGoesOn: real trials, kill -9 half way, twice; in the end each seed is reported once, and the summary
// is that of a campaign that nobody killed.
func TestAKilledCampaignGoesOn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at processes through /proc")
	}
	if testing.Short() {
		t.Skip("runs over a hundred real trials")
	}
	const asked = "bookie doubt starts --seeds 50 --canary 0 --workers 2 --json"
	c, out := campaignProcess(t, asked)
	want := summaryOf(t, c, out)
	log := filepath.Join(t.TempDir(), "log.jsonl")
	for _, enough := range []int{12, 30} {
		c, _ = campaignProcess(t, asked+" --jsonl "+log)
		await(t, "seeds are in the log", func() bool { seeds, _ := seedsOf(log); return seeds >= enough })
		kill(t, c)
	}
	c, out = campaignProcess(t, "--workers 2 --json --resume "+log)
	got := summaryOf(t, c, out)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("killed:\n%+v\nuninterrupted:\n%+v", got, want)
	}
	if seeds, twice := seedsOf(log); seeds != 50 || twice != 0 || got.Seeds != 50 {
		t.Errorf("%d seeds, %d stand twice, %d in the summary", seeds, twice, got.Seeds)
	}
}

// TestAWorkerDoesNotOutliveItsParent in a trial that never ends: nobody else would end it.
func TestAWorkerDoesNotOutliveItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks at processes through /proc")
	}
	c := exec.Command(os.Args[0], "campaign", "endless", "--seeds", "9", "--canary", "0", "--workers", "2", "--hang", "1h")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "both workers are in a trial", func() bool {
		busy := 0
		for _, pid := range childrenOf(t, c.Process.Pid) {
			if stateOf(pid).ticks > 10 { // a start takes one or two
				busy++
			}
		}
		return busy == 2
	})
	kill(t, c)
}

// TestShardsMergeOnTheCommandLine, with JUnit XML beside the summary, and wrong files are wrong use.
func TestShardsMergeOnTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(want int, arguments string) campaign.Summary {
		t.Helper()
		code, out, errors := simrun(t, strings.Fields(arguments)...)
		var s campaign.Summary
		if err := json.Unmarshal([]byte(out), &s); code != want || want != campaign.ExitUsage && err != nil {
			t.Errorf("%s: exit code %d, %v: %s %s", arguments, code, err, out, errors)
		}
		return s.Timeless()
	}
	const asked = "campaign --weight broken=2 --seeds 50 --workers 0 --json"
	whole := run(campaign.ExitBroken, asked)
	run(campaign.ExitBroken, asked+" --shard 1/2 --jsonl 1.jsonl")
	run(campaign.ExitUsage, "campaign merge 1.jsonl --json")
	run(campaign.ExitBroken, "campaign merge 1.jsonl --partial --json")
	run(campaign.ExitBroken, asked+" --shard 2/2 --jsonl 2.jsonl")
	if merged := run(campaign.ExitBroken, "campaign merge 2.jsonl 1.jsonl --json --junit j.xml"); !reflect.DeepEqual(merged, whole) {
		t.Errorf("merged:\n%+v\nat once:\n%+v", merged, whole)
	}
	if text, err := os.ReadFile("j.xml"); err != nil || !strings.Contains(string(text), "go run ./cmd/simrun replay ") {
		t.Errorf("%v: %s", err, text)
	}
	run(campaign.ExitUsage, asked+" --shard 1/2 --jsonl 2.jsonl")
	run(campaign.ExitUsage, "campaign merge 1.jsonl 1.jsonl 2.jsonl")
	if code, _, said := simrun(t, "campaign", "--seeds", "3", "--workers", "0", "--junit", "absent/j.xml"); code != campaign.ExitEnvironment {
		t.Errorf("no directory for the XML: exit code %d, %s", code, said)
	}
}
