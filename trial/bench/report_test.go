package bench

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// TestAnArmsFiguresFollowFromItsPairs, by hand.
func TestAnArmsFiguresFollowFromItsPairs(t *testing.T) {
	arm := Arm{Journal, 256, Batches, 100}
	r := appendResult(arm, twoPairs(), newLatencies(), background{}, 1)
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"entries/s", r.EntriesPerSecond, 10},
		{"payload bytes/s", r.PayloadBytesPerSecond, 1000},
		{"group bytes/s", r.GroupBytesPerSecond, 2000},
		{"syncs/s", r.SyncsPerSecond, 0.75},
		{"group mean", r.GroupBytesMean, 8000.0 / 3},
		{"raw bytes/s", r.RawBytesPerSecond, 3000},
		{"raw entries/s", r.RawEntriesPerSecond, 3000 / 200.0},
		{"ratio", r.Ratio.Median, (0.5 + 0.75) / 2},
		{"ratio of totals", r.RatioOfTotals, 2000 / (10000 / 3.0)},
		{"CPU µs", r.CPUMicrosPerEntry, 2e6 / 40},
		{"raw CPU µs", r.RawCPUMicrosPerEntry, 1e6 / 50},
		{"round", r.RoundSeconds, 2},
	} {
		if math.Abs(c.got-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("%s is %v, want %v", c.what, c.got, c.want)
		}
	}
}

// reported is a report with everything in it.
func reported() Report {
	arm := Arm{Journal, 256, Batches, 100}
	r := Report{
		Clock: clockText, Sync: syncText, Place: Place{Dir: "/data", FileSystem: "ext4", Device: "/dev/vda"},
		Appends: []AppendResult{appendResult(arm, twoPairs(), newLatencies(), background{}, 1)},
		Fio:     &FioResult{Version: "fio-3", Pairs: 10, Ratio: Interval{1.3, 1.2, 1.4}},
		Reads:   []ReadResult{{Name: "read/cold/1", Kind: Cold, EntriesPerSecond: Interval{1500, 1400, 1600}}},
		Skipped: []string{"bookie/blocked/1/100B"},
	}
	r.judge()
	return r
}

// TestTheReportSaysWhatWasMissedAndUnderWhichConditions.
func TestTheReportSaysWhatWasMissedAndUnderWhichConditions(t *testing.T) {
	r := reported()
	r.Place.InMemory = true
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"0 of 1 goals met", "MISSED", "journal/batches/256/100B", "0.625", "WARNING: /data", "wall clock", "fdatasync", "ext4",
		"/dev/vda", "DOES NOT OVERLAP", "read/cold/1", "page cache dropped", "WARNING: 1 arms were skipped", "quote figures of --thorough only",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	r.Appends[0].Ratio = Interval{0.9, 0.85, 0.95}
	r.judge()
	text.Reset()
	if err := r.Print(&text); err != nil || !strings.Contains(text.String(), "1 of 1 goals met") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
}

// TestAFailingOutputIsAnError instead of a report that ends early.
func TestAFailingOutputIsAnError(t *testing.T) {
	r := reported()
	if err := r.Print(failingWriter{}); !errors.Is(err, errPlanned) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errPlanned }

// TestAReportComesBackFromItsJSON, and files that are none are refused.
func TestAReportComesBackFromItsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	want := reported()
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(text))
	got, err := ReadReport(path)
	if err != nil || got.Appends[0] != want.Appends[0] || got.Reads[0] != want.Reads[0] || got.Place != want.Place {
		t.Errorf("got %+v, error %v", got, err)
	}
	for _, bad := range []string{"", "{}", "[]", "no report"} {
		write(bad)
		if _, err := ReadReport(path); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ReadReport(path + "missing"); !errors.Is(err, ErrUsage) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestAComparisonClaimsADifferenceOnlyWhereIntervalsAreApart.
func TestAComparisonClaimsADifferenceOnlyWhereIntervalsAreApart(t *testing.T) {
	before := Interval{1, 0.9, 1.1}
	for _, c := range []struct {
		after Interval
		want  string
	}{
		{Interval{1.05, 1, 1.2}, "no difference shown"},
		{Interval{1.3, 1.2, 1.4}, "higher"},
		{Interval{0.7, 0.6, 0.8}, "LOWER"},
		{Interval{1.2, 1.1, 1.3}, "no difference shown"},
	} {
		if got := apart(before, c.after); got != c.want {
			t.Errorf("%+v after %+v: %s, want %s", c.after, before, got, c.want)
		}
	}
	old, now := reported(), reported()
	now.Reads[0].EntriesPerSecond = Interval{3000, 2900, 3100}
	var text strings.Builder
	if err := now.PrintComparison(&text, &old); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+100.0 %", "higher", "no difference shown", "journal/batches/256/100B"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the comparison does not say %q:\n%s", want, text.String())
		}
	}
	text.Reset()
	if err := now.PrintComparison(&text, &Report{}); err != nil || !strings.Contains(text.String(), "no arm in common") {
		t.Errorf("error %v:\n%s", err, text.String())
	}
}
