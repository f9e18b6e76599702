package ledger_test

import (
	"math"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
)

// TestWriteSetsAreRoundRobinInSixtyFourBits: entry e lies on indexes (e+i) mod E, also where upstream's 32 bits overflow.
func TestWriteSetsAreRoundRobinInSixtyFourBits(t *testing.T) {
	quorums := []ledger.Quorum{{Ensemble: 1, Write: 1, Ack: 1}, {Ensemble: 3, Write: 3, Ack: 2}, {Ensemble: 3, Write: 2, Ack: 2}, {Ensemble: 7, Write: 4, Ack: 1}}
	entries := []ledger.EntryID{0, 1, 2, 6, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}
	for _, q := range quorums {
		for _, e := range entries {
			s := q.WriteSet(e)
			if s.Len() != q.Write {
				t.Fatalf("%+v: write set of %d", q, s.Len())
			}
			at := map[int]int{}
			for i := range s.Len() {
				want := int((uint64(e) + uint64(i)) % uint64(q.Ensemble))
				if s.At(i) != want {
					t.Errorf("%+v entry %d: position %d is index %d, want %d", q, e, i, s.At(i), want)
				}
				at[want] = i
			}
			for index := -1; index <= q.Ensemble; index++ {
				want, in := at[index]
				got, is := s.Position(index)
				if is != in || in && got != want || s.Contains(index) != in {
					t.Errorf("%+v entry %d: index %d at position %d, %v, want %d, %v", q, e, index, got, is, want, in)
				}
			}
		}
	}
}

// TestQuorumsMustNotRise: E ≥ Qw ≥ Qa ≥ 1 and nothing else.
func TestQuorumsMustNotRise(t *testing.T) {
	for e := -1; e <= 3; e++ {
		for w := -1; w <= 3; w++ {
			for a := -1; a <= 3; a++ {
				err := ledger.Quorum{Ensemble: e, Write: w, Ack: a}.Validate()
				if good := e >= w && w >= a && a >= 1; good != (err == nil) {
					t.Errorf("%d/%d/%d: %v", e, w, a, err)
				}
			}
		}
	}
	if (ledger.Quorum{Ensemble: 1 << 31, Write: 1, Ack: 1}).Validate() == nil {
		t.Error("an ensemble that metadata cannot say passes")
	}
}

// TestWriteSetsCostNoMemory: one is made for every entry and every answer.
func TestWriteSetsCostNoMemory(t *testing.T) {
	q, sum := ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}, 0
	if n := testing.AllocsPerRun(100, func() {
		s := q.WriteSet(12)
		for i := range s.Len() {
			sum += s.At(i)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
