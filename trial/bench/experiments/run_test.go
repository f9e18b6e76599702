package experiments

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/reports"
)

// quickly runs the quick form, and wants a result that can be kept and is judged alike once more.
func quickly(t *testing.T, id ID, program Program) *reports.Result {
	t.Helper()
	if testing.Short() {
		t.Skip("runs clusters and trials")
	}
	var said bytes.Buffer
	r, err := Run(t.Context(), id, Options{Quick: true, Dir: t.TempDir(), Executable: program, Watch: &said})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if err := r.Check(); err != nil {
		t.Errorf("the result cannot be kept: %v", err)
	}
	if !IsQuick(r) || r.Command != "go run ./cmd/simrun experiment run "+string(id)+" --quick" {
		t.Errorf("a quick run that does not say so: %s, %v", r.Command, r.Settings)
	}
	again, err := Rejudge(r)
	if err != nil || r.Verdict == nil || again != *r.Verdict {
		t.Errorf("judged %v, and then %v (%v)", r.Verdict, again, err)
	}
	if r.Verdict.Word == reports.Refuted {
		t.Errorf("refuted: %s", r.Verdict.Reason)
	}
	if left, err := os.ReadDir(t.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	t.Logf("%s in %.1f s: %s", r.Verdict.Word, r.Seconds, r.Verdict.Reason)
	return r
}

// value is a figure of a result.
func value(t *testing.T, r *reports.Result, cell, name string) float64 {
	t.Helper()
	var j judgement
	f, ok := j.figureOf(r, cell, name)
	if !ok {
		t.Fatal(j.open)
	}
	return total(&f)
}

// TestBatchReadsRun: which way is faster is for the experiment to say, on a machine that does nothing else.
func TestBatchReadsRun(t *testing.T) {
	r := quickly(t, "X-07", Program{})
	for _, a := range []batchArm{{fromCache, batchSmall, 0, 1}, {fromCache, batchSmall, batchCount, 1}} {
		if value(t, r, a.cell(), figureEntry) <= 0 {
			t.Errorf("%s has no time of an entry", a.cell())
		}
	}
}

// TestStripingRuns: in the simulator bookies at their limit give five thirds, and a range of a stripe asks five bookies.
func TestStripingRuns(t *testing.T) {
	r := quickly(t, "X-09", Program{})
	shapes := stripeShapes()
	plain, striped := stripeArm{slowVirtual, shapes[0], 1, 4 << 10}, stripeArm{slowVirtual, shapes[1], 1, 4 << 10}
	if gain := value(t, r, striped.cell(), figureBandwidth) / value(t, r, plain.cell(), figureBandwidth); gain < 1.3 || gain > 1.8 {
		t.Errorf("the gain of striping is %.2f in virtual time", gain)
	}
	if touched := value(t, r, stripeReadCell(slowVirtual, shapes[1]), figureTouched); touched != 5 {
		t.Errorf("%g bookies are asked for a range", touched)
	}
}

// TestASlowReplicaRuns: three answers of three wait for the slow bookie in virtual time, two do not.
func TestASlowReplicaRuns(t *testing.T) {
	r := quickly(t, "X-45", Program{})
	shapes := slowShapes()
	if value(t, r, slowCell(slowVirtual, shapes[1], slowFactor), "p50") < 3*value(t, r, slowCell(slowVirtual, shapes[0], slowFactor), "p50") {
		t.Error("3/3/3 does not wait for its slow bookie")
	}
}

// TestLACRulesRun, trials in a worker process: both mutants are caught at once.
func TestLACRulesRun(t *testing.T) {
	r := quickly(t, "X-46", helping())
	for _, cell := range []string{cellHighest, cellContiguous} {
		if value(t, r, cell, figureMissed) > 0 {
			t.Errorf("%s was not caught", cell)
		}
	}
}

func TestReplicaChoiceRuns(t *testing.T) {
	r := quickly(t, "X-47", Program{})
	if value(t, r, choiceCell(choiceShapes()[0], anyBookie), figureNotFound) == 0 {
		t.Error("the workload leaves no holes")
	}
}

// TestSendersRun: every sender and the bare loop send the whole log, warm and cold.
func TestSendersRun(t *testing.T) {
	r := quickly(t, "X-23", Program{})
	for _, sender := range senderNames() {
		for _, warmth := range []string{cacheWarm, cacheCold} {
			if value(t, r, senderCell(256<<10, warmth, sender), figureBytesSent) <= 0 {
				t.Errorf("%s sent nothing, %s", sender, warmth)
			}
		}
	}
}

// TestReadAheadRuns: a window that doubles serves who reads on, also where eight queues share a log, and not who jumps.
func TestReadAheadRuns(t *testing.T) {
	r := quickly(t, "X-24", Program{})
	hits := func(pattern string) float64 {
		return value(t, r, aheadCell(commitlog.AdviceRandom, aheadDouble, pattern), figureHits)
	}
	if hits(patternSequential) < 0.8 || hits(patternReaders) < 0.8 || hits(patternRandom) > 0.3 {
		t.Errorf("hit ratios: sequential %.2f, eight readers %.2f, random %.2f", hits(patternSequential), hits(patternReaders), hits(patternRandom))
	}
}

func TestBookieFailureRuns(t *testing.T) { quickly(t, "X-48", Program{}) }

func TestFencingRuns(t *testing.T) { quickly(t, "X-49", Program{}) }

func TestLinearizableRuns(t *testing.T) {
	if r := quickly(t, "X-70", Program{}); value(t, r, cellCampaign, figureLegal) == 0 {
		t.Error("porcupine has searched nothing")
	}
}

func TestDurabilityRuns(t *testing.T) { quickly(t, "X-71", Program{}) }

// TestMediaRuns: each arm feels its kind of fault within a few seeds.
func TestMediaRuns(t *testing.T) {
	r := quickly(t, "X-72", Program{})
	for _, a := range mediaArms() {
		if value(t, r, a.name(), figureFelt) == 0 {
			t.Errorf("%s has felt no %s", a.name(), a.felt)
		}
	}
}

func TestMutationsRun(t *testing.T) {
	r := quickly(t, "X-73", Program{})
	for _, id := range quickDefects() {
		if value(t, r, defectCell(id), figureMissed) > 0 {
			t.Errorf("%s was not caught", id)
		}
	}
}

// TestShrinkingRuns: the trial that showed a planted bug is smaller than it was, and fails alike.
func TestShrinkingRuns(t *testing.T) {
	r := quickly(t, "X-76", Program{})
	for _, id := range []string{"no-sync"} {
		if value(t, r, defectCell(id), figureOperationsLeft) >= value(t, r, defectCell(id), figureOperationsBefore) {
			t.Errorf("%s did not become smaller", id)
		}
		if value(t, r, defectCell(id), figureAlike) != value(t, r, defectCell(id), figureReplays) {
			t.Errorf("%s does not fail alike", id)
		}
	}
}

// TestDeterminismRuns in processes of their own.
func TestDeterminismRuns(t *testing.T) { quickly(t, "X-74", helping()) }

func TestSamenessRuns(t *testing.T) { quickly(t, "X-75", Program{}) }

// TestAnInterruptedExperimentHasNoResult.
func TestAnInterruptedExperimentHasNoResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, id := range []ID{"X-45", "X-46", "X-47", "X-70"} {
		if r, err := Run(ctx, id, Options{Quick: true, Dir: t.TempDir()}); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, %v", id, r, err)
		}
	}
}

// TestDifferencesOfTracesAreSeen: one line, or one more.
func TestDifferencesOfTracesAreSeen(t *testing.T) {
	want := []string{"a", "b"}
	for _, c := range []struct {
		got       []string
		differing int
	}{{[]string{"a", "b"}, 0}, {[]string{"a", "c"}, 1}, {[]string{"a"}, 1}, {[]string{"a", "b", "c"}, 1}, {nil, 2}} {
		if got := differences(want, c.got); len(got) != c.differing {
			t.Errorf("%v: %v", c.got, got)
		}
	}
}
