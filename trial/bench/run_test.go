package bench

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// emptyAfterwards checks that a run has removed what it made.
func emptyAfterwards(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the run left %v, error %v", left, err)
	}
}

// TestARunMeasuresWhatItWasAskedForAndLeavesNothing.
func TestARunMeasuresWhatItWasAskedForAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	var told []string
	r, err := Run(t.Context(), Options{
		Dir: dir, Workloads: []Workload{Appends}, Only: "batches/16/1KiB", Seed: 1,
		Progress: func(doing string, done, total int) {
			if told = append(told, doing); done != len(told)-1 || total != 2 {
				t.Errorf("%s: %d of %d", doing, done, total)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(told, " "); got != "journal/batches/16/1KiB bookie/batches/16/1KiB" {
		t.Errorf("was told %s", got)
	}
	if len(r.Groups) != 1 || len(r.Groups[0].Cells) != 2 || len(r.Goals) != 0 || r.Seconds <= 0 {
		t.Errorf("got %+v", r)
	}
	for _, c := range r.Groups[0].Cells {
		for _, name := range []string{figureEntries, figureRatio, "p50", "CPU"} {
			if f, ok := c.Figure(name); !ok || len(f.Samples) != 6 || f.Low <= 0 {
				t.Errorf("%s: %+v", c.Name, f)
			}
		}
	}
	if r.Command = "simrun bench"; r.Check() != nil {
		t.Errorf("the result would be refused: %v", r.Check())
	}
	emptyAfterwards(t, dir)
}

// TestAnInterruptedRunLeavesNothing.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(string, int, int) { cancel() }
	_, err := Run(ctx, Options{Dir: dir, Only: "journal/batches/16/1KiB", Seed: 1, Progress: stop})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	emptyAfterwards(t, dir)
}

// TestWrongOptionsAreRefusedBeforeAnythingIsMade.
func TestWrongOptionsAreRefusedBeforeAnythingIsMade(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(t.Context(), Options{Dir: dir, Only: "no such arm"}); !errors.Is(err, ErrUsage) {
		t.Errorf("a filter that fits nothing: %v", err)
	}
	if _, err := Run(t.Context(), Options{Dir: dir + "/missing"}); !errors.Is(err, ErrEnvironment) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := ParseWorkloads([]string{"append", "reed"}); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown workload: %v", err)
	}
	if usual, err := ParseWorkloads(nil); err != nil || len(usual) != len(Workloads())-1 || slices.Contains(usual, Stores) {
		t.Errorf("no names mean %v, error %v: all but the stores of one node, which take long", usual, err)
	}
	emptyAfterwards(t, dir)
}

// TestANameChoosesAmongAllWorkloads: whoever names a cell gets it, and nothing else.
func TestANameChoosesAmongAllWorkloads(t *testing.T) {
	for _, c := range []struct {
		options                   Options
		arms, reads, adds, ledger int
		fio                       bool
	}{
		{options: Options{Only: "journal/batches/16/1KiB"}, arms: 1},
		{options: Options{Only: "fio"}, fio: true},
		{options: Options{Only: "read/cold/16"}, reads: 1},
		{options: Options{Only: "ledger/write/3-3-2/100B/1000", Workloads: []Workload{Ledgers}}, adds: 2},
		{options: Options{Only: "ledger/read/1KiB/cached/batch"}, ledger: 4},
		{options: Options{Workloads: []Workload{Appends, FioLine}}, arms: len(Arms()), fio: true},
	} {
		p, err := c.options.plan()
		if err != nil || len(p.arms) != c.arms || p.fio != c.fio || len(p.reads) != c.reads ||
			len(p.ledgers.Writes) != c.adds || len(p.ledgers.Reads) != c.ledger {
			t.Errorf("%+v: %+v, %v", c.options, p, err)
		}
	}
	for _, wrong := range []Options{{Rate: -1}, {InFlight: -1}, {InFlight: inFlightMax + 1}, {Length: -1}, {Only: "write", Workloads: []Workload{ReadPaths}}} {
		if _, err := wrong.plan(); !errors.Is(err, ErrUsage) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// TestARunHasWholeLedgersInItsResult, with the goals that were measured.
func TestARunHasWholeLedgersInItsResult(t *testing.T) {
	dir := t.TempDir()
	r, err := Run(t.Context(), Options{
		Dir: dir, Only: "ledger/write/3-3-2/100B/1000", Workloads: []Workload{Ledgers}, Seed: 1, Length: 10 * time.Millisecond, Command: "simrun bench",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Cell("ledger/write/3-3-2/100B/1000"); !ok || len(r.Goals) != 1 || r.Check() != nil {
		t.Errorf("cells %v, goals %+v, %v", r.Groups, r.Goals, r.Check())
	}
	emptyAfterwards(t, dir)
}

// TestALateRunHurriesAndThenSkipsOnlyArmsWithoutAGoal, and names those it skipped.
func TestALateRunHurriesAndThenSkipsOnlyArmsWithoutAGoal(t *testing.T) {
	goal, other := Arm{Journal, 256, Batches, 100}, Arm{Journal, 64, Batches, 100}
	r := run{pace: pace{hurryAfter: time.Minute, skipAfter: time.Hour, hurryPairs: 3}}
	for _, c := range []struct {
		spent       time.Duration
		goal, other int
	}{{time.Second, 6, 6}, {2 * time.Minute, 6, 3}, {2 * time.Hour, 6, 0}} {
		r.begun = time.Now().Add(-c.spent)
		if r.pairsInTime(goal, 6) != c.goal || r.pairsInTime(other, 6) != c.other || r.pairsInTime(other, 1) > 1 {
			t.Errorf("after %v: %d pairs with a goal, %d without", c.spent, r.pairsInTime(goal, 6), r.pairsInTime(other, 6))
		}
	}
	if err := r.appendArms(t.Context(), []Arm{other}, 0, 6); err != nil {
		t.Fatal(err)
	}
	if len(r.skipped) != 1 || r.skipped[0] != other.Name() || !strings.Contains(strings.Join(r.notes(maker{1}), "\n"), other.Name()) {
		t.Errorf("skipped %v, notes %v", r.skipped, r.notes(maker{1}))
	}
	r.pace = Options{Thorough: true}.pace()
	if got := r.pairsInTime(other, 15); got != 15 {
		t.Errorf("a thorough run gives %d pairs", got)
	}
}
