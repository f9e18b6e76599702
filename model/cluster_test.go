package model

import (
	"testing"
)

// TestRightClustersAreNeverAccused: whatever happens in a cluster that keeps its promises, no rule finds fault with it.
func TestRightClustersAreNeverAccused(t *testing.T) {
	var ops, acked, closed, changes, recovered, fenced, deleted int
	n := *crossChecked
	for seed := range uint64(n) {
		h := newClusterWorld(seed, "").run(300 + int(seed%5)*100)
		for _, v := range CheckCluster(h) {
			t.Errorf("seed %d: %s: %s", seed, v.Signature, v.Explanation)
		}
		if t.Failed() {
			break
		}
		if missing := ClusterUnverified(h); len(missing) > 0 {
			t.Fatalf("seed %d: no final read asked for %v", seed, missing)
		}
		ops += len(h.Ops)
		for i := range h.Ops {
			switch op := &h.Ops[i]; {
			case op.Kind == LedgerAppend && op.Outcome == OK:
				acked++
			case op.Kind == LedgerAppend && op.Outcome == Fenced:
				fenced++
			case op.Kind == LedgerClose && op.Outcome == OK:
				closed++
			case op.Kind == LedgerDelete && op.Outcome == OK:
				deleted++
			}
		}
		for i := range h.Metadata {
			if h.Metadata[i].State == LedgerOpen {
				changes++
			}
		}
		for i := range h.Notices {
			if h.Notices[i].Kind == NoticeRecovered {
				recovered++
			}
		}
	}
	t.Logf("%d histories, %d operations: %d appends acknowledged, %d fenced, %d entries recovered, %d closes, %d open "+
		"metadata writes, %d deletes", n, ops, acked, fenced, recovered, closed, changes, deleted)
	for _, count := range []int{acked, fenced, recovered, closed, changes, deleted} {
		if count < n/50 {
			t.Error("a weak comparison: some rare state was hardly reached")
		}
	}
}

// TestABrokenProtocolIsAccused: with one rule of the protocol left out, some history is soon accused, and by whom.
func TestABrokenProtocolIsAccused(t *testing.T) {
	for _, c := range []struct{ bug, checker string }{
		{"bookkeeper#2614", CheckerAcked},
		{"bookkeeper#2615", CheckerEnsemble},
		{"bookkeeper#1591", CheckerQuorum},
		{"bookkeeper#3005", CheckerQuorum},
		{"bookkeeper#4651", CheckerEnsemble},
		{"one answer is enough", CheckerQuorum},
		{"one denial is enough", CheckerAcked},
		{"recovery raises the LAC", CheckerConfirmed},
	} {
		const enough = 50 // accused histories that show what the rule catches
		caught := map[string]int{}
		var seeds, accused int
		first := -1 // accused by the checker whose rule it is
		for ; seeds < 6000 && (first < 0 || accused < enough && seeds < 1000); seeds++ {
			found := CheckCluster(newClusterWorld(uint64(seeds), c.bug).run(300 + seeds%5*100))
			if len(found) > 0 {
				accused++
			}
			for _, v := range found {
				caught[v.Signature]++
				if v.Checker == c.checker && first < 0 {
					first = seeds
				}
			}
		}
		t.Logf("%s: %d of %d histories accused, the first by %s at seed %d: %v", c.bug, accused, seeds, c.checker, first, caught)
		if first < 0 {
			t.Errorf("%s: not accused by %s", c.bug, c.checker)
		}
	}
}
