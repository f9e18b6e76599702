package model

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// largeLog is a right history of n operations on one log.
func largeLog(n int) *LogHistory {
	h, length := &LogHistory{}, int64(0)
	random := rand.New(rand.NewPCG(7, 8))
	var log []uint64
	for i := range n {
		at := Stamp(10 * i)
		op := LogOp{Call: at - Stamp(random.IntN(100)), Return: at + Stamp(random.IntN(100)), Client: ClientID(i % 50), Outcome: OK}
		switch random.IntN(4) {
		case 0:
			op.Kind, op.Length = LogTail, length
			h.Append(op)
		case 1:
			op.Kind, op.Length, op.Offset = LogRead, length, max(length-5, 0)
			h.AppendRead(op, log[op.Offset:])
		default:
			op.Kind, op.Value, op.Offset = LogAppend, uint64(i), length
			log, length = append(log, op.Value), length+1
			h.Append(op)
		}
	}
	return h
}

// swapAppends exchanges the places of two appends, for every reader too: what is wrong then is the order in time alone.
func (h *LogHistory) swapAppends(a, b int) {
	x, y := &h.Ops[a], &h.Ops[b]
	x.Offset, y.Offset = y.Offset, x.Offset
	for k, v := range h.values {
		switch v {
		case x.Value:
			h.values[k] = y.Value
		case y.Value:
			h.values[k] = x.Value
		}
	}
}

// TestOneLateSwappedPairInAMillionIsFound: two appends late in the history stand in the log against time, and the
// explanation names one of them.
func TestOneLateSwappedPairInAMillionIsFound(t *testing.T) {
	const n = 1_000_000
	h := largeLog(n)
	begin := time.Now()
	if found := CheckLog(h); len(found) > 0 {
		t.Fatalf("accused: %v", found)
	}
	t.Logf("%d operations decided in %v", n, time.Since(begin).Round(time.Millisecond))
	first := n - 1000
	for h.Ops[first].Kind != LogAppend {
		first++
	}
	second := first + 1
	for h.Ops[second].Kind != LogAppend || h.Ops[second].Call <= h.Ops[first].Return {
		second++
	}
	h.swapAppends(first, second)
	begin = time.Now()
	found := CheckLog(h)
	t.Logf("with operations %d and %d swapped, in %v: %v", first, second, time.Since(begin).Round(time.Millisecond), found)
	if len(found) != 1 || found[0].Signature != "log: order" {
		t.Fatalf("found %v, want one contradiction of order", found)
	}
	if !strings.Contains(found[0].Explanation, "append") {
		t.Errorf("the explanation names no append: %s", found[0].Explanation)
	}
}

// BenchmarkCheckLog checks one million operations a round.
func BenchmarkCheckLog(b *testing.B) {
	h := largeLog(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if found := CheckLog(h); len(found) > 0 {
			b.Fatal(found)
		}
	}
	b.ReportMetric(float64(len(h.Ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// largeCluster is a right history of n operations on many ledgers: pipelined appends with notices of them, tailing
// readers, batch reads, ensembles that change, and a recovery at the end of each.
func largeCluster(n, ledgers int) *ClusterHistory {
	h, random := &ClusterHistory{}, rand.New(rand.NewPCG(7, 9))
	at := Stamp(0)
	for id := range LedgerID(ledgers) {
		q := QuorumShape{3, 3, 2}
		fragments := []LedgerFragment{{0, []Node{"a", "b", "c"}}}
		h.AppendMetadata(MetadataWrite{At: at, Ledger: id, Expected: NoVersion, Last: NoLast, Quorum: q, State: LedgerOpen}, fragments)
		version := MetadataVersion(0)
		write := func(state LedgerState, last EntryID, length int64) {
			h.AppendMetadata(MetadataWrite{At: at, Ledger: id, Version: version + 1, Expected: version, Last: last, Length: length,
				Quorum: q, State: state}, fragments)
			version++
		}
		var log []Item
		for range n / ledgers {
			at += 10
			op := ClusterOp{Ledger: id, Call: at - Stamp(random.IntN(9)), Return: at + Stamp(random.IntN(9)), Client: 1, Outcome: OK}
			last := EntryID(len(log)) - 1
			switch k := random.IntN(100); {
			case k < 60 || last < 10:
				op.Kind, op.Entry, op.Digest, op.Length = LedgerAppend, last+1, digestOf(id, last+1), 100
				log = append(log, Item{last + 1, op.Digest, 100})
				h.AppendNotice(Notice{At: at, Ledger: id, Entry: last + 1, Client: 1, Kind: NoticeAcked}, nil)
				h.Append(op)
			case k < 75:
				op.Kind, op.Entry, op.Handle = LedgerConfirmed, last, 2
				h.Append(op)
			default:
				op.Kind, op.Entry, op.Handle, op.Bound, op.Outcome = LedgerBatchRead, last-EntryID(random.IntN(9)), 2, last, Found
				h.AppendRead(op, log[op.Entry:])
			}
			if random.IntN(2000) == 0 {
				fragments = append(fragments[:len(fragments):len(fragments)], LedgerFragment{EntryID(len(log)), []Node{"a", "b", "d"}})
				if f := fragments[len(fragments)-2]; f.First == EntryID(len(log)) || f.Ensemble[2] == "d" {
					fragments = fragments[:len(fragments)-1]
					continue
				}
				write(LedgerOpen, NoLast, 0)
			}
		}
		at += 10
		write(LedgerInRecovery, NoLast, 0)
		write(LedgerClosed, EntryID(len(log))-1, 100*int64(len(log)))
		h.Append(ClusterOp{Kind: LedgerRecover, Outcome: OK, Ledger: id, Client: 3, Call: at - 5, Return: at + 5,
			Entry: EntryID(len(log)) - 1, Length: 100 * int64(len(log))})
	}
	return h
}

// BenchmarkCheckCluster checks one million operations on a hundred ledgers a round.
func BenchmarkCheckCluster(b *testing.B) {
	h := largeCluster(1_000_000, 100)
	b.ReportAllocs()
	for b.Loop() {
		if found := CheckCluster(h); len(found) > 0 {
			b.Fatal(found)
		}
	}
	b.ReportMetric(float64(len(h.Ops))*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
