package bench

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
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
	if len(r.Appends) != 2 || r.Fio != nil || r.Reads != nil || len(r.Goals) != 0 || r.Seconds <= 0 {
		t.Errorf("got %+v", r)
	}
	for _, a := range r.Appends {
		if a.Pairs != 6 || a.EntriesPerSecond <= 0 || a.Ratio.Low <= 0 || a.Latency.P50 <= 0 || a.CPUMicrosPerEntry <= 0 {
			t.Errorf("%s: %+v", a.Name, a)
		}
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
	if all, err := ParseWorkloads(nil); err != nil || len(all) != len(Workloads()) {
		t.Errorf("no names mean %v, error %v", all, err)
	}
	emptyAfterwards(t, dir)
}

// TestALateRunSkipsOnlyArmsWithoutAGoal, and names them.
func TestALateRunSkipsOnlyArmsWithoutAGoal(t *testing.T) {
	r := run{pace: pace{budget: 1}}
	arms := []Arm{{Journal, 64, Batches, 100}, {Journal, 16, Batches, 100}}
	if err := r.appends(t.Context(), arms, 0, 0); err != nil {
		t.Fatal(err)
	}
	if len(r.report.Skipped) != 2 || r.report.Skipped[0] != arms[0].Name() {
		t.Errorf("skipped %v", r.report.Skipped)
	}
}
