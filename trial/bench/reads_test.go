package bench

import (
	"testing"
	"time"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/reports"
)

// smallReads are enough for every kind of read to find what it is named after.
func smallReads() readSizes { return readSizes{logged: 2 << 10, cached: 512} }

// TestReadsComeFromWhereTheirNameSays: only cold ones reach the device, and every entry is checked to be the one asked
// for.
func TestReadsComeFromWhereTheirNameSays(t *testing.T) {
	dir := t.TempDir()
	set, err := newReadSet(dir, 1, newSource(sourceBytes, 1), smallReads())
	if err != nil {
		t.Fatal(err)
	}
	r := run{options: Options{Seed: 1}, pace: pace{readRound: 10 * time.Millisecond, readRounds: 2}}
	for _, plan := range readPlans() {
		got, err := r.readPlan(t.Context(), set, plan)
		if err != nil {
			t.Fatalf("%s: %v", plan.name(), err)
		}
		cell := got.cell(maker{1})
		rate, _ := cell.Figure(figureEntries)
		if len(got.rounds) != 2 || got.rounds[0].entries < int64(plan.readers) || rate.Value <= 0 || len(rate.Samples) != 2 {
			t.Errorf("%s: %+v", plan.name(), cell)
		}
		disk, err := reports.DiskOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		fetched, _ := cell.Figure("from the device")
		if fromDisk := fetched.Value >= readPayloadBytes; fromDisk != (plan.kind == Cold) && !disk.InMemory {
			t.Errorf("%s fetched %.0f bytes an entry from the device", plan.name(), fetched.Value)
		}
	}
	if err := set.close(); err != nil {
		t.Error(err)
	}
}

// TestAWalkGoesThroughEveryEntryBeforeItRepeatsOne, and from one ledger on to the next.
func TestAWalkGoesThroughEveryEntryBeforeItRepeatsOne(t *testing.T) {
	set := &readSet{sizes: readSizes{logged: 50, cached: 10}, logged: []ledger.ID{7, 8, 9}, cached: []ledger.ID{4}}
	for number, walk := range set.walks(readPlan{ReadAhead, 5}) {
		seen := map[place]bool{}
		for range 3 * 50 {
			p := walk()
			if seen[p] || p.entry < 0 || p.entry >= 50 {
				t.Fatalf("walk %d comes to %+v again or too far", number, p)
			}
			seen[p] = true
		}
		if p := walk(); !seen[p] || p.ledger != set.logged[number%3] || p.entry != 0 {
			t.Errorf("walk %d begins again at %+v", number, p)
		}
	}
	for _, walk := range set.walks(readPlan{Cached, 2}) {
		for range 100 {
			if p := walk(); p.ledger != 4 || p.entry < 0 || p.entry >= 10 {
				t.Fatalf("a walk through the cache comes to %+v", p)
			}
		}
	}
}
