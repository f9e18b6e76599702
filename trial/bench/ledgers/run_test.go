package ledgers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/reports"
)

// shortRun measures what a name chooses, in short rounds, and checks that the directory is empty afterwards.
func shortRun(t *testing.T, o Options) Findings {
	t.Helper()
	o.Dir, o.Seed = t.TempDir(), 1
	if o.Length == 0 {
		o.Length = 10 * time.Millisecond
	}
	o.sizes = &readSizes{logged: 3000, cached: 1000}
	f, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(o.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	checked(t, f)
	return f
}

// checked checks that a result with these findings could be read again.
func checked(t *testing.T, f Findings) {
	t.Helper()
	r := reports.Result{
		Schema: reports.Schema, Kind: reports.KindBench, ID: "bench", Title: "bench", Command: "bench", Started: time.Now(),
		Build: reports.ThisBuild(), Machine: reports.ThisMachine(),
		Groups: f.Groups, Plots: f.Plots, Goals: f.Goals, Settings: f.Settings, Notes: f.Notes,
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
}

// cells returns the cells of the findings by name.
func cells(f Findings) map[string]reports.Cell {
	all := map[string]reports.Cell{}
	for _, g := range f.Groups {
		for _, c := range g.Cells {
			all[c.Name] = c
		}
	}
	return all
}

func value(t *testing.T, c reports.Cell, figure string) float64 {
	t.Helper()
	f, ok := c.Figure(figure)
	if !ok {
		t.Errorf("%s has no figure %s", c.Name, figure)
	}
	return f.Value
}

// TestAddsAreMeasuredOverLoopback in closed and open loop, synced and not, with raw lines of the disk and of the network
// in the same turns.
func TestAddsAreMeasuredOverLoopback(t *testing.T) {
	f := shortRun(t, Options{Only: "write/3-3-2/100B"})
	found := cells(f)
	for _, name := range []string{"1000", "64", "1", "1000/unsynced", "open-25", "open-75/unsynced"} {
		c, ok := found["ledger/write/3-3-2/100B/"+name]
		if !ok {
			t.Errorf("no cell %s in %v", name, found)
			continue
		}
		if value(t, c, figureAdds) <= 0 || value(t, c, "p50") <= 0 || value(t, c, "max") < value(t, c, "p50") || value(t, c, figureCPU) <= 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, line := range []string{"disk/3/100B/1000", "loopback/3/100B/1000", "disk/3/100B/1", "loopback/3/100B/1"} {
		if value(t, found["ledger/raw/"+line], figureReads) <= 0 {
			t.Errorf("raw line %s has no rate", line)
		}
	}
	if value(t, found["ledger/write/3-3-2/100B/1000"], figureByDisk) <= 0 {
		t.Error("no ratio to the disk")
	}
	if _, ok := found["ledger/write/3-3-2/100B/1000/unsynced"]; !ok {
		t.Error("no unsynced cell")
	} else if c := found["ledger/write/3-3-2/100B/1000/unsynced"]; slices.ContainsFunc(c.Figures, func(f reports.Figure) bool { return f.Name == figureByDisk }) {
		t.Error("unsynced adds are compared with a disk that is synced")
	}
	if len(f.Goals) != 1 || f.Goals[0].Figure != figureCPU || f.Goals[0].Met != (f.Goals[0].Value <= addCPUGoalMicros && f.Goals[0].Why == "") {
		t.Errorf("goals %+v", f.Goals)
	}
}

// TestEveryShapeIsMeasured, each on as many bookies as it needs.
func TestEveryShapeIsMeasured(t *testing.T) {
	found := cells(shortRun(t, Options{Only: "1KiB/20", InFlight: 20}))
	for _, shape := range []string{"3-3-2", "5-3-2", "3-3-3", "1-1-1"} {
		if value(t, found["ledger/write/"+shape+"/1KiB/20"], figureAdds) <= 0 {
			t.Errorf("%s was not measured", shape)
		}
	}
}

// TestReadsAreMeasuredInEveryWayFromEveryPlace, and judged.
func TestReadsAreMeasuredInEveryWayFromEveryPlace(t *testing.T) {
	f := shortRun(t, Options{Only: "ledger/read/100B"})
	found := cells(f)
	for _, warmth := range []Warmth{Cached, ReadAhead, Cold} {
		for _, way := range []string{"single/1", "single/10", "single/100", "range/10", "range/100", "batch/10", "batch/100", "batch/500", "batch/100x4"} {
			c := found[fmt.Sprintf("ledger/read/100B/%s/%s", warmth, way)]
			if value(t, c, figureReads) <= 0 || value(t, c, figureCPU) < 0 {
				t.Errorf("%s, %s: %+v", warmth, way, c)
			}
		}
		if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, warmth.words()) }) {
			t.Errorf("no note says what is warm when reads are %s: %v", warmth, f.Notes)
		}
	}
	var judged []string
	for _, g := range f.Goals {
		judged = append(judged, g.Wanted)
	}
	if want := []string{"at least 8", "at least 1.5", "at most 0.5 µs"}; !slices.Equal(judged, want) {
		t.Errorf("judged %v, want %v", judged, want)
	}
	if len(f.Plots) == 0 {
		t.Error("no plot")
	}
}

// TestAnInterruptedRunLeavesNothing, whatever it is at.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	for _, only := range []string{"ledger/write/3-3-2/100B/1", "ledger/read/100B/cached/batch"} {
		ctx, cancel := context.WithCancel(t.Context())
		dir := t.TempDir()
		_, err := Run(ctx, Options{
			Dir: dir, Only: only, Seed: 1, Length: time.Millisecond, Progress: func(string) { cancel() }, sizes: &readSizes{logged: 1000, cached: 1000},
		})
		left, failed := os.ReadDir(dir)
		if !errors.Is(err, context.Canceled) || failed != nil || len(left) > 0 {
			t.Errorf("%s: error %v, left %v", only, err, left)
		}
		cancel()
	}
}

// TestProcessesAreMeasuredAsTheClusterInThisProcessIs, with their time of processors.
func TestProcessesAreMeasuredAsTheClusterInThisProcessIs(t *testing.T) {
	if testing.Short() {
		t.Skip("builds simrun")
	}
	simrun := filepath.Join(t.TempDir(), "simrun")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", simrun, "lakebed/cmd/simrun").CombinedOutput(); err != nil {
		t.Fatalf("build simrun: %v\n%s", err, out)
	}
	found := cells(shortRun(t, Options{Only: "write/3-3-2/100B/1000", Processes: true, Executable: simrun, Length: 100 * time.Millisecond}))
	if c := found["ledger/write/3-3-2/100B/1000"]; value(t, c, figureAdds) <= 0 || value(t, c, figureCPU) <= 0 {
		t.Errorf("%+v", c)
	}
	if c := found["ledger/write/3-3-2/100B/1000/unsynced"]; value(t, c, figureAdds) <= 0 {
		t.Errorf("%+v", c)
	}
	found = cells(shortRun(t, Options{Only: "ledger/read/100B/cold/batch/100", Processes: true, Executable: simrun}))
	if value(t, found["ledger/read/100B/cold/batch/100"], figureReads) <= 0 {
		t.Error("no cold reads from processes")
	}
}

// TestRoundsTakeTurnsAndTheFirstIsNotCounted: the order turns round, and a budget cuts rounds, but never below the least.
func TestRoundsTakeTurnsAndTheFirstIsNotCounted(t *testing.T) {
	var order []string
	arms := []arm{&fakeArm{"a", &order}, &fakeArm{"b", &order}, &fakeArm{"c", &order}}
	l := &lab{begun: time.Now()}
	rounds, err := l.roundRobin(t.Context(), arms, turns{rounds: 3})
	if err != nil || strings.Join(order, " ") != "a0 b0 c0 c1 b1 a1 a2 b2 c2 c3 b3 a3" {
		t.Errorf("%v: %v", err, order)
	}
	for i, all := range rounds {
		if len(all) != 3 || all[0].entries != 1 || all[2].entries != 3 {
			t.Errorf("arm %d has %+v", i, all)
		}
	}
	l.pace = pace{roundsMin: 2, budget: 1}
	if rounds, err = l.roundRobin(t.Context(), arms, turns{rounds: 10}); err != nil || len(rounds[0]) != 2 || len(l.notes) != 1 {
		t.Errorf("%v: %d rounds, notes %v", err, len(rounds[0]), l.notes)
	}
	l.pace = pace{roundsMin: 2, hurryAfter: 1}
	if rounds, err = l.roundRobin(t.Context(), arms, turns{rounds: 10}); err != nil || len(rounds[0]) != 2 {
		t.Errorf("%v: %d rounds", err, len(rounds[0]))
	}
	before := func(_ context.Context, number int) error {
		if number == 1 {
			return errPlanned
		}
		return nil
	}
	if _, err = l.roundRobin(t.Context(), arms, turns{rounds: 3, before: before}); !errors.Is(err, errPlanned) {
		t.Errorf("what comes before a round failed: %v", err)
	}
}

type fakeArm struct {
	called string
	order  *[]string
}

func (a *fakeArm) name() string { return a.called }

func (a *fakeArm) round(number int, _ time.Duration) (round, error) {
	*a.order = append(*a.order, fmt.Sprint(a.called, number))
	return round{entries: int64(number)}, nil
}
