package protocol_test

import (
	"bytes"
	"testing"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

func newMetadata(q ledger.Quorum) *ledger.Metadata {
	f := ledger.Fragment{}
	for i := range q.Ensemble {
		f.Ensemble = append(f.Ensemble, drawnID(i))
	}
	return &ledger.Metadata{Quorum: q, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C, Fragments: []ledger.Fragment{f}}
}

// answerAll answers all adds among the effects as stored, and counts what else there was.
func answerAll(w *protocol.Writer, effects []protocol.Effect) (others int) {
	for i := range effects {
		if e := &effects[i]; e.Kind == protocol.SendAdd {
			w.AddAnswered(e.First, e.Index, e.Bookie, protocol.AddStored)
		} else {
			others++
		}
	}
	return others
}

// TestNothingIsAllocatedPerEntry once the window and the lists of effects have grown to what is under way.
func TestNothingIsAllocatedPerEntry(t *testing.T) {
	w := protocol.NewWriter(protocol.WriterOptions{}, newMetadata(ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}), 1)
	round := func() {
		for range 100 {
			w.Append(1000)
		}
		for w.Pending() > 0 {
			answerAll(w, w.Take())
		}
		w.Take()
	}
	round()
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations for 100 entries", n)
	}
}

// BenchmarkEntry is one entry's way through the core at 5/3/2 with 100 under way.
func BenchmarkEntry(b *testing.B) {
	w := protocol.NewWriter(protocol.WriterOptions{}, newMetadata(ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}), 1)
	b.ReportAllocs()
	for range b.N {
		w.Append(100)
		if w.Pending() == 100 {
			answerAll(w, w.Take())
		}
	}
}

// TestTakenEffectsStayWhole while inputs are given that cause more of them.
func TestTakenEffectsStayWhole(t *testing.T) {
	w := protocol.NewWriter(protocol.WriterOptions{}, newMetadata(ledger.Quorum{Ensemble: 3, Write: 3, Ack: 3}), 1)
	w.Append(1)
	w.Append(1)
	taken := w.Take()
	for i, e := range taken {
		if want := ledger.EntryID(i / 3); e.Kind != protocol.SendAdd || e.First != want {
			t.Fatalf("effect %d: %v of entry %d", i, e.Kind, e.First)
		}
		w.AddAnswered(e.First, e.Index, e.Bookie, protocol.AddStored)
		w.Append(1)
	}
	if answerAll(w, w.Take()) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// TestClonesGoTheirOwnWay: what happens to one core leaves the other as it was, and cores that had the same inputs are in
// the same state.
func TestClonesGoTheirOwnWay(t *testing.T) {
	w := protocol.NewWriter(protocol.WriterOptions{WindowMax: 8}, newMetadata(ledger.Quorum{Ensemble: 3, Write: 2, Ack: 2}), 1)
	inputs := []func(*protocol.Writer){
		func(w *protocol.Writer) { w.Append(1) },
		func(w *protocol.Writer) { w.Append(2) },
		func(w *protocol.Writer) { w.AddAnswered(0, 0, drawnID(0), protocol.AddStored) },
		func(w *protocol.Writer) { w.AddAnswered(1, 1, drawnID(1), protocol.AddFailed) },
		func(w *protocol.Writer) { w.ReplacementsChosen([]protocol.Replacement{{Index: 1, Bookie: drawnID(7)}}) },
		func(w *protocol.Writer) {
			w.MetadataAnswered(protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown})
		},
		func(w *protocol.Writer) {
			w.MetadataAnswered(protocol.MetadataAnswer{Outcome: protocol.MetadataUnavailable})
		},
		func(w *protocol.Writer) { w.Close() },
		func(w *protocol.Writer) {
			w.MetadataAnswered(protocol.MetadataAnswer{Outcome: protocol.MetadataMissing})
		},
	}
	for i, input := range inputs {
		before, c, d := w.AppendState(nil), w.Clone(), w.Clone()
		input(c)
		if !bytes.Equal(w.AppendState(nil), before) {
			t.Fatalf("input %d of the clone has changed the core", i)
		}
		input(d)
		if !bytes.Equal(c.AppendState(nil), d.AppendState(nil)) {
			t.Fatalf("input %d gives two states", i)
		}
		input(w)
		if !bytes.Equal(w.AppendState(nil), c.AppendState(nil)) {
			t.Fatalf("input %d: the core's state differs from the clone's", i)
		}
		if bytes.Equal(w.AppendState(nil), before) {
			t.Fatalf("input %d left the state as it was", i)
		}
	}
}

// TestWindowKeepsEntriesWhileItGrows and while it wraps around.
func TestWindowKeepsEntriesWhileItGrows(t *testing.T) {
	q := ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1}
	w := protocol.NewWriter(protocol.WriterOptions{WindowMax: 100}, newMetadata(q), 1)
	next, length := ledger.EntryID(0), int64(0)
	for size := range 100 {
		for range size {
			if got := w.Append(3); got != next {
				t.Fatalf("entry %d, want %d", got, next)
			}
			next++
		}
		for _, e := range w.Take() {
			if e.Kind != protocol.SendAdd {
				continue
			}
			if length += 3; e.Length != length || e.LAC >= e.First {
				t.Fatalf("entry %d has length %d and LAC %d", e.First, e.Length, e.LAC)
			}
			w.AddAnswered(e.First, 0, drawnID(0), protocol.AddStored)
		}
		if w.LastAddConfirmed() != next-1 || w.ConfirmedLength() != length || w.Room() != 100 {
			t.Fatalf("LAC %d after %d entries", w.LastAddConfirmed(), next)
		}
	}
}
