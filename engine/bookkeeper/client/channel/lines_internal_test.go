package channel

import (
	"testing"

	"pgregory.net/rapid"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
)

// TestLinesAreAMap: whatever keys come and go, and however they collide, each line is found and no other. The keys are
// those of neighbouring ledgers and entries, and such that many share a place.
func TestLinesAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table lines
		model := map[key]*call{}
		keys := rapid.Custom(func(t *rapid.T) key {
			return key{
				rapid.SampledFrom([]wire.Operation{wire.Add, wire.Read, wire.BatchRead}).Draw(t, "operation"),
				ledger.ID(rapid.Int64Range(0, 3).Draw(t, "ledger")),
				ledger.EntryID(rapid.Int64Range(-1, 5).Draw(t, "entry") * rapid.SampledFrom([]int64{1, 16, 64}).Draw(t, "stride")),
			}
		})
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			k := keys.Draw(t, "key")
			if head := model[k]; head != nil && rapid.Bool().Draw(t, "take") {
				table.take(head)
				delete(model, k)
			} else if head == nil {
				model[k] = &call{key: k}
				table.put(model[k])
			}
			if found := table.find(k); found != model[k] {
				t.Fatalf("found %v for %v, want %v", found, k, model[k])
			}
		}
		for k, head := range model {
			if table.find(k) != head {
				t.Fatalf("%v is lost", k)
			}
		}
		if table.count != len(model) {
			t.Fatalf("counts %d lines, holds %d", table.count, len(model))
		}
	})
}

// TestTheEntriesOfALedgerDoNotCollide: a writer's adds are found at the first look, whatever the ledger.
func TestTheEntriesOfALedgerDoNotCollide(t *testing.T) {
	var table lines
	for e := range ledger.EntryID(1000) {
		table.put(&call{key: key{wire.Add, 1<<40 + 7, 1<<33 + e}})
	}
	for _, head := range table.heads {
		if head != nil && head.chain != nil {
			t.Fatalf("%v and %v share a place", head.key, head.chain.key)
		}
	}
}
