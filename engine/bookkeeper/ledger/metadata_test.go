package ledger_test

import (
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// closedLedger uses every field.
func closedLedger() ledger.Metadata {
	return ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 3, Write: 2, Ack: 2}, State: ledger.Closed, LastEntry: 99, Length: 1234567,
		Digest: ledger.CRC32C, Password: []byte("passwd"),
		Fragments: []ledger.Fragment{
			{First: 0, Ensemble: []ledger.BookieID{"b1:3181", "b2:3181", "b3:3181"}},
			{First: 50, Ensemble: []ledger.BookieID{"b1:3181", "b4:3181", "b3:3181"}},
		},
		Created: 1700000000000, Custom: []ledger.CustomValue{{Key: "app", Value: []byte{0, 1}}}, Token: -5,
	}
}

// openLedger uses as few as possible.
func openLedger() ledger.Metadata {
	return ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 2, Write: 2, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry,
		Fragments: []ledger.Fragment{{Ensemble: []ledger.BookieID{"b1:3181", "b2:3181"}}},
	}
}

// wrongMetadata are changes that make a closed ledger's metadata wrong, each in one way.
func wrongMetadata() map[string]func(*ledger.Metadata) {
	return map[string]func(*ledger.Metadata){
		"no quorum":               func(m *ledger.Metadata) { m.Quorum.Ack = 0 },
		"quorum rises":            func(m *ledger.Metadata) { m.Quorum.Ack = 3 },
		"no state":                func(m *ledger.Metadata) { m.State = 0 },
		"unknown state":           func(m *ledger.Metadata) { m.State = 4 },
		"last entry while open":   func(m *ledger.Metadata) { m.State, m.Length = ledger.Open, 0 },
		"length while open":       func(m *ledger.Metadata) { m.State, m.LastEntry = ledger.InRecovery, ledger.NoEntry },
		"last entry below none":   func(m *ledger.Metadata) { m.LastEntry = -2 },
		"negative length":         func(m *ledger.Metadata) { m.Length = -1 },
		"unknown digest":          func(m *ledger.Metadata) { m.Digest = 5 },
		"password without digest": func(m *ledger.Metadata) { m.Digest = ledger.DigestUnstored },
		"no fragment":             func(m *ledger.Metadata) { m.Fragments = nil },
		"first fragment late":     func(m *ledger.Metadata) { m.Fragments[0].First = 1 },
		"fragments fall":          func(m *ledger.Metadata) { m.Fragments[1].First = 0 },
		"small ensemble":          func(m *ledger.Metadata) { m.Fragments[1].Ensemble = m.Fragments[1].Ensemble[:2] },
		"bookie twice":            func(m *ledger.Metadata) { m.Fragments[1].Ensemble[2] = "b1:3181" },
		"bookie without name":     func(m *ledger.Metadata) { m.Fragments[1].Ensemble[2] = "" },
		"bookie with a slash":     func(m *ledger.Metadata) { m.Fragments[1].Ensemble[2] = "a/b" },
		"bookie with a tab":       func(m *ledger.Metadata) { m.Fragments[1].Ensemble[2] = "a\tb" },
		"custom value twice":      func(m *ledger.Metadata) { m.Custom = append(m.Custom, m.Custom[0]) },
		"custom values unsorted":  func(m *ledger.Metadata) { m.Custom = append(m.Custom, ledger.CustomValue{Key: "a"}) },
	}
}

// TestWrongMetadataAreTold, each way in which they can be wrong.
func TestWrongMetadataAreTold(t *testing.T) {
	for _, m := range []ledger.Metadata{closedLedger(), openLedger()} {
		if err := m.Validate(); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
	for name, change := range wrongMetadata() {
		m := closedLedger()
		change(&m)
		if err := m.Validate(); !errors.Is(err, ledger.ErrMetadata) {
			t.Errorf("%s: %v", name, err)
		}
		if m.Equal(closedLedger()) {
			t.Errorf("%s: equal to the right ones", name)
		}
	}
}

// TestAFragmentHoldsTheEntriesUpToTheNext, and the last one all that follow.
func TestAFragmentHoldsTheEntriesUpToTheNext(t *testing.T) {
	m := closedLedger()
	for entry, want := range map[ledger.EntryID]ledger.EntryID{0: 0, 1: 0, 49: 0, 50: 50, 51: 50, 1 << 40: 50} {
		if got := m.FragmentOf(entry).First; got != want {
			t.Errorf("entry %d lies in the fragment at %d, want %d", entry, got, want)
		}
	}
	if m.Last().First != 50 || m.Last().Index("b4:3181") != 1 || m.Last().Index("b2:3181") != -1 {
		t.Errorf("last fragment %+v", m.Last())
	}
}

// TestAClonesChangesStayItsOwn: protocol cores copy metadata, change the copy, and may have to give it up.
func TestAClonesChangesStayItsOwn(t *testing.T) {
	m := closedLedger()
	c := m.Clone()
	if !c.Equal(m) {
		t.Fatal("a clone differs")
	}
	c.Fragments[1].Ensemble[0], c.Fragments[1].First, c.Password[0], c.Custom[0].Value[0] = "other", 51, 'x', 9
	c.Fragments = append(c.Fragments, ledger.Fragment{First: 60})
	if !m.Equal(closedLedger()) {
		t.Errorf("a clone's changes reach the original: %+v", m)
	}
	if c.Equal(m) {
		t.Error("changes are not seen")
	}
}

// TestMetadataAreToldWithoutThePassword, and with what people look for.
func TestMetadataAreToldWithoutThePassword(t *testing.T) {
	const closed = "CLOSED, ensemble 3, write quorum 2, ack quorum 2, last entry 99, length 1234567, digest CRC32C, " +
		"from entry 0 on [b1:3181 b2:3181 b3:3181], from entry 50 on [b1:3181 b4:3181 b3:3181]"
	const opened = "OPEN, ensemble 2, write quorum 2, ack quorum 1, digest not stored, from entry 0 on [b1:3181 b2:3181]"
	for want, m := range map[string]ledger.Metadata{closed: closedLedger(), opened: openLedger()} {
		for _, got := range []string{m.String(), fmt.Sprintf("%v", m), fmt.Sprintf("%+v", &m)} {
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	}
}
