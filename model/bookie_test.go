package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestEachSignatureIsReportedOnceWithItsCount: a bookie that loses everything gives one violation, of its first loss.
func TestEachSignatureIsReportedOnceWithItsCount(t *testing.T) {
	h := &History{}
	for i := range 100 {
		at := Stamp(4 * i)
		op := Op{Kind: Add, Outcome: OK, Call: at, Return: at + 1, Ledger: 7, Entry: EntryID(i), Digest: Digest(i)}
		h.Append(op)
		op.Kind, op.Outcome, op.Call, op.Return = Read, NoEntry, at+2, at+3
		h.Append(op)
	}
	found := CheckBookie(h)
	if len(found) != 1 || found[0].Count != 100 || !slices.Equal(found[0].Ops, []int{0, 1}) {
		t.Fatalf("found %+v", found)
	}
	for _, word := range []string{"add of entry 0 to ledger 7", "read of entry 0 of ledger 7", "operation 0", "operation 1"} {
		if !strings.Contains(found[0].Explanation, word) {
			t.Errorf("the explanation does not say %q: %s", word, found[0].Explanation)
		}
	}
}

// TestVerdictDoesNotDependOnTheOrderOfRecording: a history is a set.
func TestVerdictDoesNotDependOnTheOrderOfRecording(t *testing.T) {
	for _, s := range readScenarios(t, "testdata/bookie.txt") {
		random := rand.New(rand.NewPCG(1, 1))
		for range 5 {
			random.Shuffle(len(s.history.Ops), func(a, b int) {
				s.history.Ops[a], s.history.Ops[b] = s.history.Ops[b], s.history.Ops[a]
			})
			var got []string
			for _, v := range CheckBookie(&s.history) {
				got = append(got, v.Signature)
			}
			if fmt.Sprint(got) != fmt.Sprint(s.want) {
				t.Errorf("%s: verdict %q, want %q", s.name, got, s.want)
			}
		}
	}
}

// TestUnverifiedListsWhatNoFinalReadAskedFor: acknowledged entries of ledgers that live, once each, in order.
func TestUnverifiedListsWhatNoFinalReadAskedFor(t *testing.T) {
	h := &History{}
	add := func(ledger LedgerID, entry EntryID, outcome Outcome) {
		h.Append(Op{Kind: Add, Outcome: outcome, Call: 1, Return: 2, Ledger: ledger, Entry: entry})
	}
	add(9, 1, OK)
	add(9, 1, OK)
	add(9, 0, OK)
	add(7, 0, OK)
	add(7, 1, OK)
	add(7, 2, Unknown)
	add(7, 3, OK)
	add(8, 0, OK)
	h.Append(Op{Kind: Delete, Outcome: Unknown, Call: 3, Return: Never, Ledger: 8})
	h.Append(Op{Kind: Read, Outcome: Error, Final: true, Call: 4, Return: 5, Ledger: 9, Entry: 0})
	h.AppendRange(Op{Kind: ReadRange, Outcome: Found, Final: true, Call: 4, Return: 5, Ledger: 7}, []Item{{Entry: 0}, {Entry: 1}})
	if got := Unverified(h); !slices.Equal(got, []EntryKey{{7, 3}, {9, 1}}) {
		t.Errorf("unverified %v", got)
	}
}

// largeHistory is what a workload of n operations leaves: adds with reads, ranges, last-entry reads, restarts with adds
// that nobody answered, fences, and a final read of everything.
func largeHistory(n int) *History {
	random := rand.New(rand.NewPCG(7, 7))
	h, ends, life := &History{}, make([]EntryID, 64), Incarnation(1)
	for i := 0; len(h.Ops) < n; i++ {
		at := Stamp(10 * i)
		ledger := LedgerID(random.IntN(len(ends)))
		op := Op{Call: at + Stamp(random.IntN(5)), Return: at + 9 + Stamp(random.IntN(30)), Client: ClientID(i % 50),
			CallIncarnation: life, ReturnIncarnation: life, Ledger: ledger}
		switch k := random.IntN(100); {
		case k == 0 && i%1000 == 0:
			life++
			h.Event(Event{At: at - 1, Kind: Crash})
		case k < 45 || ends[ledger] < 100:
			op.Kind, op.Outcome, op.Entry, op.Digest = Add, OK, ends[ledger], digestOf(ledger, ends[ledger])
			op.Return = at + 9
			if k == 1 {
				op.Outcome, op.Return = Unknown, Never
			}
			ends[ledger]++
			h.Append(op)
		case k < 55:
			op.Kind, op.Outcome, op.Entry = ReadRange, Found, ends[ledger]-60
			op.Call, op.Return = at+1, at+8
			var items []Item
			for e := op.Entry; e < op.Entry+5; e++ {
				items = append(items, Item{e, digestOf(ledger, e), 100})
			}
			h.AppendRange(op, items)
		case k < 60:
			op.Kind, op.Outcome, op.Entry, op.Digest = LastEntry, Found, ends[ledger]-1, digestOf(ledger, ends[ledger]-1)
			op.Call, op.Return = at+1, at+8
			h.Append(op)
		default:
			op.Kind, op.Outcome, op.Entry = Read, Found, EntryID(random.Int64N(int64(ends[ledger])))
			op.Call, op.Return = at+1, at+8
			op.Digest = digestOf(ledger, op.Entry)
			h.Append(op)
		}
	}
	return h
}

func digestOf(ledger LedgerID, entry EntryID) Digest {
	return Digest(uint64(ledger)<<32 ^ uint64(entry)*0x9e3779b9)
}

// BenchmarkCheckBookie checks one million operations a round.
func BenchmarkCheckBookie(b *testing.B) {
	h := largeHistory(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if found := CheckBookie(h); len(found) > 0 {
			b.Fatal(found)
		}
	}
	b.ReportMetric(float64(len(h.Ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
