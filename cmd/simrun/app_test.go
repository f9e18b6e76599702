package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lakebed/trial"
	"lakebed/trial/bench/death"
	"lakebed/trial/campaign"
)

// TestMain lets the test program be simrun as a process of its own, and its own worker.
func TestMain(m *testing.M) {
	asSimrun := []string{"campaign", replayName, "bench", "death", "bookie", "metadata", death.WriterCommand, workerName}
	if len(os.Args) > 1 && slices.Contains(asSimrun, os.Args[1]) {
		a := &app{catalogue: fakeCatalogue(), out: os.Stdout, err: os.Stderr}
		if os.Getenv(realCatalogueVariable) != "" {
			a.catalogue = campaign.Catalogue{Run: trial.Run, Scenarios: trial.Scenarios(), RequiredMarks: trial.RequiredMarks()}
		}
		os.Exit(a.run(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeCatalogue stands for the laboratory: what is tested here is how simrun asks and answers.
func fakeCatalogue() campaign.Catalogue {
	return campaign.Catalogue{
		Scenarios: []trial.Scenario{
			{Name: "steady", About: "never fails", Weight: 1}, {Name: "broken", About: "always fails"},
			{Name: "slow", About: "takes its time"}, {Name: "endless", About: "never ends"},
			{Name: "crumbling", About: "loses an entry"}, {Name: "canary", Canary: true},
		},
		RequiredMarks: []string{"fake.rare"},
		Run: func(o trial.Options) trial.Result {
			r := trial.Result{Scenario: o.Scenario.Name, Seed: o.Seed, Verdict: trial.OK, Hash: o.Seed + 1, Events: 10, Marks: map[string]int64{"fake.rare": 1}}
			switch o.Scenario.Name {
			case "broken", "canary":
				r.Verdict = trial.Violation
			case "endless":
				for endless := true; endless; {
					endless = o.Scenario.Name != ""
				}
			case "crumbling":
				r.Verdict = trial.Violation
				r.Findings = []trial.Finding{{Checker: "fake", Signature: "entry 7 is lost"}}
			case "slow":
				time.Sleep(10 * time.Millisecond)
			}
			if o.Trace != nil {
				fmt.Fprintf(o.Trace, "event of seed %d\n", o.Seed)
			}
			return r
		},
	}
}

// simrun runs a command line, in a directory of its own.
func simrun(t *testing.T, arguments ...string) (code int, out, err string) {
	t.Helper()
	var outText, errText bytes.Buffer
	a := &app{catalogue: fakeCatalogue(), out: &outText, err: &errText}
	code = a.run(context.Background(), arguments)
	return code, outText.String(), errText.String()
}

// TestWrongUseExitsWithTwoAndSaysWhatWasMeant, and prints nothing on standard output.
func TestWrongUseExitsWithTwoAndSaysWhatWasMeant(t *testing.T) {
	t.Chdir(t.TempDir())
	for command, reason := range map[string]string{
		"campaing":                             "did you mean campaign?",
		"xylophone":                            "there are: bench, bookie, campaign,",
		"campaign staedy":                      "did you mean steady?",
		"campaign canary":                      "is a canary",
		"campaign --sedes 3":                   "did you mean --seeds?",
		"campaign --seeds many":                `"many"`,
		"campaign --seed soon":                 `nor "random"`,
		"campaign --seeds 0":                   "needs an end",
		"campaign --workers -1":                "negative",
		"campaign --workers 100000":            "with shards",
		"campaign --profile cpu":               "--workers 0",
		"campaign --workers 0 --profile speed": "block, cpu, mem, mutex",
		"replay":                               "needs a seed",
		"replay 1 2":                           "--trace=FILE",
		"replay absent.json":                   "neither a seed nor a file",
		"replay 1 --scenario unheard":          "no scenario",
		"replay 1 --until -1s":                 "before its begin",
		"replay 1 --until 0s":                  "to its end",
		"shrink":                               "one seed or the file",
		"shrink 1 --scenario steady":           "does not fail",
		"shrink 1 --budget 0s":                 "more than nothing",
		"shrink absent.json":                   "neither a seed nor a file",
		"replay -3":                            "from 0 to 2^64-1, not -3",
		"replay .":                             "is a directory",
		"replay 99999999999999999999999":       "from 0 to 2^64-1",
		"experiment show":                      "one experiment",
		"experiment show 99":                   "there are: X-07,",
		"experiment run 45 --workers 0":        "more than nothing",
		"campaign --hang 0s":                   "more than nothing",
		"campaign --for 0s":                    "--for 0s: must be more than nothing",
		"campaign --time 0s":                   "--for 0s: must be more than nothing",
		"campaign --shard 3/2":                 "counted from 1 to 2",
		"campaign --shard half":                "such as 2/8",
		"campaign --weight steady":             "such as cluster=5",
		"campaign --weight staedy=2":           "did you mean steady?",
		"campaign --weight canary=2":           "is a canary",
		"campaign --shrink-budget 1m":          "unknown flag",
		"campaign --jsonl .":                   "is a directory",
		"campaign --resume absent.jsonl":       "there is no file",
		"campaign --resume a.jsonl --seeds 3":  "leave --seeds out",
		"campaign --resume a.jsonl steady":     "leave steady out",
		"campaign merge":                       "needs the files",
		"campaign merge absent.jsonl":          "there is no file",
		"bench --in-flight 0":                  "--in-flight 0: must be more than nothing",
		"bench ledger --rate -1":               "more than nothing",
		"bench --length 0s":                    "more than nothing",
		"bench nope":                           "cluster-world",
		"bench world --length 0s":              "longer than nothing",
		"bench cluster-world --length 0s":      "longer than nothing",
		"explore foo":                          "takes no arguments",
		"version now":                          "now",
		"worker now":                           "now",
	} {
		code, out, err := simrun(t, strings.Fields(command)...)
		if code != campaign.ExitUsage || out != "" || !strings.Contains(err, reason) || !strings.Contains(err, "--help") {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out, err)
		}
	}
}

// TestACampaignAnswersByItsExitCode and with one JSON object on standard output.
func TestACampaignAnswersByItsExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	for arguments, want := range map[string]struct {
		code       int
		violations float64
	}{
		"campaign --seeds 30 --json":                      {campaign.ExitOK, 0},
		"campaign --seeds 30 --json --workers 0":          {campaign.ExitOK, 0},
		"campaign steady broken --seeds 8 --json":         {campaign.ExitBroken, 4},
		"campaign broken --seeds 8 --json --canary 0":     {campaign.ExitBroken, 8},
		"campaign --for 300ms --json --seed 0x10":         {campaign.ExitOK, 0},
		"campaign slow --time 1m --seeds 3 --json":        {campaign.ExitOK, 0},
		"campaign --seeds 5 --json --workers 1 --seed 99": {campaign.ExitOK, 0},
	} {
		code, out, err := simrun(t, strings.Fields(arguments)...)
		var object map[string]any
		if parsed := json.Unmarshal([]byte(out), &object); parsed != nil {
			t.Errorf("%s: %v: %q, %q", arguments, parsed, out, err)
			continue
		}
		broken := arguments[:len("campaign steady broken")] == "campaign steady broken"
		if code != want.code || !broken && object["violations"] != want.violations || broken && object["violations"] == 0.0 {
			t.Errorf("%s: exit code %d, violations %v: %s", arguments, code, object["violations"], err)
		}
	}
}

// TestAFailureIsKeptAndReplayed by the file and by the command that the summary prints.
func TestAFailureIsKeptAndReplayed(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, _ := simrun(t, "campaign", "broken", "--seeds", "3")
	if code != campaign.ExitBroken || !strings.Contains(out, "go run ./cmd/simrun replay 1 --scenario broken\n") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	kept, err := filepath.Glob("failures/*.json")
	if err != nil || len(kept) != 1 || !strings.Contains(out, kept[0]) {
		t.Fatalf("kept %v: %s", kept, out)
	}
	for _, arguments := range [][]string{{"replay", kept[0]}, {"replay", "1", "--scenario", "broken"}} {
		code, out, _ := simrun(t, arguments...)
		if code != campaign.ExitBroken || !strings.HasPrefix(out, "VIOLATION: seed 1 of broken") {
			t.Errorf("%v: exit code %d: %s", arguments, code, out)
		}
	}
}

// TestAReplayTellsItsTraceHash as hexadecimal text: a number would lose its last digits in many readers.
func TestAReplayTellsItsTraceHash(t *testing.T) {
	code, out, err := simrun(t, "replay", "17", "--json")
	if code != campaign.ExitOK || !strings.Contains(out, `"trace_hash": "0000000000000012"`) {
		t.Errorf("exit code %d: %s %s", code, out, err)
	}
}

// TestATraceGoesWhereItShould: to standard error, or to a file, and never into the result.
func TestATraceGoesWhereItShould(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, err := simrun(t, "replay", "17", "--trace")
	if code != campaign.ExitOK || err != "event of seed 17\n" || strings.Contains(out, "event of") {
		t.Errorf("exit code %d, %q, %q", code, out, err)
	}
	code, out, err = simrun(t, "replay", "17", "--trace=seventeen.txt")
	text, read := os.ReadFile("seventeen.txt")
	if code != campaign.ExitOK || err != "" || read != nil || string(text) != "event of seed 17\n" {
		t.Errorf("exit code %d, %q, %q, file %q %v", code, out, err, text, read)
	}
	code, _, err = simrun(t, "replay", "17", "--trace=absent/seventeen.txt")
	if code != campaign.ExitEnvironment || !strings.Contains(err, "write the trace") {
		t.Errorf("no directory: exit code %d, %q", code, err)
	}
}

// TestADrawnSeedIsTold, in a form that --seed takes.
func TestADrawnSeedIsTold(t *testing.T) {
	code, out, err := simrun(t, "campaign", "--seed", "random", "--seeds", "3", "--json", "--workers", "0")
	drawn, found := strings.CutPrefix(err, "first seed: ")
	if code != campaign.ExitOK || !found || !strings.Contains(out, `"first_seed": `+strings.TrimSpace(drawn)+",") {
		t.Errorf("exit code %d: %s %s", code, err, out)
	}
}

// interrupted is what a campaign prints that is interrupted after a while.
type interrupted struct {
	Interrupted bool
	Seeds       int64
	Violations  int64
	Verdicts    map[string]int64
}

// TestAnInterruptPrintsWhatThereIs and exits with 3, or with 1 if a promise was broken before.
func TestAnInterruptPrintsWhatThereIs(t *testing.T) {
	for scenario, want := range map[string]int{"slow": campaign.ExitEnvironment, "broken": campaign.ExitBroken} {
		var code int
		var found interrupted
		for wait := 300 * time.Millisecond; found.Seeds == 0 && wait < 30*time.Second; wait *= 3 { // a busy machine starts slowly
			code, found = interruptAfter(t, wait, scenario)
		}
		if code != want || !found.Interrupted || found.Seeds == 0 || found.Verdicts["died"] != 0 {
			t.Errorf("%s: exit code %d, %+v", scenario, code, found)
		}
		if (found.Violations > 0) != (scenario == "broken") {
			t.Errorf("%s: %d violations", scenario, found.Violations)
		}
	}
}

func interruptAfter(t *testing.T, wait time.Duration, scenario string) (code int, found interrupted) {
	t.Helper()
	c := exec.Command(os.Args[0], "campaign", scenario, "--time", "5m", "--json", "--canary", "0", "--out", t.TempDir())
	var out, progress bytes.Buffer
	c.Stdout, c.Stderr = &out, &progress
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the exit code is what is looked at
	if code = c.ProcessState.ExitCode(); code == -1 {
		return code, found // it had not even begun to listen
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatalf("%s: %v: %q %q", scenario, err, out.String(), progress.String())
	}
	return code, found
}

// TestAProfileIsWritten for a campaign in this process and for a replay.
func TestAProfileIsWritten(t *testing.T) {
	for _, arguments := range []string{"campaign --workers 0 --seeds 3 --profile mem", "replay 1 --profile mem"} {
		t.Chdir(t.TempDir())
		if code, _, err := simrun(t, strings.Fields(arguments)...); code != campaign.ExitOK {
			t.Errorf("%s: exit code %d: %s", arguments, code, err)
		}
		if info, err := os.Stat("mem.pprof"); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// TestEveryCommandTeaches: what it does, at length, and by example. Workers are nobody's to call.
func TestEveryCommandTeaches(t *testing.T) {
	root := (&app{catalogue: fakeCatalogue(), out: io.Discard, err: io.Discard}).rootCommand()
	for _, c := range root.Commands() {
		if c.Hidden != slices.Contains([]string{workerName, death.WriterCommand}, c.Name()) {
			t.Errorf("%s: hidden is %v", c.Name(), c.Hidden)
		}
		if c.Long == "" || c.Short == "" || !c.Hidden && !strings.Contains(c.Example, "simrun "+c.Name()) {
			t.Errorf("%s does not teach", c.Name())
		}
	}
	for _, arguments := range [][]string{nil, {"help"}, {"--help"}} {
		code, out, _ := simrun(t, arguments...)
		for _, thing := range []string{"prove", "measure", "inspect", "simrun campaign", "Exit codes"} {
			if code != campaign.ExitOK || !strings.Contains(out, thing) {
				t.Errorf("help %v lacks %s (exit code %d)", arguments, thing, code)
			}
		}
	}
}

// TestScenariosCompleteWithWhatTheyAre.
func TestScenariosCompleteWithWhatTheyAre(t *testing.T) {
	for _, arguments := range [][]string{{"campaign", ""}, {"replay", "1", "--scenario", ""}} {
		code, out, _ := simrun(t, append([]string{cobra.ShellCompRequestCmd}, arguments...)...)
		if code != campaign.ExitOK || !strings.Contains(out, "steady\tnever fails\n") {
			t.Errorf("%v: exit code %d: %q", arguments, code, out)
		}
	}
}

// TestVersionSaysWhichProgramThisIs.
func TestVersionSaysWhichProgramThisIs(t *testing.T) {
	code, out, _ := simrun(t, "version")
	if code != campaign.ExitOK || !strings.Contains(out, "lakebed") || !strings.Contains(out, "go1.") {
		t.Errorf("exit code %d: %s", code, out)
	}
	code, out, _ = simrun(t, "version", "--json")
	var build campaign.Build
	if err := json.Unmarshal([]byte(out), &build); code != campaign.ExitOK || err != nil || build.Module != "lakebed" || build.Go == "" {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}
