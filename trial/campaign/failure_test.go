package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/trial"
)

// crashedResult is a trial that ended in a panic with the words, deep in so many functions.
func crashedResult(words string, depth int) *trial.Result {
	text := "panic in task: " + words + "\n\nstack:\ngoroutine 7 [running]:\nruntime/debug.Stack()\n\t/go/stack.go:26\nlakebed/sim.(*task).finish(0x1)\n" +
		"panic({0x1, 0x2})\n\t/go/panic.go:1\nruntime.goPanicIndex(0x5)\nlakebed/internal/invariant.Check(...)\n\t/x.go:1\n"
	for i := range depth {
		text += fmt.Sprintf("lakebed/engine/record.(*Reader).step%d(0xc000, {0x1})\n\t/x.go:1\n", i)
	}
	text += "lakebed/sim.(*task).run(0x1)\n\nstacks:\nbookie task:\nlakebed/engine/other.f()\n"
	return &trial.Result{Verdict: trial.Crashed, Findings: []trial.Finding{{Checker: "world", Signature: "panic: " + words, Text: text}}}
}

// TestAPanicIsKnownByItsInnermostFunctions: its words differ from trial to trial, and what is around it is not ours.
func TestAPanicIsKnownByItsInnermostFunctions(t *testing.T) {
	for depth, want := range map[int]string{
		0: "panic: index 5",
		1: "panic in engine/record.(*Reader).step0",
		9: "panic in engine/record.(*Reader).step0, called by engine/record.(*Reader).step1, called by engine/record.(*Reader).step2",
	} {
		f := failureOf(crashedResult("index 5", depth))
		if f.signature != want || f.kind != Kind(trial.Crashed) || !strings.Contains(f.text, "index 5") {
			t.Errorf("depth %d: %q, want %q", depth, f.signature, want)
		}
	}
	a, b := failureOf(crashedResult("index 5", 3)), failureOf(crashedResult("index 6", 3))
	if a.group() != b.group() {
		t.Errorf("one panic in two groups: %v and %v", a.group(), b.group())
	}
}

// TestAFailureOfANewKindRunsTwiceMore, in other processes, and the next ones once more.
func TestAFailureOfANewKindRunsTwiceMore(t *testing.T) {
	for seeds, want := range map[int64]int64{5: 2, 10: 3, 15: 4, 19: 4} {
		o := options("bad", seeds)
		o.Weights = nil
		s := conduct(t, o)
		for _, g := range s.Failures {
			if g.Signature == "acked entry is absent" && (g.Replays != want || g.Flaky != 0) {
				t.Errorf("%d seeds: %d replays, %d flaky, want %d", seeds, g.Replays, g.Flaky, want)
			}
		}
	}
}

// TestReplaysOfAFailureAreInThreeProcesses where there are so many: the second replay avoids both earlier ones.
func TestReplaysOfAFailureAreInThreeProcesses(t *testing.T) {
	o := options("bad", 1)
	o.Seed, o.Shard = 5, wholeCampaign
	m := must(newMix(o.Catalogue, o.Scenarios, nil))
	for workers, third := range map[int]int64{3: 3, 2: 2} {
		b := newBook(headerOf(&o, &m), newTally(Header{}, nil))
		r := &run{options: o, book: b, queue: newQueue(b, workers)}
		result := runFake(trial.Options{Scenario: trial.Scenario{Name: "bad"}, Seed: 5})
		for at, worker := range []int64{1, 2, third} {
			for earlier := int64(1); earlier <= min(int64(at), int64(workers-1)); earlier++ {
				if refused := r.queue.batch(earlier); len(refused) != 0 {
					t.Fatalf("%d workers: process %d got %+v again", workers, earlier, refused)
				}
			}
			batch := r.queue.take(worker)
			if len(batch) != 1 || batch[0].replay != max(at-1, 0) {
				t.Fatalf("%d workers: worker %d got %+v", workers, worker, batch)
			}
			r.deliver(worker, batch[0], answer{Result: &result})
		}
		if g := b.tally.groups[groupKey{"violation", "log", "acked entry is absent"}]; g == nil || g.Replays != 2 {
			t.Errorf("%d workers: %+v", workers, g)
		}
	}
}

// TestAFlakyFailureSaysSo, with the failure of determinism before it.
func TestAFlakyFailureSaysSo(t *testing.T) {
	o := options("undecided", 1)
	o.Workers = 0
	runs.Store(1) // the first run fails, the second does not
	s := conduct(t, o)
	if len(s.Failures) != 2 || s.Failures[0].Kind != Nondeterminism || s.Failures[1].Flaky != 1 || s.Nondeterministic != 1 {
		t.Fatalf("%+v", s.Failures)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "FLAKY") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestWeightsChangeTheMix: a share for each scenario as asked, none for a weight of zero.
func TestWeightsChangeTheMix(t *testing.T) {
	share := func(names []string, weights map[string]int64) (counts map[string]int) {
		m := must(newMix(fakeCatalogue(), names, weights))
		counts = map[string]int{}
		for seed := range uint64(10_000) {
			counts[m.of(seed).Name]++
		}
		return counts
	}
	if c := share(nil, map[string]int64{"fine": 0, "bad": 9}); c["fine"] != 0 || c["good"] < 2300 || c["good"] > 2700 || c["good"]+c["bad"] != 10_000 {
		t.Errorf("good 3, fine 0, bad 9: %v", c)
	}
	if c := share([]string{"bad", "slow"}, map[string]int64{"bad": 4}); c["slow"] < 1800 || c["slow"] > 2200 || c["bad"]+c["slow"] != 10_000 {
		t.Errorf("bad 4, slow 1: %v", c)
	}
	for reason, c := range map[string]struct {
		names   []string
		weights map[string]int64
	}{
		"did you mean good?":    {nil, map[string]int64{"godo": 1}},
		"is a canary":           {nil, map[string]int64{"canary": 1}},
		"is from 0 to":          {nil, map[string]int64{"good": -1}},
		"not among":             {[]string{"fine"}, map[string]int64{"good": 1}},
		"no scenario to run":    {nil, map[string]int64{"good": 0, "fine": 0}},
		"0 to 1000000, not 100": {nil, map[string]int64{"good": 1000001}},
	} {
		if _, err := newMix(fakeCatalogue(), c.names, c.weights); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	o := options("", 400)
	o.Scenarios, o.Workers, o.Weights = nil, 0, map[string]int64{"good": 1}
	o.Catalogue.RequiredMarks = append(o.Catalogue.RequiredMarks, "fake.unreachable")
	if s := conduct(t, o); s.Outcome != Passed {
		t.Errorf("a mix of one's own is held to the rare states of the default one: %s", s.Outcome)
	}
}

// TestEachKindOfFailureIsShrunkWithinTheBudget, the first one first, and what has no plan is left alone.
func TestEachKindOfFailureIsShrunkWithinTheBudget(t *testing.T) {
	o := options("bad", 60)
	o.Out, o.ShrinkBudget = t.TempDir(), time.Minute
	var asked []string
	o.Shrink = func(ctx context.Context, path string) (string, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("no deadline")
		}
		asked = append(asked, filepath.Base(path))
		return path + ".small", nil
	}
	s := conduct(t, o)
	if len(asked) != 2 || !strings.HasSuffix(s.Failures[0].Smaller, asked[0]+".small") {
		t.Errorf("asked for %v, %+v", asked, s.Failures)
	}
	asked, o.ShrinkBudget = nil, time.Nanosecond
	if conduct(t, o); len(asked) > 0 {
		t.Errorf("without time: asked for %v", asked)
	}
	o.ShrinkBudget, o.Shrink = time.Minute, func(context.Context, string) (string, error) { return "", os.ErrPermission }
	if s, err := Run(t.Context(), o); !errors.Is(err, ErrEnvironment) || s == nil || s.Violations == 0 {
		t.Errorf("a shrinker that fails: %v, %+v", err, s)
	}
	mortal := options("mortal", 10)
	mortal.Out, mortal.ShrinkBudget = t.TempDir(), time.Minute
	mortal.Shrink = func(context.Context, string) (string, error) { t.Error("asked for one that died"); return "", nil }
	conduct(t, mortal)
}
