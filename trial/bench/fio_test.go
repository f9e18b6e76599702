package bench

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestARateIsReadFromFiosReport(t *testing.T) {
	const good = `fio: a note
{"fio version": "fio-3.33", "jobs": [{"error": 0, "write": {"io_bytes": 3000000, "bw": 1, "runtime": 1500}}]}`
	if rate, err := parseFio([]byte(good)); err != nil || rate != 2e6 {
		t.Errorf("%v bytes per second, error %v", rate, err)
	}
	for _, bad := range []string{
		"", "fio: cannot", "{", `{"jobs": []}`,
		strings.Replace(good, `"error": 0`, `"error": 5`, 1), strings.Replace(good, `1500`, `0`, 1),
	} {
		if rate, err := parseFio([]byte(bad)); !errors.Is(err, ErrEnvironment) {
			t.Errorf("%q gave %v, error %v", bad, rate, err)
		}
	}
}

// fioRun is a run with just what the comparison with fio needs.
func fioRun(t *testing.T) *run {
	t.Helper()
	return &run{raw: newRaw(t, 4<<20), plan: plan{fio: true}, pace: pace{fioRound: 100 * time.Millisecond, fioPairs: 2}}
}

// TestAMissingFioIsSaidAloud and is no failure.
func TestAMissingFioIsSaidAloud(t *testing.T) {
	r := fioRun(t)
	t.Setenv("PATH", t.TempDir())
	if err := r.fio(t.Context()); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.notes(maker{1}), "\n"); !strings.Contains(notes, "NO FIO FIGURE") || len(r.groups(maker{1})) > 0 {
		t.Errorf("groups %v, notes:\n%s", r.groups(maker{1}), notes)
	}
}

// TestFioRunsOnTheRawLinesBlocks where it is installed. The bound is wide: the test shows that the two do the same kind
// of work, the benchmark how closely they agree.
func TestFioRunsOnTheRawLinesBlocks(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed")
	}
	r := fioRun(t)
	if err := r.fio(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := r.fioFound
	cell := f.cell(maker{1})
	if ratio, ok := cell.Figure(figureFioByRaw); !ok || len(ratio.Samples) != 2 || f.groupBytes != fioGroupBytes || ratio.Value < 0.1 || ratio.Value > 10 {
		t.Errorf("got %+v", cell)
	}
	if size, err := r.raw.file.Stat(); err != nil || size.Size() != r.raw.bytes {
		t.Errorf("fio left a file of %d bytes, error %v", size.Size(), err)
	}
}

// TestFioAndTheRawLineAgreeOnlyWithinTheBounds, which the note says aloud.
func TestFioAndTheRawLineAgreeOnlyWithinTheBounds(t *testing.T) {
	for fio, want := range map[float64]string{100: "overlaps", 92: "overlaps", 80: "DOES NOT OVERLAP", 120: "DOES NOT OVERLAP"} {
		f := &fioResult{version: "fio-3", fios: []float64{fio, fio}, raws: []float64{100, 100}, hots: []float64{100, 100}}
		if note := f.note(maker{1}); !strings.Contains(note, "fio by raw "+want) {
			t.Errorf("%v against 100: %s", fio, note)
		}
	}
}

// TestBothSidesOfAPairTakeTurnsInComingFirst, and a failure of either ends the pair.
func TestBothSidesOfAPairTakeTurnsInComingFirst(t *testing.T) {
	order := ""
	a := func() (float64, error) { order += "a"; return 1, nil }
	b := func() (float64, error) { order += "b"; return 2, nil }
	bad := func() (float64, error) { return 0, errPlanned }
	for i := range 4 {
		if first, second, err := inTurn(i, a, b); first != 1 || second != 2 || err != nil {
			t.Errorf("turn %d: %v, %v, %v", i, first, second, err)
		}
	}
	if order != "abbaabba" {
		t.Errorf("the order was %s", order)
	}
	for i := range 2 {
		if _, _, err := inTurn(i, a, bad); err != errPlanned {
			t.Errorf("turn %d: %v", i, err)
		}
		if _, _, err := inTurn(i, bad, b); err != errPlanned {
			t.Errorf("turn %d: %v", i, err)
		}
	}
}
