package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// TestClusterRulesAndSearchAgreeOnDrawnHistories: the same comparison on histories that nobody tried to make right.
// rapid shrinks a disagreement to a few operations.
func TestClusterRulesAndSearchAgreeOnDrawnHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawLedger(t)
		if h.Validate() != nil {
			t.Skip("not comparable")
		}
		fast, search := CheckCluster(h), LinearizeLedger(h, 0, time.Second)
		if search != porcupine.Unknown && (len(fast) == 0) != (search == porcupine.Ok) {
			for i := range h.Ops {
				t.Logf("%s, bound %d, %v", h.describe(i), h.Ops[i].Bound, h.Items(i))
			}
			t.Fatalf("search says %s, rules say %v", search, fast)
		}
	})
}

// drawLedger draws up to eight operations on one ledger of a few entries.
func drawLedger(t *rapid.T) *ClusterHistory {
	h := &ClusterHistory{}
	for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
		op := ClusterOp{Client: ClientID(100 + i), Outcome: OK, Entry: EntryID(rapid.IntRange(-1, 3).Draw(t, "entry")),
			Kind: rapid.SampledFrom([]ClusterKind{LedgerAppend, LedgerAppend, LedgerAppend, LedgerClose, LedgerRecover,
				LedgerConfirmed, LedgerBatchRead}).Draw(t, "kind"),
			Call: Stamp(rapid.IntRange(0, 99).Draw(t, "call"))}
		op.Return = op.Call + Stamp(rapid.IntRange(0, 40).Draw(t, "duration"))
		var items []Item
		switch op.Kind {
		case LedgerAppend:
			op.Digest, op.Entry = Digest(i+1), max(op.Entry, 0)
			op.Outcome = rapid.SampledFrom([]Outcome{OK, OK, Unknown, Fenced, Failed}).Draw(t, "outcome")
		case LedgerRecover:
			if rapid.Bool().Draw(t, "fails") {
				op.Outcome, op.Entry = Error, 0
			}
		case LedgerConfirmed:
			op.Client = ClientID(rapid.IntRange(0, 1).Draw(t, "reader"))
		case LedgerBatchRead:
			op.Client, op.Entry, op.Outcome = ClientID(rapid.IntRange(0, 1).Draw(t, "reader")), max(op.Entry, 0), Found
			op.Bound = EntryID(rapid.IntRange(-2, 3).Draw(t, "bound"))
			for k := range rapid.IntRange(1, 3).Draw(t, "count") {
				items = append(items, Item{Entry: op.Entry + EntryID(k), Digest: Digest(rapid.IntRange(1, 8).Draw(t, "digest"))})
			}
		}
		h.AppendRead(op, items)
	}
	return h
}

// TestClusterVerdictDoesNotDependOnTheOrderOfRecording: operations are judged by their stamps, not by their places.
func TestClusterVerdictDoesNotDependOnTheOrderOfRecording(t *testing.T) {
	accused := 0
	for seed := range uint64(200) {
		h := newClusterWorld(seed, "bookkeeper#1591").run(400)
		first := signatures(CheckCluster(h))
		if len(first) > 0 {
			accused++
		}
		rand.New(rand.NewPCG(seed, 12)).Shuffle(len(h.Ops), func(i, j int) { h.Ops[i], h.Ops[j] = h.Ops[j], h.Ops[i] })
		for signature := range signatures(CheckCluster(h)) {
			if _, known := first[signature]; !known {
				t.Fatalf("seed %d: %s after shuffling, %v before", seed, signature, first)
			}
			delete(first, signature)
		}
		if len(first) > 0 {
			t.Fatalf("seed %d: no longer accused of %v", seed, first)
		}
	}
	if accused < 10 {
		t.Errorf("a weak comparison: %d accused", accused)
	}
}

func signatures(found []Violation) map[string]int {
	out := map[string]int{}
	for _, v := range found {
		out[v.Signature] = v.Count
	}
	return out
}
