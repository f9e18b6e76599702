package reports

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// compared makes two results of one figure each time, and compares them.
func compared(t *testing.T, figures ...[2]Figure) []Change {
	t.Helper()
	before, after := sampleBench(), sampleBench()
	var old, now []Cell
	for i, f := range figures {
		name := strings.Repeat("x", i+1)
		old, now = append(old, Cell{Name: name, Figures: []Figure{f[0]}}), append(now, Cell{Name: name, Figures: []Figure{f[1]}})
	}
	before.Groups, after.Groups = []Group{{Name: "g", Cells: old}}, []Group{{Name: "g", Cells: now}}
	return Compare(&before, &after)
}

func made(unit string, clock Clock, better Better, samples ...float64) Figure {
	return NewFigure("figure", unit, clock, better, samples, 1)
}

// Goal: the word says what a user wants to know: the direction counts by what is better, and by the kind of figure.
func TestWordsOfChanges(t *testing.T) {
	low, high := []float64{1.00, 1.01, 1.02, 1.03, 1.04}, []float64{2.00, 2.01, 2.02, 2.03, 2.04}
	mixed := []float64{0.9, 1.0, 1.02, 1.1, 1.2}
	for _, c := range []struct {
		unit   string
		clock  Clock
		better Better
		before []float64
		after  []float64
		want   ChangeWord
	}{
		{"1/s", ClockWall, HigherBetter, low, high, Faster},
		{"1/s", ClockWall, HigherBetter, high, low, Slower},
		{"s", ClockCPU, LowerBetter, low, high, Slower},
		{"s", ClockVirtual, LowerBetter, high, low, Faster},
		{"1", ClockWall, HigherBetter, low, high, Improved},
		{"B", ClockNone, LowerBetter, low, high, Worsened},
		{"1", ClockNone, NeitherBetter, low, high, Higher},
		{"1", ClockNone, NeitherBetter, high, low, Lower},
		{"1/s", ClockWall, HigherBetter, low, mixed, NoDifference},
		{"1/s", ClockWall, HigherBetter, low[:3], high[:3], TooFew},
		{"1/s", ClockWall, HigherBetter, low[:1], high[:1], TooFew},
	} {
		change := compared(t, [2]Figure{made(c.unit, c.clock, c.better, c.before...), made(c.unit, c.clock, c.better, c.after...)})[0]
		if change.Word != c.want {
			t.Errorf("%s %s better: %v, then %v: %q (p %.3f), not %q", c.unit, c.better, c.before, c.after, change.Word, change.HolmP, c.want)
		}
	}
}

// Goal: twice as much is +100 %, with an interval around it; by zero there is no percentage.
func TestChangeInPercent(t *testing.T) {
	changes := compared(t,
		[2]Figure{made("1/s", ClockWall, HigherBetter, 9, 10, 10, 11), made("1/s", ClockWall, HigherBetter, 19, 20, 20, 21)},
		[2]Figure{SingleFigure("n", "1", ClockNone, LowerBetter, 0), SingleFigure("n", "1", ClockNone, LowerBetter, 3)},
	)
	if c := changes[0]; !c.Defined || c.Percent != 100 || c.Low >= 100 || c.High <= 100 || c.Low < 60 || c.High > 140 {
		t.Errorf("from 10 to 20: %+.1f %% (%+.1f to %+.1f)", c.Percent, c.Low, c.High)
	}
	if changes[1].Defined {
		t.Errorf("from 0 to 3: %+.1f %%", changes[1].Percent)
	}
}

// Goal: the more is compared the more has to be shown, and figures that can show nothing do not count.
func TestComparingMuchNeedsMore(t *testing.T) {
	pair := [2]Figure{made("1/s", ClockWall, HigherBetter, 1, 2, 3, 4), made("1/s", ClockWall, HigherBetter, 5, 6, 7, 8)}
	same := [2]Figure{made("1/s", ClockWall, HigherBetter, 1, 2, 3, 4), made("1/s", ClockWall, HigherBetter, 1, 2, 3, 4)}
	single := [2]Figure{SingleFigure("n", "1", ClockNone, LowerBetter, 0), SingleFigure("n", "1", ClockNone, LowerBetter, 3)}
	if word := compared(t, pair, single, single, single)[0].Word; word != Faster {
		t.Errorf("four samples apart, alone: %q", word)
	}
	changes := compared(t, pair, same, same)
	if changes[0].Word != TooFew || changes[1].Word != NoDifference {
		t.Errorf("four samples apart among three figures: %q, and %q", changes[0].Word, changes[1].Word)
	}
}

// Goal: a reader is told of everything but the engine that differs.
func TestDifferencesAreSaid(t *testing.T) {
	before, after := sampleBench(), sampleBench()
	if said := Differences(&before, &after); len(said) != 0 {
		t.Errorf("nothing differs: %q", said)
	}
	for name, c := range map[string]struct {
		change func(*Result)
		want   string
	}{
		"processors":  {func(r *Result) { r.Machine.CPUs = 8 }, "processors: 2 × AMD EPYC 7B13 before, 8 ×"},
		"memory":      {func(r *Result) { r.Machine.MemoryBytes /= 2 }, "memory: 24 GiB before, 12 GiB now"},
		"kernel":      {func(r *Result) { r.Machine.Kernel = "7.0" }, "kernel: 6.18.0 before, 7.0 now"},
		"go":          {func(r *Result) { r.Build.Go = "go1.27" }, "Go: go1.26.8 linux/amd64 before"},
		"disk":        {func(r *Result) { r.Disk = nil }, "no disk on no device now"},
		"setting":     {func(r *Result) { r.Settings[1].Value = "8" }, "setting writeCacheMaxSizeMb: 64 before, 8 now"},
		"new setting": {func(r *Result) { r.Settings = append(r.Settings, Setting{"a", "b"}) }, "setting a: nothing before, b now"},
		"old setting": {func(r *Result) { r.Settings = r.Settings[:1] }, "setting writeCacheMaxSizeMb: 64 before, nothing now"},
		"noise":       {func(r *Result) { r.Machine.OthersShare = 0.5 }, "others used 50 % of the machine in the run now"},
		"missing":     {func(r *Result) { r.Groups = r.Groups[:1] }, "figures only before, not compared: 6, such as read/single entries"},
		"unit":        {func(r *Result) { r.Groups[0].Cells[0].Figures[0].Unit = "1/min" }, "another unit or clock than before, not compared: 1"},
		"experiment":  {func(r *Result) { r.ID = "X-1" }, "what was run: bench bench before, bench X-1 now"},
	} {
		after := sampleBench()
		c.change(&after)
		said := Differences(&before, &after)
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: said %q, nothing with %q", name, said, c.want)
		}
	}
}

// noisyCells are cells of a default run: rounds spread by 8 %, and on a busy machine one in twenty is up to three times as
// slow.
func noisyCells(random *rand.Rand, busy bool, slow int) []Change {
	const cells, rounds = 120, 6
	measure := func(rate float64) Figure {
		f := Figure{Name: "adds", Unit: "1/s", Clock: ClockWall, Better: HigherBetter}
		for range rounds {
			v := rate * math.Exp(0.08*random.NormFloat64())
			if busy && random.IntN(20) == 0 {
				v /= 1 + 2*random.Float64()
			}
			f.Samples = append(f.Samples, v)
		}
		return f
	}
	changes := make([]Change, cells)
	for i := range changes {
		rate := 1000 * float64(i+1)
		changes[i] = Change{Primary: true, Before: measure(rate)}
		if i == slow {
			rate /= 2
		}
		changes[i].After = measure(rate)
		changes[i].test()
	}
	judgeChanges(changes)
	return changes
}

// Goal: six rounds find a cell that has become twice as slow among a hundred and twenty, and two runs of the same engine
// seldom differ in any.
func TestSixRoundsFindACellTwiceAsSlow(t *testing.T) {
	const runs, slow = 200, 40
	for _, c := range []struct {
		busy     bool
		foundMin int
	}{{false, runs * 95 / 100}, {true, runs * 60 / 100}} {
		random := rand.New(rand.NewPCG(5, 5))
		found, alarms := 0, 0
		for range runs {
			if noisyCells(random, c.busy, slow)[slow].Word == Slower {
				found++
			}
			if slices.ContainsFunc(noisyCells(random, c.busy, -1), func(c Change) bool { return c.Word.Shown() }) {
				alarms++
			}
		}
		t.Logf("busy %t: of %d comparisons %d find the slow cell, %d of equal runs see a difference", c.busy, runs, found, alarms)
		if found < c.foundMin || alarms > runs*5/100 {
			t.Errorf("busy %t: found %d of %d, want %d; %d false alarms", c.busy, found, runs, c.foundMin, alarms)
		}
	}
}

// Goal: what follows from the tested figure of a cell is shown beside it and makes nothing harder to see.
func TestOneFigureOfACellIsTested(t *testing.T) {
	cell := Cell{Figures: []Figure{
		SingleFigure("asked for", "1/s", ClockWall, NeitherBetter, 5), made("1/s", ClockWall, NeitherBetter, 1, 2, 3),
		NewFigure("p50", "s", ClockWall, LowerBetter, []float64{1, 2}, 1), NewFigure("p99", "s", ClockWall, LowerBetter, []float64{1, 2}, 1),
	}}
	for want, n := range map[string]int{"p50": 4, "figure": 2, "asked for": 1, "": 0} {
		if got := primary(&Cell{Figures: cell.Figures[:n]}); got != want {
			t.Errorf("of %d figures %q is tested, not %q", n, got, want)
		}
	}
	before, after := sampleBench(), slower(sampleBench())
	tested := map[string]int{}
	for _, c := range Compare(&before, &after) {
		if c.Primary {
			tested[c.Cell]++
		} else if c.Word != NotTested || c.HolmP != 1 {
			t.Errorf("%s of %s: %s", c.After.Name, c.Cell, c.Word)
		}
	}
	for cell, n := range tested {
		if n != 1 {
			t.Errorf("%d figures of %s are tested", n, cell)
		}
	}
}

// Goal: probabilities are numbers whatever a file says: one that is none would hide all others behind it, and cannot be written
// as JSON.
func TestSamplesOfAnySizeHaveAProbability(t *testing.T) {
	tiny, huge := []float64{0, 1e-102, 2e-102, 1.5e-102, 3e-102}, []float64{0, 5e-102, 7e-102, 8e-102, 9e-102}
	if p := welchP(tiny, huge); !(p > 0 && p < 0.1) {
		t.Errorf("squares that are too small for a number: %v", p)
	}
	tiny, huge = []float64{0, 1e-200, 2e-200}, []float64{0, 1e200, 2e200}
	if p := welchP(tiny, huge); p != 1 {
		t.Errorf("squares that are too large for a number: %v", p)
	}
	if p := welchP([]float64{1.5e308, -1.5e308, 0}, []float64{-1e308, 1.7e308, 1.7e308}); p != 1 {
		t.Errorf("a difference that is too large for a number: %v", p)
	}
}
