package model

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// TestRulesAndSearchAgreeOnDrawnHistories: the same comparison on histories that nobody tried to make right. rapid
// shrinks a disagreement to a few operations.
func TestRulesAndSearchAgreeOnDrawnHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		if h.Validate() != nil || restartsTied(h) || manyFencesInDoubt(h) || answeredAcrossRestart(h) {
			t.Skip("not comparable")
		}
		fast, search := CheckBookie(h), Linearize(h, time.Second)
		if search != porcupine.Unknown && (len(fast) == 0) != (search == porcupine.Ok) {
			t.Fatalf("search says %s, rules say %v:\n%s", search, fast, dump(h))
		}
	})
}

// drawHistory draws up to eight operations on one entry, in two incarnations that part at stamp 50.
func drawHistory(t *rapid.T) *History {
	h := &History{}
	for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
		op := Op{Client: ClientID(i), Kind: rapid.SampledFrom([]Kind{Add, Read, Fence}).Draw(t, "kind"),
			Call: Stamp(rapid.IntRange(0, 99).Draw(t, "call"))}
		op.Return = op.Call + Stamp(rapid.IntRange(0, 40).Draw(t, "duration"))
		op.CallIncarnation, op.ReturnIncarnation = Incarnation(op.Call/50), Incarnation(op.Return/50)
		switch op.Kind {
		case Add:
			op.Recovery = rapid.Bool().Draw(t, "recovery")
			op.Outcome = rapid.SampledFrom([]Outcome{OK, Unknown, Fenced, NoSpace}).Draw(t, "outcome")
			op.Digest = Digest(i + 1)
		case Read:
			op.Outcome = rapid.SampledFrom([]Outcome{Found, NoEntry, NoLedger, Error}).Draw(t, "outcome")
			if op.Outcome == Found {
				op.Digest = Digest(rapid.IntRange(1, 8).Draw(t, "digest"))
			}
		default:
			op.Outcome = rapid.SampledFrom([]Outcome{OK, Unknown}).Draw(t, "outcome")
		}
		if op.Outcome == Unknown && rapid.Bool().Draw(t, "open") {
			op.Return, op.ReturnIncarnation = Never, op.CallIncarnation
		}
		h.Append(op)
	}
	return h
}
