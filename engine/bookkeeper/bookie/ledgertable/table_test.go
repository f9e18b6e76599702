package ledgertable

import (
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// TestDoubtAboutOneLedgerKeepsWhatIsKnownOfIt, and is written once.
func TestDoubtAboutOneLedgerKeepsWhatIsKnownOfIt(t *testing.T) {
	table := NewTable()
	fenced := table.Create(1)
	fenced.Fenced, fenced.HasKey, fenced.MasterKey = true, true, ledger.MasterKey{7}
	table.Create(2).Deleted = true
	table.Limbo()
	table.Doubt(3)
	for round, want := range []int{3, 0} {
		changes := table.Capture(false)
		if len(changes.Rows) != want || !changes.Uncertain {
			t.Errorf("capture %d: %+v, want %d rows in doubt", round, changes, want)
		}
		for id := range ledger.ID(4) {
			table.Doubt(max(id, 1))
		}
	}
	table.Settle()
	if changes := table.Capture(true); changes.Uncertain || len(changes.Rows) != 3 {
		t.Errorf("after the end of doubt: %+v", changes)
	}
	for id, want := range map[ledger.ID]State{
		1: {Fenced: true, HasKey: true, Limbo: true, MasterKey: ledger.MasterKey{7}}, 2: {Deleted: true}, 3: {Limbo: true},
	} {
		if got := table.Get(id).State; got != want {
			t.Errorf("ledger %d: %+v, want %+v", id, got, want)
		}
	}
}
