package model

import "fmt"

// checkReads judges the shape of each answer and what a reader may see.
func (c *clusterChecker) checkReads(l *ledgerView) {
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		switch {
		case !op.reads():
		case op.Outcome == Found:
			c.checkShape(i)
			c.checkBound(i)
		case op.Outcome == NoEntry && op.Entry <= op.Bound && l.deleteCalled > op.Return:
			c.report(CheckerAcked, "confirmed entry denied", none, i, fmt.Sprintf("the reader knew that entry %d is confirmed",
				op.Bound))
		}
	}
}

// checkShape: an answer starts where asked, has no hole, and has the size that was asked for.
func (c *clusterChecker) checkShape(i int32) {
	op, items := &c.history.Ops[i], c.history.Items(int(i))
	if len(items) == 0 {
		c.report(CheckerRange, "found nothing", none, i, "a read that finds something answers at least one entry")
		return
	}
	bytes := int64(0)
	for k, item := range items {
		bytes += item.Bytes
		if want := op.Entry + EntryID(k); item.Entry != want {
			rule := "hole in the answer"
			if k == 0 {
				rule = "starts elsewhere"
			}
			c.report(CheckerRange, rule, none, i, fmt.Sprintf("entry %d where %d should be", item.Entry, want))
			return
		}
	}
	switch count := int64(len(items)); {
	case op.Kind == LedgerRead && count != int64(op.Last-op.Entry)+1:
		c.report(CheckerRange, "not what was asked for", none, i, fmt.Sprintf("it answers %d entries", count))
	case op.MaxCount > 0 && count > int64(op.MaxCount):
		c.report(CheckerRange, "more entries than asked for", none, i, fmt.Sprintf("%d, and at most %d were asked for", count,
			op.MaxCount))
	case op.MaxBytes > 0 && bytes > op.MaxBytes && count > 1: // the first comes whatever its size
		c.report(CheckerRange, "more bytes than asked for", none, i, fmt.Sprintf("%d, and at most %d were asked for", bytes,
			op.MaxBytes))
	}
}

// checkBound: nothing above what the reader knows to be confirmed is answered. It could still vanish.
func (c *clusterChecker) checkBound(i int32) {
	op := &c.history.Ops[i]
	if op.Bound == NoBound {
		return
	}
	for _, item := range c.history.Items(int(i)) {
		if item.Entry > op.Bound {
			c.report(CheckerBeyond, "entry above the confirmed one", none, i, fmt.Sprintf("entry %d, and the reader knew of %d",
				item.Entry, op.Bound))
			return
		}
	}
}

// checkFinal: after everything was healed, what was promised is there.
func (c *clusterChecker) checkFinal(l *ledgerView) {
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		if !op.Final || l.deleteCalled < op.Return || op.Outcome == Found || op.Outcome == OK {
			continue
		}
		if op.Kind == LedgerRecover {
			if op.Outcome != NoLedger && !c.lossExcused(l, AnyEntry) {
				c.report(CheckerDurability, "ledger cannot be opened", none, i, "nothing that was done to the bookies excuses that")
			}
			continue
		}
		c.checkFinalRead(l, i)
	}
}

func (c *clusterChecker) checkFinalRead(l *ledgerView, i int32) {
	op := &c.history.Ops[i]
	last := op.Entry // of a batch only the first entry is owed
	if op.Kind == LedgerRead {
		last = max(op.Entry, min(op.Last, EntryID(len(l.stored)))) // beyond all appends there is nothing to lose
	}
	for entry := op.Entry; entry <= last; entry++ {
		if !c.promised(l, entry) {
			return // promises have no hole
		}
		switch {
		case op.Outcome == NoEntry || op.Outcome == NoLedger:
			c.report(CheckerDurability, "promised entry denied", l.storedAt(entry), i, fmt.Sprintf("entry %d must be there", entry))
			return
		case !c.lossExcused(l, entry):
			c.report(CheckerDurability, "promised entry unreadable", l.storedAt(entry), i,
				fmt.Sprintf("nothing that was done to the bookies excuses that entry %d cannot be read", entry))
			return
		}
	}
}

func (l *ledgerView) storedAt(entry EntryID) int32 {
	if entry < EntryID(len(l.stored)) {
		return l.stored[entry]
	}
	return none
}

// promised says whether entry was acknowledged, read, or is part of a closed ledger.
func (c *clusterChecker) promised(l *ledgerView, entry EntryID) bool {
	return l.end.known() && entry <= l.end.last || l.storedAt(entry) != none
}

// lossExcused says whether damage done on purpose may have hit an ack quorum of the copies of entry. AnyEntry asks
// whether some entry may have been hit so.
func (c *clusterChecker) lossExcused(l *ledgerView, entry EntryID) bool {
	if len(l.writes) == 0 { // nobody knows which bookies should have it
		return len(c.damaged(l, entry)) > 0
	}
	latest := l.latestContent(c.history)
	if latest == none {
		return true
	}
	w := &c.history.Metadata[latest]
	damaged := c.damaged(l, entry)
	if entry == AnyEntry {
		return len(damaged) >= int(w.Quorum.Ack)
	}
	hit := int32(0)
	for _, n := range c.history.writeSet(w, entry) {
		if damaged[n] {
			hit++
		}
	}
	return hit >= w.Quorum.Ack
}

// damaged is the set of bookies whose copy of entry may have been hit.
func (c *clusterChecker) damaged(l *ledgerView, entry EntryID) map[Node]bool {
	hit := map[Node]bool{}
	for _, d := range c.history.Damages {
		ledger := d.Ledger == AnyLedger || d.Ledger == l.id
		if ledger && (d.Entry == AnyEntry || entry == AnyEntry || d.Entry == entry) {
			hit[d.Node] = true
		}
	}
	return hit
}

// ClusterUnverified lists the acknowledged entries of ledgers that no delete was called for which no final read asked
// for. A verdict "durable" is worth only as much as this list is short.
func ClusterUnverified(h *ClusterHistory) []EntryKey {
	asked := map[EntryKey]bool{}
	deleted := map[LedgerID]bool{}
	for i := range h.Ops {
		op := &h.Ops[i]
		switch {
		case op.Kind == LedgerDelete && op.Outcome != Failed:
			deleted[op.Ledger] = true
		case !op.Final || !op.reads():
		case op.Outcome == Found:
			for _, item := range h.Items(i) {
				asked[EntryKey{op.Ledger, item.Entry}] = true
			}
		default:
			for entry := op.Entry; entry <= max(op.Entry, min(op.Last, op.Entry+EntryID(len(h.Ops)))); entry++ {
				asked[EntryKey{op.Ledger, entry}] = true
			}
		}
	}
	var out []EntryKey
	for i := range h.Ops {
		op := &h.Ops[i]
		key := EntryKey{op.Ledger, op.Entry}
		if op.Kind == LedgerAppend && op.Outcome == OK && !deleted[op.Ledger] && !asked[key] {
			out = append(out, key)
		}
	}
	return out
}
