package model

import (
	"cmp"
	"fmt"
	"slices"
)

// checkLists holds every list answer against what was known of each ledger.
func (c *checker) checkLists() {
	for i := range c.history.Ops {
		if op := &c.history.Ops[i]; op.Kind == List && op.Outcome == OK {
			c.checkList(int32(i))
		}
	}
}

// checkList walks the sorted answer and the sorted ledgers side by side.
func (c *checker) checkList(i int32) {
	listed := slices.Clone(c.history.Listed(int(i)))
	slices.Sort(listed)
	named := len(listed)
	if listed = slices.Compact(listed); len(listed) < named {
		c.report(CheckerList, "ledger named twice", none, i, "each ledger is listed once")
	}
	for k := range c.ledgers {
		ledger := &c.ledgers[k]
		for len(listed) > 0 && listed[0] < ledger.id {
			c.reportUntouched(i, listed[0])
			listed = listed[1:]
		}
		if len(listed) > 0 && listed[0] == ledger.id {
			c.checkListed(i, ledger)
			listed = listed[1:]
			continue
		}
		c.checkUnlisted(i, ledger)
	}
	for _, id := range listed {
		c.reportUntouched(i, id)
	}
}

func (c *checker) reportUntouched(list int32, id LedgerID) {
	c.report(CheckerList, "names a ledger nobody touched", none, list,
		fmt.Sprintf("no add to ledger %d and no fence of it was called before the list returned", id))
}

func (c *checker) checkListed(list int32, ledger *ledgerSummary) {
	ops := c.history.Ops
	if ledger.touched > ops[list].Return {
		c.reportUntouched(list, ledger.id)
		return
	}
	deleted := ledger.deletedBefore(ops, ops[list].Call)
	if deleted != none && ledger.revivedUntil < ops[deleted].Call {
		c.report(CheckerDeleted, "deleted ledger listed", deleted, list,
			"no recovery add and no fence could have made the ledger again")
	}
}

func (c *checker) checkUnlisted(list int32, ledger *ledgerSummary) {
	op := &c.history.Ops[list]
	if ledger.ackedBy != none && ledger.acked < op.Call && ledger.deleteCalled > op.Return {
		c.report(CheckerList, "acknowledged ledger missing", ledger.ackedBy, list,
			fmt.Sprintf("ledger %d is not in the list, and no delete of it was called", ledger.id))
	}
}

// EntryKey names an entry of a ledger.
type EntryKey struct {
	Ledger LedgerID
	Entry  EntryID
}

// Unverified lists the acknowledged entries of ledgers that no delete was called for which no final operation asked
// for. A verdict "durable" is worth only as much as this list is short.
func Unverified(h *History) []EntryKey {
	asked, deleted := map[EntryKey]bool{}, map[LedgerID]bool{}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Kind == Delete && op.mayTakeEffect() {
			deleted[op.Ledger] = true
		}
		if op.Final {
			asked[EntryKey{op.Ledger, op.Entry}] = true
			for _, item := range h.Items(i) {
				asked[EntryKey{op.Ledger, item.Entry}] = true
			}
		}
	}
	var missing []EntryKey
	for i := range h.Ops {
		op := &h.Ops[i]
		key := EntryKey{op.Ledger, op.Entry}
		if op.Kind == Add && op.Outcome == OK && !deleted[op.Ledger] && !asked[key] {
			asked[key] = true // once
			missing = append(missing, key)
		}
	}
	slices.SortFunc(missing, func(a, b EntryKey) int {
		if byLedger := cmp.Compare(a.Ledger, b.Ledger); byLedger != 0 {
			return byLedger
		}
		return cmp.Compare(a.Entry, b.Entry)
	})
	return missing
}
