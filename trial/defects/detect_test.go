package defects

import (
	"context"
	"os"
	"strings"
	"testing"
)

// testContext ends with the test binary.
var testContext = context.Background()

func TestMain(m *testing.M) {
	code := m.Run()
	if hunterDirectory != "" {
		os.RemoveAll(hunterDirectory)
	}
	os.Exit(code)
}

// quick are defects of each sort that some ten trials show.
func quick() []string {
	return []string{
		"no-sync", "mark-before-index", "failed-flush-forgotten", "index-before-log", "fence-not-replayed", "add-revives-deleted",
		"stale-read-ahead", "range-over-hole", "range-leaks", "recovery-flag-ignored", "corrupt-as-absent", "damaged-log-removed",
	}
}

// TestTheLaboratoryHasTeeth: quick defects are caught within seconds, by the checkers that their entries name.
func TestTheLaboratoryHasTeeth(t *testing.T) {
	ids := quick()
	if testing.Short() {
		ids = ids[:3]
	}
	chosen, err := choose(ids)
	if err != nil {
		t.Fatal(err)
	}
	d := detection{
		options: Options{Campaigns: 1, Workers: 2, Seed: 1, CPUSeconds: 20}, program: builtHunter(t),
		chosen: chosen, hunts: make([][]Catch, len(chosen)),
	}
	if err := d.run(testContext); err != nil {
		t.Fatal(err)
	}
	table := d.table()
	for i := range table.Defects {
		row := &table.Defects[i]
		t.Logf("%s: %s, %d seeds, %.2f s", row.ID, row.Checker, row.Seeds, row.CPUSeconds)
		if !row.Caught {
			t.Errorf("%s was not caught: %+v", row.ID, row.Hunts)
		}
	}
	if table.Caught != len(ids) || table.ExitCode() != 0 {
		t.Errorf("%d of %d caught, exit code %d", table.Caught, len(ids), table.ExitCode())
	}
}

// TestAHuntThatNamesAnotherCheckerCatchesNothing: only the named ones count, the others are told.
func TestAHuntThatNamesAnotherCheckerCatchesNothing(t *testing.T) {
	found, err := runHunter(testContext, builtHunter(t), Hunt{
		Defect: "range-over-hole", Scenario: "bookie", Checkers: []string{"memory"}, Seed: 1, SeedsMax: 5,
	})
	if err != nil || found.Caught || found.Seeds != 5 || found.Others["range: hole"] == 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestWhatFailsWithoutTheDefectIsNoCatch: the canary loses entries by itself, and reads no ranges.
func TestWhatFailsWithoutTheDefectIsNoCatch(t *testing.T) {
	found, err := runHunter(testContext, builtHunter(t), Hunt{
		Defect: "range-over-hole", Scenario: "canary", Checkers: losses(), Seed: 1, SeedsMax: 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	var without int64
	for signature, count := range found.Others {
		if strings.HasPrefix(signature, "also without the defect: ") {
			without += count
		}
	}
	if found.Caught || without == 0 {
		t.Errorf("%+v", found)
	}
}

// TestTheMedianDecides: two hunts of five may fail, three may not; and a survivor ends with exit code 1.
func TestTheMedianDecides(t *testing.T) {
	hit := func(seeds int64, seconds float64) Catch {
		return Catch{Caught: true, Checker: "bookie", Seeds: seeds, CPUSeconds: seconds}
	}
	missed := Catch{Seeds: 5000, CPUSeconds: 120}
	for _, c := range []struct {
		hunts   []Catch
		caught  bool
		seeds   int64
		seconds float64
	}{
		{[]Catch{missed, hit(3, 1), missed, hit(1, 0.5), hit(9, 4)}, true, 9, 4},
		{[]Catch{missed, hit(3, 1), missed, missed, hit(9, 4)}, false, 5000, 120},
		{[]Catch{hit(7, 2)}, true, 7, 2},
		{[]Catch{{Failure: "it died"}}, false, 0, 0},
		{nil, false, 0, 0},
	} {
		row := rowOf(&Defect{ID: "x"}, c.hunts)
		if row.Caught != c.caught || row.Seeds != c.seeds || row.CPUSeconds != c.seconds {
			t.Errorf("%+v: %+v", c.hunts, row)
		}
	}
}

// TestTheTableNamesSurvivorsFirst, with what is known of them.
func TestTheTableNamesSurvivorsFirst(t *testing.T) {
	chosen := []Defect{{ID: "caught-one", Scenario: "bookie"}, {ID: "survivor", Title: "does wrong", Scenario: "bookie"}}
	d := detection{options: Options{Campaigns: 1, CPUSeconds: 120}, chosen: chosen, hunts: [][]Catch{
		{{Caught: true, Checker: "fence", Seeds: 3, CPUSeconds: 1.5}},
		{{Seeds: 900, CPUSeconds: 120, Others: map[string]int64{"range: hole": 2}}},
	}}
	table := d.table()
	var b strings.Builder
	if err := table.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"SURVIVED: 1 of 2", "survivor: does wrong", "not by the checkers that its entry names: range: hole (2 times)", "caught-one",
		"fence", "1.50",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if table.ExitCode() != 1 || strings.Index(text, "survivor: does wrong") > strings.Index(text, "caught-one") {
		t.Errorf("exit code %d, or survivors do not come first:\n%s", table.ExitCode(), text)
	}
}

// TestWhatTakesLongIsHuntedTenTimes, and a quick look stays one.
func TestWhatTakesLongIsHuntedTenTimes(t *testing.T) {
	quick, long, lost := Catch{Caught: true, CPUSeconds: 19}, Catch{Caught: true, CPUSeconds: 21}, Catch{CPUSeconds: 120}
	d := detection{options: Options{Campaigns: 3}, chosen: make([]Defect, 3), hunts: [][]Catch{
		{quick, quick, long}, {quick, long, long}, {quick, lost, lost},
	}}
	counted := map[int]int{}
	for _, p := range d.slow() {
		if p.campaign < 3 || p.campaign >= slowCampaigns {
			t.Errorf("hunt %d of defect %d", p.campaign, p.defect)
		}
		counted[p.defect]++
	}
	if counted[0] != 0 || counted[1] != 7 || counted[2] != 7 {
		t.Errorf("hunts more by defect: %v", counted)
	}
	d.options.Campaigns = 2
	if more := d.slow(); len(more) != 0 {
		t.Errorf("two hunts were asked for, and %d more run", len(more))
	}
}

// TestTheListTellsEverythingOfAnEntry, and each place once.
func TestTheListTellsEverythingOfAnEntry(t *testing.T) {
	var b strings.Builder
	err := WriteList(&b, []Defect{{
		ID: "some-bug", Title: "does wrong", Origin: "an issue", Mechanism: "this and that", UnitTest: "nothing", Scenario: "bookie",
		Checkers: []string{"fence", "acked"}, Edits: []Edit{{File: "engine/a.go", Function: "F"}, {File: "engine/a.go", Function: "F"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"some-bug: does wrong\n", "origin     an issue\n", "mechanism  this and that\n", "unit test  nothing\n", "scenario   bookie\n",
		"checkers   fence, acked\n", "place      F in engine/a.go\n", "1 defects",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}
