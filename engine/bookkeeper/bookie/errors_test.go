package bookie

import (
	"errors"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// TestAnAbsenceNamesWhatIsNotThere, for those who read it, and its class for those who branch on it.
func TestAnAbsenceNamesWhatIsNotThere(t *testing.T) {
	for _, c := range []struct {
		err  error
		text string
		is   error
	}{
		{&absence{ledger: 7, entry: 3, cause: ErrNoEntry}, "entry 3 of ledger 7: no such entry", ErrNoEntry},
		{&absence{ledger: 7, entry: ledger.NoEntry, cause: ErrNoLedger}, "ledger 7: no such ledger", ErrNoLedger},
	} {
		if c.err.Error() != c.text || !errors.Is(c.err, c.is) {
			t.Errorf("%v, want %q of class %q", c.err, c.text, c.is)
		}
	}
}
