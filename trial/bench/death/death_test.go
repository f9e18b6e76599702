package death_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lakebed/trial/bench/death"
	"lakebed/trial/bench/death/calls"
	"lakebed/trial/defects"
	"lakebed/trial/defects/defect"
)

// programs are built once, when a test first needs them.
var programs struct {
	directory string
	sound     func() (string, error)
	planted   func() (string, error)
}

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "lakebed-death-test-")
	if err != nil {
		panic(err)
	}
	programs.directory = directory
	programs.sound = sync.OnceValues(func() (string, error) { return build(directory) })
	programs.planted = sync.OnceValues(func() (string, error) { return buildPlanted(directory) })
	code := m.Run()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

func build(directory string) (string, error) {
	program := filepath.Join(directory, "simrun")
	output, err := exec.Command("go", "build", "-o", program, "lakebed/cmd/simrun").CombinedOutput()
	os.Stderr.Write(output)
	return program, err
}

func buildPlanted(directory string) (string, error) {
	root, err := defects.FindSources(".")
	if err != nil {
		return "", err
	}
	below := filepath.Join(directory, "planted")
	if err := os.Mkdir(below, 0o755); err != nil {
		return "", err
	}
	return defects.Build(context.Background(), root, below, "cmd/simrun")
}

func program(t *testing.T, built func() (string, error)) string {
	t.Helper()
	if testing.Short() {
		t.Skip("processes are built and killed: not in short tests")
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func run(t *testing.T, o death.Options) *death.Report {
	t.Helper()
	o.Dir, o.Watch = t.TempDir(), func(r death.Round) { t.Log(r) }
	report, err := death.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestNothingAcknowledgedDiesWithProcesses: one round of each kind, on real processes.
func TestNothingAcknowledgedDiesWithProcesses(t *testing.T) {
	report := run(t, death.Options{Executable: program(t, programs.sound), Rounds: 7, Seed: 11})
	for _, f := range report.Findings {
		t.Error(f)
	}
	if len(report.Rounds) != 7 || report.Read < report.Acked || report.Again != report.Read || report.ExitCode() != 0 {
		t.Errorf("%d rounds, %d acknowledged, %d read, %d read again", len(report.Rounds), report.Acked, report.Read, report.Again)
	}
	kills := 0
	for _, r := range report.Rounds {
		kills += len(r.Bookies)
		if r.Acked == 0 || r.AckedBefore > r.Acked || (r.WriterEnded == "") != r.Writer {
			t.Errorf("%+v", r)
		}
	}
	if kills != 1+2+4+0+1+2+4 {
		t.Errorf("%d bookies were killed", kills)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "nothing that was acknowledged is lost: 7 rounds, 18 processes killed") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestAnInterruptedRunSaysSo, counts what was finished, and does not call anything lost or safe that it did not look at.
func TestAnInterruptedRunSaysSo(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	report, err := death.Run(ctx, death.Options{
		Executable: program(t, programs.sound), Dir: t.TempDir(), Rounds: 50, Seed: 14,
		Watch: func(r death.Round) {
			if r.Number == 2 {
				interrupt()
			}
		},
	})
	if err != nil || !report.Interrupted || len(report.Rounds) != 2 || len(report.Findings) != 0 || report.ExitCode() != 3 {
		t.Errorf("%v, %+v", err, report)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.HasPrefix(text.String(), "INTERRUPTED, nothing found until then; of 50 rounds planned: 2 rounds, ") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestBookiesThatPromiseTooMuchAreFound: what they answer from memory dies with them. All copies of an entry must be on
// their way to the journal at the kill, which is sure enough when journals lag as this bug's do: a bookie as fast as ours
// that answered at once could be lucky in any number of rounds.
func TestBookiesThatPromiseTooMuchAreFound(t *testing.T) {
	report := run(t, death.Options{
		Executable: program(t, programs.planted), Rounds: 14, Seed: 12, Env: []string{defect.Variable + "=answer-at-submit"},
	})
	lost := 0
	for _, f := range report.Findings {
		if f.What == death.Lost {
			lost++
		}
	}
	if lost == 0 || report.ExitCode() != 1 {
		t.Errorf("nothing is lost: %v", report.Findings)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), "BROKEN") || !strings.Contains(text.String(), ": lost: entr") {
		t.Errorf("%v: %s", err, text.String())
	}
}

func canTrace(t *testing.T) {
	t.Helper()
	if err := calls.Available(); err != nil {
		t.Skipf("SKIPPED: the order of write, sync and acknowledgement is not shown: %v", err)
	}
}

func trace(t *testing.T, program string, environment ...string) death.Traced {
	t.Helper()
	traced, err := death.Trace(t.Context(), death.TraceOptions{
		Executable: program, Dir: t.TempDir(), Seed: 0x5eed5eed5eed5eed, Env: environment,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d acknowledged, %d writes, %d syncs", traced.Acknowledged, traced.Writes, traced.Syncs)
	return traced
}

// TestNoAcknowledgementLeavesBeforeTheSync, as the kernel sees it.
func TestNoAcknowledgementLeavesBeforeTheSync(t *testing.T) {
	canTrace(t)
	traced := trace(t, program(t, programs.sound))
	if traced.Acknowledged != death.TraceEntriesDefault || traced.Syncs < traced.Writes || traced.Writes == 0 {
		t.Errorf("%+v", traced.Report)
	}
	for _, v := range traced.Violations {
		t.Error(v)
	}
}

// TestABookieThatDoesNotSyncIsFound, or answers before it has written.
func TestABookieThatDoesNotSyncIsFound(t *testing.T) {
	canTrace(t)
	for _, id := range []string{"no-sync", "answer-at-submit"} {
		if traced := trace(t, program(t, programs.planted), defect.Variable+"="+id); len(traced.Violations) == 0 {
			t.Errorf("%s: every acknowledgement waited for the disk", id)
		}
	}
}

// TestAKillWithoutLoadIsAFinding: a writer that went away by itself before the kill leaves nothing that a kill could take.
func TestAKillWithoutLoadIsAFinding(t *testing.T) {
	real := program(t, programs.sound)
	brief := filepath.Join(t.TempDir(), "simrun")
	script := "#!/bin/sh\ncase $1 in\n" + death.WriterCommand + ") exec \"" + real + "\" \"$@\" | head -n 20 ;;\n*) exec \"" + real + "\" \"$@\" ;;\nesac\n"
	if err := os.WriteFile(brief, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	report := run(t, death.Options{Executable: brief, Rounds: 1, Seed: 13})
	if len(report.Findings) != 1 || report.Findings[0].What != death.NoLoad || report.ExitCode() != 1 {
		t.Errorf("a round without load: %v", report.Findings)
	}
}
