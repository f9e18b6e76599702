package defects

import (
	"strings"
	"testing"

	"lakebed/trial/shrink"
)

// TestTheShrinkTableCountsWhatIsSmall: medians are of what became small, a defect that was not caught is told and fails the
// table, and so does a trial that does not fail alike each time.
func TestTheShrinkTableCountsWhatIsSmall(t *testing.T) {
	small := func(id string, faults, operations, alike int, ending shrink.Ending) ShrinkRow {
		return ShrinkRow{ID: id, Caught: true, smallTrial: smallTrial{
			After: shrink.Size{Faults: faults, Operations: operations}, Ending: ending, Replays: 10, Alike: alike,
		}}
	}
	s := shrinkAll{rows: []ShrinkRow{
		small("a", 1, 2, 10, shrink.Minimal), small("b", 3, 8, 10, shrink.OutOfBudget), small("c", 2, 30, 10, shrink.Minimal),
	}}
	table := s.table()
	if table.Shrunk != 3 || table.Minimal != 2 || table.Alike != 3 || table.FaultsMedian != 2 || table.OperationsMedian != 8 || !table.OK() {
		t.Errorf("%+v", table)
	}
	s.rows = append(s.rows, ShrinkRow{ID: "d", Failure: "not caught within its budget"})
	if table = s.table(); table.OK() || table.Shrunk != 3 || table.OperationsMedian != 8 {
		t.Errorf("with one that was not caught: %+v", table)
	}
	s.rows[3] = small("d", 1, 4, 9, shrink.Minimal)
	if table = s.table(); table.OK() || table.OperationsMedian != 6 {
		t.Errorf("with one that does not always fail: %+v", table)
	}
	var text strings.Builder
	if err := table.WriteText(&text); err != nil || !strings.Contains(text.String(), "median 1.5 faults and 6 operations") || !strings.Contains(text.String(), "9/10") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
