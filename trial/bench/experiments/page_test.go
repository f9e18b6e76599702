package experiments

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lakebed/reports"
)

var update = flag.Bool("update", false, "write what is rendered now into testdata")

// sampleEntries are one experiment that was not run, and one with a result that was judged by another rule than today's.
func sampleEntries() []Entry {
	h := Hypothesis{
		ID: "X-01", Title: "A claim | with a stroke", Source: "R0-1", Mode: Simulated, Hypothesis: "It holds.", Arms: []string{"one", "two"},
		Measured: "a count", Refuted: "It does not.", Confirmed: "It does.", Undecided: "Otherwise.", Minutes: 1.5, CannotBe: "Everything else.",
	}
	run := h
	run.ID, run.Title = "X-74", "The same again"
	m := &made{}
	for _, setting := range runtimes()[1:] {
		m.putIn("Seeds", runtimeCell(setting), []string{"runtime", setting}, count(figureCompared, reports.NeitherBetter), 400)
		m.putIn("Seeds", runtimeCell(setting), []string{"runtime", setting}, count(figureDiffering, reports.LowerBetter), 0)
	}
	r := m.done()
	r.Schema, r.Kind, r.ID, r.Title, r.Command = reports.Schema, reports.KindExperiment, "X-74", run.Title, run.Command()
	r.Started, r.Seconds = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), 90
	r.Build = reports.Build{Commit: "0123456789abcdef0123456789abcdef01234567", Go: "go1.26.8", OS: "linux", Arch: "amd64"}
	r.Machine = reports.Machine{CPUs: 2, Model: "a processor", MemoryBytes: 8 << 30, Kernel: "6.18.0", OthersShare: 0.02}
	r.Settings = []reports.Setting{{Name: settingForm, Value: formFull}}
	r.Verdict = &reports.Verdict{Word: reports.Undecided, Reason: "an older rule wanted more"}
	return []Entry{{Hypothesis: h}, {Hypothesis: run, Result: r}}
}

// TestThePageIsMadeOfHypothesesResultsAndHandWrittenSections, byte for byte the same each time.
func TestThePageIsMadeOfHypothesesResultsAndHandWrittenSections(t *testing.T) {
	var text bytes.Buffer
	if err := Shelf("testdata/shelf").writePage(&text, sampleEntries()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "page.md")
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("the page is rendered differently: if that is intended, run this test with -update, and look at the result\n%s", &text)
	}
	if !strings.Contains(text.String(), "would be **confirmed**") {
		t.Error("a verdict by another rule is passed over in silence")
	}
}

// TestAShelfGivesBackWhatWasPut, and says how each experiment stands. What is no result of the experiment is an error.
func TestAShelfGivesBackWhatWasPut(t *testing.T) {
	shelf := Shelf(filepath.Join(t.TempDir(), "results"))
	state := func(id ID) string {
		entries, err := shelf.Entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.ID == id {
				return e.State()
			}
		}
		return ""
	}
	if got := state("X-74"); got != "not run" {
		t.Errorf("an empty shelf says %q", got)
	}
	r := sampleEntries()[1].Result
	path, err := shelf.Put(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := state("X-74"); got != "undecided" {
		t.Errorf("state %q", got)
	}
	r.Settings[0].Value = formQuick
	if _, err := shelf.Put(r); err != nil {
		t.Fatal(err)
	}
	if got := state("X-74"); got != "undecided (quick)" {
		t.Errorf("state of a quick run %q", got)
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
	if err := os.Rename(path, shelf.path("X-45")); err != nil {
		t.Fatal(err)
	}
	if _, err := shelf.Entries(); err == nil || !strings.Contains(err.Error(), "X-74") {
		t.Errorf("a result under another's name: %v", err)
	}
}

// TestThereIsNoPageWithoutAShelf: a directory that was misspelt must not take the hand-written sections off the page.
func TestThereIsNoPageWithoutAShelf(t *testing.T) {
	var text bytes.Buffer
	err := Shelf(filepath.Join(t.TempDir(), "reslts")).WritePage(&text)
	if !errors.Is(err, os.ErrNotExist) || text.Len() > 0 {
		t.Errorf("%v, %d bytes", err, text.Len())
	}
}
