package protocol_test

import (
	"fmt"
	"slices"
	"testing"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// refusing is a cluster in which some bookies refuse every add, and a writer that always has entries under way. Whoever
// replaces a bookie is taken from those that are free, in turn, so that the ones that refuse come up again and again.
type refusing struct {
	t       *testing.T
	writer  *protocol.Writer
	bookies int
	refuses map[ledger.BookieID]bool
	turn    int

	changes, sinceAck, sinceAckMost int
	acked                           ledger.EntryID
}

// run appends until so many entries are acknowledged or the writer fails.
func (r *refusing) run(entries ledger.EntryID) {
	for r.writer.Failure() == 0 && r.writer.LastAddConfirmed() < entries {
		for r.writer.Room() > 0 {
			r.writer.Append(1)
		}
		effects := r.writer.Take()
		if len(effects) == 0 {
			r.t.Fatalf("nothing is under way: LAC %d, pushed %d", r.writer.LastAddConfirmed(), r.writer.LastPushed())
		}
		for i := range effects {
			r.carryOut(&effects[i])
		}
	}
}

func (r *refusing) carryOut(e *protocol.Effect) {
	switch e.Kind {
	case protocol.SendAdd:
		outcome := protocol.AddStored
		if r.refuses[e.Bookie] {
			outcome = protocol.AddFailed
		}
		r.writer.AddAnswered(e.First, e.Index, e.Bookie, outcome)
	case protocol.AskReplacements:
		r.writer.ReplacementsChosen(r.choose(e))
	case protocol.WriteMetadata:
		r.changes++
		r.sinceAck++
		r.sinceAckMost = max(r.sinceAckMost, r.sinceAck)
		r.writer.MetadataAnswered(protocol.MetadataAnswer{Outcome: protocol.MetadataApplied})
	case protocol.EntriesAcked:
		r.sinceAck, r.acked = 0, e.Last
	}
}

func (r *refusing) choose(e *protocol.Effect) []protocol.Replacement {
	exclude := slices.Clone(e.Exclude)
	var chosen []protocol.Replacement
	for index := range protocol.EnsembleMax {
		for n := 0; e.Set.Has(index) && n < r.bookies; n++ {
			r.turn++
			b := drawnID(r.turn % r.bookies)
			if !slices.Contains(exclude, b) {
				exclude = append(exclude, b)
				chosen = append(chosen, protocol.Replacement{Index: index, Bookie: b})
				break
			}
		}
	}
	return chosen
}

// TestBookiesThatRefuseForLongAreNotSwappedForEver: without an acknowledgement each round changes at most as many
// bookies as there are outside of the ensemble, and there are RoundsMax+2 rounds at most. With acknowledgements the
// attempts become rare. A writer whose entries cannot reach their ack quorum fails instead, and may be closed.
func TestBookiesThatRefuseForLongAreNotSwappedForEver(t *testing.T) {
	for _, c := range []struct {
		bookies int
		quorum  ledger.Quorum
		refuse  []int
		fails   bool
		most    int // changes for 20,000 entries
	}{
		{6, ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}, []int{0, 1, 5}, true, 12},
		{6, ledger.Quorum{Ensemble: 5, Write: 5, Ack: 4}, []int{0, 2, 4}, true, 12},
		{6, ledger.Quorum{Ensemble: 5, Write: 5, Ack: 2}, []int{0, 2, 4}, false, 20},
		{6, ledger.Quorum{Ensemble: 5, Write: 3, Ack: 1}, []int{0, 2, 5}, false, 20},
		{4, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, []int{1, 3}, false, 20},
		{5, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, []int{1, 3}, false, 3},
		{3, ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, []int{1, 2}, true, 0},
		{9, ledger.Quorum{Ensemble: 3, Write: 2, Ack: 2}, []int{1, 3, 4, 5, 6, 7, 8}, true, 50},
	} {
		t.Run(fmt.Sprintf("%d of %d at %v", len(c.refuse), c.bookies, c.quorum), func(t *testing.T) {
			o := protocol.WriterOptions{WindowMax: 16, EnsembleChangesMax: 1 << 30}
			r := &refusing{t: t, bookies: c.bookies, refuses: map[ledger.BookieID]bool{}, writer: protocol.NewWriter(o, newMetadata(c.quorum), 0)}
			for _, i := range c.refuse {
				r.refuses[drawnID(i)] = true
			}
			r.run(20_000)
			t.Logf("%d changes, at most %d without an acknowledgement; acknowledged up to %d", r.changes, r.sinceAckMost, r.acked)
			if bound := (5 + 2) * (c.bookies - c.quorum.Ensemble); r.sinceAckMost > bound {
				t.Errorf("%d changes without an acknowledgement, at most %d are promised", r.sinceAckMost, bound)
			}
			if r.changes > c.most {
				t.Errorf("%d changes, at most %d are right", r.changes, c.most)
			}
			want := protocol.Failure(0)
			if c.fails {
				want = protocol.NotEnoughBookies
			}
			if r.writer.Failure() != want {
				t.Errorf("%v, want %v", r.writer.Failure(), want)
			}
		})
	}
}
