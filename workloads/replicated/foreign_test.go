package replicated

import (
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
)

// TestForeignLedgersCrossThirtyTwoBits: some of their entries lie below the edge and most can lie behind it, and counting
// them from zero keeps their write sets.
func TestForeignLedgersCrossThirtyTwoBits(t *testing.T) {
	const edge = ledger.EntryID(1) << 31
	if ForeignFirst >= edge || ForeignFirst+foreignEntries/2 < edge {
		t.Errorf("entries %d to %d and the edge %d", ForeignFirst, ForeignFirst+foreignEntries-1, edge)
	}
	for ensemble := 1; ensemble <= 6; ensemble++ {
		q := ledger.Quorum{Ensemble: ensemble, Write: 1, Ack: 1}
		for i := range ledger.EntryID(foreignEntries) {
			if got, want := q.WriteSet(ForeignFirst+i), q.WriteSet(i); got != want {
				t.Errorf("ensemble of %d: entry %d has write set %v, entry %d has %v", ensemble, ForeignFirst+i, got, i, want)
			}
		}
	}
}

// TestEntriesOfForeignLedgersAreCountedFromZero in the history, in every part of it, and those of other ledgers as they are.
func TestEntriesOfForeignLedgersAreCountedFromZero(t *testing.T) {
	const foreign, first = model.LedgerID(ForeignLedgers) + 1, model.EntryID(ForeignFirst)
	for _, c := range []struct {
		ledger    model.LedgerID
		entry, is model.EntryID
	}{
		{foreign, first, 0}, {foreign, first + 9, 9}, {foreign, first - 1, model.NoLast}, {foreign, model.NoBound, model.NoBound},
		{foreign, model.NoLast, model.NoLast}, {foreign, 0, 0}, {7, first, first}, {7, 3, 3},
	} {
		if got := counted(c.ledger, c.entry); got != c.is {
			t.Errorf("entry %d of ledger %d: %d, want %d", c.entry, c.ledger, got, c.is)
		}
	}

	r := NewRecorder()
	r.Follow(func() []Written {
		if r.stamps.Last() > 0 {
			return nil
		}
		return []Written{{
			Write: model.MetadataWrite{
				Ledger: foreign, Expected: model.NoVersion, Last: model.NoLast, State: model.LedgerOpen,
				Quorum: model.QuorumShape{Ensemble: 1, Write: 1, Ack: 1},
			},
			Fragments: []model.LedgerFragment{{First: 0, Ensemble: []model.Node{"a:1"}}, {First: first, Ensemble: []model.Node{"a:1"}}},
		}}
	})
	token := r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Ledger: foreign, Digest: 5, Length: 8})
	r.Notice(model.Notice{Ledger: foreign, Entry: first, Kind: model.NoticeAcked}, []model.Node{"a:1"})
	r.End(token, model.OK, func(op *model.ClusterOp) { op.Entry = first })
	token = r.Begin(model.ClusterOp{Kind: model.LedgerRead, Ledger: foreign, Entry: first, Last: first})
	r.EndRead(token, model.Found, []model.Item{{Entry: first, Digest: 5, Bytes: 8}}, func(op *model.ClusterOp) { op.Bound = first })
	r.Holding(model.Holding{Ledger: foreign, Entry: first, Node: "a:1", Digest: 5, Outcome: model.Found})
	if found := model.CheckCluster(r.History()); len(found) > 0 {
		t.Errorf("a history without a fault is accused: %+v", found)
	}
	if acked := r.AckedEntries(); len(acked) != 1 || acked[0].Entry != first {
		t.Errorf("those who ask bookies need the entry's own id: %+v", acked)
	}
}
