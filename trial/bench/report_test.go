package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"lakebed/reports"
)

// twoPairs are an arm of 1000 B/s of groups beside a raw line of 2000, and one of 3000 beside 4000.
func twoPairs() []pair {
	return []pair{
		{
			arm: round{entries: 10, elapsed: 2 * time.Second, usage: usage{cpu: time.Second}, groups: []int64{500, 1500}},
			raw: rawRound{bytes: 2000, groups: 2, elapsed: time.Second, cpu: 500 * time.Millisecond},
		},
		{
			arm: round{entries: 30, elapsed: 2 * time.Second, usage: usage{cpu: time.Second}, groups: []int64{6000}},
			raw: rawRound{bytes: 8000, groups: 1, elapsed: 2 * time.Second, cpu: 500 * time.Millisecond},
		},
	}
}

// newLatency is a histogram with one latency.
func newLatency(t *testing.T, d time.Duration) latencies {
	t.Helper()
	l := newLatencies()
	if err := l.histogram.RecordValue(int64(d)); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAnArmsFiguresFollowFromItsPairs, by hand.
func TestAnArmsFiguresFollowFromItsPairs(t *testing.T) {
	cell := appended(t).cell(maker{1})
	for _, c := range []struct {
		figure string
		clock  reports.Clock
		want   float64
	}{
		{figureEntries, reports.ClockWall, 10},
		{"payload", reports.ClockWall, 1000},
		{"syncs", reports.ClockWall, 0.75},
		{"group", reports.ClockNone, (1000 + 6000) / 2.0},
		{"raw entries", reports.ClockWall, 3000 / 200.0},
		{figureRatio, reports.ClockWall, (0.5 + 0.75) / 2},
		{"of totals", reports.ClockWall, 2000 / (10000 / 3.0)},
		{"CPU", reports.ClockCPU, (1e6/10 + 1e6/30) / 2},
		{"raw CPU", reports.ClockCPU, (5e5/10 + 5e5/40) / 2},
		{"round", reports.ClockWall, 2},
		{"filled", reports.ClockNone, 3},
		{"others", reports.ClockNone, 0.25},
		{"max", reports.ClockWall, 3000},
	} {
		f, ok := cell.Figure(c.figure)
		if !ok || math.Abs(f.Value-c.want) > 1e-3*c.want || f.Clock != c.clock {
			t.Errorf("%s is %v by %s, want %v by %s", c.figure, f.Value, f.Clock, c.want, c.clock)
		}
	}
}

// appended is an arm with a goal.
func appended(t *testing.T) *appendResult {
	pairs := twoPairs()
	pairs[0].arm.latencies, pairs[1].arm.latencies = newLatency(t, time.Millisecond), newLatency(t, 3*time.Millisecond)
	return &appendResult{arm: Arm{Journal, 256, Batches, 100}, pairs: pairs, background: background{Prepared: 3}, others: 0.25}
}

// TestTheResultSaysWhatWasMissedAndUnderWhichConditions, on a screen and in a file.
func TestTheResultSaysWhatWasMissedAndUnderWhichConditions(t *testing.T) {
	r := &run{
		options: Options{Seed: 1, Command: "simrun bench"}, begun: time.Now(),
		disk:    reports.Disk{Dir: "/data", FileSystem: "tmpfs", Device: "scratch", Sync: syncWords, Warm: warmWords, InMemory: true},
		appends: []appendResult{*appended(t)}, skipped: []string{"bookie/blocked/1/100B"},
		fioFound: &fioResult{version: "fio-3", fios: []float64{13}, raws: []float64{10}, hots: []float64{10}},
		readings: []readResult{{plan: readPlan{Cold, 1}, rounds: []round{{entries: 1500, elapsed: time.Second, latencies: newLatency(t, time.Millisecond)}}}},
	}
	result := r.result()
	var text strings.Builder
	if err := errors.Join(result.Check(), result.Print(&text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"0 of 1 goals met", "journal/batches/256/100B", "0.85", "WARNING: /data", "wall clock", "fdatasync", "tmpfs",
		"DOES NOT OVERLAP", "cold", "page cache dropped", "1 arms were skipped", "quote figures of --thorough only", "simrun bench",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	for i := range r.appends[0].pairs { // the arm becomes as fast as the raw line
		p := &r.appends[0].pairs[i]
		p.raw.bytes, p.raw.elapsed = p.arm.groupBytes(), p.arm.elapsed
	}
	if result := r.result(); result.GoalsMet() != 1 {
		t.Errorf("goals %+v", result.Goals)
	}
}

// TestPlotsHaveALineOnlyWhereItHasTwoPoints.
func TestPlotsHaveALineOnlyWhereItHasTwoPoints(t *testing.T) {
	one, other := *appended(t), *appended(t)
	r := &run{appends: []appendResult{one}}
	if plots := r.plots(maker{1}); len(plots) != 0 {
		t.Errorf("one arm gave %+v", plots)
	}
	other.arm.Outstanding = 16
	r.appends = append(r.appends, other)
	plots := r.plots(maker{1})
	if len(plots) != 2 || len(plots[0].Lines) != 1 || len(plots[0].Lines[0].Points) != 2 {
		t.Fatalf("two arms gave %+v", plots)
	}
	if points := plots[0].Lines[0].Points; points[0].X != 16 || points[1].X != 256 || points[0].Y != 0.625 {
		t.Errorf("points %+v", points)
	}
}
