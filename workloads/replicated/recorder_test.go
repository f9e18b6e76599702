package replicated

import (
	"slices"
	"testing"

	"lakebed/model"
)

// TestADeadClientsOperationsStayOpen: what a client's death cuts off may take effect at any later time, other clients'
// operations go on, and a late answer to the dead changes nothing.
func TestADeadClientsOperationsStayOpen(t *testing.T) {
	r := NewRecorder()
	dead := r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Client: 1, Ledger: 7, Digest: 1, Length: 8})
	living := r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Client: 2, Ledger: 7, Digest: 2, Length: 8})
	r.Died(func(id model.ClientID) bool { return id == 1 })
	r.End(dead, model.OK, nil)
	if !r.Appending(7) {
		t.Error("the living client's append is not under way any more")
	}
	r.End(living, model.OK, func(op *model.ClusterOp) { op.Entry = 3 })
	h := r.History()
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(h.Ops) != 2 || h.Ops[0].Outcome != model.Unknown || h.Ops[0].Return != model.Never {
		t.Fatalf("the dead client's append: %+v", h.Ops)
	}
	if got := h.Ops[1]; got.Outcome != model.OK || got.Entry != 3 || got.Return <= got.Call || got.Call <= h.Ops[0].Call {
		t.Errorf("the living client's append: %+v", got)
	}
	if acked := r.AckedEntries(); len(acked) != 1 || acked[0] != (Acked{7, 3, 2}) {
		t.Errorf("acknowledged: %+v", acked)
	}
}

// TestOperationsThatAreCutComeInTheOrderOfTheirCalls, whatever a map's order is: a history must not depend on it.
func TestOperationsThatAreCutComeInTheOrderOfTheirCalls(t *testing.T) {
	r := NewRecorder()
	for i := range 50 {
		r.Begin(model.ClusterOp{Kind: model.LedgerAppend, Client: 1, Ledger: 1, Digest: model.Digest(i + 1), Length: 8})
	}
	for i, op := range r.History().Ops {
		if op.Digest != model.Digest(i+1) {
			t.Fatalf("operation %d is append %d", i, op.Digest)
		}
	}
}

// TestALedgerWithoutANameIsNoPartOfTheHistory: a creation that failed, or was cut, names no ledger, and must not speak
// about ledger 0.
func TestALedgerWithoutANameIsNoPartOfTheHistory(t *testing.T) {
	r := NewRecorder()
	r.Drop(r.Begin(model.ClusterOp{Kind: model.LedgerCreate, Client: 1}), model.Unknown)
	r.Begin(model.ClusterOp{Kind: model.LedgerCreate, Client: 1})
	if n := len(r.History().Ops); n != 0 {
		t.Errorf("%d operations", n)
	}
	if r.Answers()["create outcome-unknown"] != 2 || r.Operations() != 2 {
		t.Errorf("answers %v of %d operations", r.Answers(), r.Operations())
	}
}

// TestStampsAreOneOrder over operations, notices and metadata.
func TestStampsAreOneOrder(t *testing.T) {
	r := NewRecorder()
	var pending []Written
	r.Follow(func() []Written {
		defer func() { pending = nil }()
		return pending
	})
	token := r.Begin(model.ClusterOp{Kind: model.LedgerCreate, Client: 1})
	pending = []Written{{
		model.MetadataWrite{Ledger: 1, Last: model.NoLast, Expected: model.NoVersion, State: model.LedgerOpen,
			Quorum: model.QuorumShape{Ensemble: 1, Write: 1, Ack: 1}},
		[]model.LedgerFragment{{First: 0, Ensemble: []model.Node{"b"}}},
	}}
	r.End(token, model.OK, func(op *model.ClusterOp) { op.Ledger = 1 })
	r.Notice(model.Notice{Kind: model.NoticeClosed, Ledger: 1, Entry: model.NoLast, Client: 1}, nil)
	h := r.History()
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	if op, w, n := h.Ops[0], h.Metadata[0], h.Notices[0]; op.Call >= w.At || w.At >= op.Return || op.Return >= n.At {
		t.Errorf("call %d, metadata %d, return %d, notice %d", op.Call, w.At, op.Return, n.At)
	}
}

// TestNoTwoPayloadsAreAlike, whatever their size.
func TestNoTwoPayloadsAreAlike(t *testing.T) {
	seen := map[model.Digest]bool{}
	for number := uint64(1); number <= 2000; number++ {
		p := content(number, PayloadBytesMin+int(number%40))
		if d := digest(p); seen[d] {
			t.Fatalf("payload %d is like an earlier one", number)
		} else {
			seen[d] = true
		}
	}
}

// TestAcknowledgementsNameTheBookiesThatWereCounted, so that a quorum can be held against the metadata.
func TestAcknowledgementsNameTheBookiesThatWereCounted(t *testing.T) {
	for text, want := range map[string][]model.Node{
		"": nil, "b0:3181": {"b0:3181"}, "b0:3181,b2:3181": {"b0:3181", "b2:3181"},
	} {
		r := NewRecorder()
		r.NoticeAcked(model.Notice{Ledger: 7, Entry: 0, Writer: 1, Client: 1}, text)
		h := r.History()
		if len(h.Notices) != 1 || h.Notices[0].Kind != model.NoticeAcked || !slices.Equal(h.By(0), want) {
			t.Errorf("%q: %+v by %v", text, h.Notices, h.By(0))
		}
	}
}
