package bench

import (
	"context"
	"errors"
	"os"
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
	if err := r.appends(t.Context(), []Arm{other}, 0, 6); err != nil {
		t.Fatal(err)
	}
	if len(r.report.Skipped) != 1 || r.report.Skipped[0] != other.Name() {
		t.Errorf("skipped %v", r.report.Skipped)
	}
	r.pace = Options{Thorough: true}.pace()
	if got := r.pairsInTime(other, 15); got != 15 {
		t.Errorf("a thorough run gives %d pairs", got)
	}
}
