package trial

import (
	"testing"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// TestRareStatesAreSeenInTheOrderOfMarks: each state follows from its marks in their order, and not from fewer.
func TestRareStatesAreSeenInTheOrderOfMarks(t *testing.T) {
	started := host.Event{Name: client.PointRecoveryStarted, A: 1}
	closed := func(last int64, by string) host.Event {
		return host.Event{Name: client.PointClosed, A: 1, B: last, Extra: by}
	}
	acked := func(entry int64) host.Event { return host.Event{Name: client.PointAcked, A: 1, B: entry} }
	type step struct {
		node string
		mark host.Event
		want string
	}
	for name, c := range map[string]struct {
		appending bool
		steps     []step
	}{
		"race": {false, []step{
			{"a", started, ""}, {"a", started, ""}, {"b", started, MarkRecoveriesRaced}, {"b", closed(0, "recovery"), MarkTailRecovered},
			{"a", started, ""},
		}},
		"acked while it is recovered": {true, []step{
			{"w", acked(0), ""}, {"a", started, ""}, {"w", acked(1), MarkAckedInRecovery}, {"a", closed(1, "recovery"), MarkClosedUnderWriter},
			{"w", acked(2), ""},
		}},
		"fence": {true, []step{
			{"b", host.Event{Name: bookie.PointFenceDurable, A: 1}, MarkFencedUnacked}, {"a", closed(-1, "recovery"), MarkClosedEmpty},
			{"b", host.Event{Name: bookie.PointFenceDurable, A: 1}, ""},
		}},
		"quiet fence": {false, []step{{"b", host.Event{Name: bookie.PointFenceDurable, A: 1}, ""}}},
		"closed by its writer": {true, []step{
			{"w", acked(0), ""}, {"w", closed(0, "writer"), ""}, {"a", closed(0, "recovery"), ""},
		}},
		"exact end": {false, []step{{"w", acked(3), ""}, {"a", started, ""}, {"a", closed(3, "recovery"), ""}}},
	} {
		r := newRareStates(func(int64) bool { return c.appending })
		for i, s := range c.steps {
			if got := r.see(s.node, s.mark); got != s.want {
				t.Errorf("%s, step %d: %q, want %q", name, i+1, got, s.want)
			}
		}
	}
}

// TestAWriteSetCountsAsRestartedWhenAllOfItWasDown since the ledger is there, and while it is open.
func TestAWriteSetCountsAsRestartedWhenAllOfItWasDown(t *testing.T) {
	m := ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 4, Write: 2, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry,
		Fragments: []ledger.Fragment{{First: 0, Ensemble: []ledger.BookieID{"a", "b", "c", "d"}}},
	}
	r := newRareStates(func(int64) bool { return false })
	r.crashed("a") // before there is any ledger
	r.stored(1, &m)
	for _, c := range []struct{ down, want string }{
		{"b", ""}, {"d", ""}, {"b", ""}, {"a", MarkWriteSetRestarted}, // d and a are a write set: the indexes wrap
	} {
		if got := r.crashed(c.down); got != c.want {
			t.Errorf("after %s went down: %q, want %q", c.down, got, c.want)
		}
	}
	m.State, m.LastEntry = ledger.Closed, 0
	r.stored(1, &m)
	if got := r.crashed("c"); got != "" {
		t.Errorf("of a closed ledger: %q", got)
	}
}

// TestTheThirdFragmentOfAnOpenLedgerIsNoticed.
func TestTheThirdFragmentOfAnOpenLedgerIsNoticed(t *testing.T) {
	m := ledger.Metadata{Quorum: ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry}
	r := newRareStates(func(int64) bool { return false })
	for i, want := range []string{"", "", MarkEnsembleChangedTwice} {
		m.Fragments = append(m.Fragments, ledger.Fragment{First: ledger.EntryID(i), Ensemble: []ledger.BookieID{"a"}})
		if got := r.stored(1, &m); got != want {
			t.Errorf("%d fragments: %q, want %q", i+1, got, want)
		}
	}
}
