package model

import (
	"cmp"
	"fmt"
	"slices"
)

// checkEnd finds the end of a closed ledger and holds everybody against it. Metadata decides; without it, whoever was
// told first.
func (c *clusterChecker) checkEnd(l *ledgerView) {
	c.findEnd(l)
	if !l.end.known() {
		return
	}
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		switch {
		case op.ends():
			c.checkSameEnd(l, i)
		case op.Kind == LedgerAppend && op.Outcome == OK:
			c.checkAckedWithin(l, i)
		case op.Kind == LedgerConfirmed && op.Outcome == OK && op.Entry > l.end.last:
			c.reportEnd(l, CheckerConfirmed, "confirmed entry beyond the end", i, "what was confirmed cannot be cut off")
		case op.reads():
			c.checkReadWithin(l, i)
		}
	}
}

func (c *clusterChecker) findEnd(l *ledgerView) {
	for _, i := range l.writes {
		if w := &c.history.Metadata[i]; w.State == LedgerClosed {
			l.end = ledgerEnd{at: w.At, last: w.Last, length: w.Length, op: none, write: i}
			return
		}
	}
	for _, i := range l.ops {
		if op := &c.history.Ops[i]; op.ends() && (l.end.op == none || op.Return < l.end.at) {
			l.end = ledgerEnd{at: op.Return, last: op.Entry, length: op.Length, op: i, write: none}
		}
	}
}

// checkSameEnd: a closed ledger's end never changes, and clients say what metadata says.
func (c *clusterChecker) checkSameEnd(l *ledgerView, i int32) {
	op := &c.history.Ops[i]
	agrees := op.Entry == l.end.last
	switch {
	case l.end.write != none && !agrees:
		c.reportEnd(l, CheckerDivergence, "client and metadata disagree about the end", i, "metadata decides where a ledger ends")
	case !agrees:
		c.report(CheckerEnd, "two ends", l.end.op, i, "a closed ledger never changes")
	case len(l.writes) > 0 && (l.end.write == none || l.end.at > op.Return):
		c.reportSeen(CheckerDivergence, "closed, but not in metadata", i, "no metadata write had closed the ledger by then")
	case op.Length != l.end.length:
		c.reportEnd(l, CheckerLength, "two lengths of one end", i, "the last entry is the same")
	}
}

// checkAckedWithin: an acknowledged entry is part of the closed ledger, and none is added to it.
func (c *clusterChecker) checkAckedWithin(l *ledgerView, i int32) {
	op := &c.history.Ops[i]
	switch {
	case op.Call > l.end.at:
		c.reportEnd(l, CheckerFence, "acknowledged after the close", i, "the append was called when the ledger was closed")
	case op.Entry > l.end.last:
		c.reportEnd(l, CheckerAcked, "acknowledged entry beyond the end", i, "the entry is lost")
	}
}

// checkReadWithin: what is beyond the end is never read, whoever asks.
func (c *clusterChecker) checkReadWithin(l *ledgerView, i int32) {
	for _, item := range c.history.Items(int(i)) {
		if item.Entry > l.end.last {
			c.reportEnd(l, CheckerBeyond, "entry beyond the end", i, fmt.Sprintf("entry %d is no part of the ledger", item.Entry))
			return
		}
	}
	if op := &c.history.Ops[i]; op.Bound > l.end.last {
		c.reportEnd(l, CheckerConfirmed, "reader's bound beyond the end", i, fmt.Sprintf("it took entry %d for confirmed", op.Bound))
	}
}

// reportEnd reports an operation that contradicts the end.
func (c *clusterChecker) reportEnd(l *ledgerView, checker, rule string, i int32, because string) {
	if l.end.op != none {
		c.report(checker, rule, l.end.op, i, because)
		return
	}
	c.reportSeen(checker, rule, i, fmt.Sprintf("%s; the end is that of %s", because, c.history.describeWrite(l.end.write)))
}

// checkLength: the length of a closed ledger is that of its payloads. Where an entry is unknown nothing can be said.
func (c *clusterChecker) checkLength(l *ledgerView) {
	if !l.end.known() || l.end.last >= EntryID(len(l.stored)) {
		return
	}
	sum := int64(0)
	for _, i := range l.stored[:l.end.last+1] {
		if i == none {
			return
		}
		sum += c.history.Ops[i].Length
	}
	if sum == l.end.length {
		return
	}
	because := fmt.Sprintf("the %d payloads have %d bytes", l.end.last+1, sum)
	if l.end.op != none {
		c.report(CheckerLength, "not the sum of the payloads", none, l.end.op, because)
		return
	}
	c.reportSeen(CheckerLength, "not the sum of the payloads", none, c.history.describeWrite(l.end.write)+": "+because)
}

// checkAckOrder: one writer's ids follow the order of its calls, and its acknowledgements follow the ids.
func (c *clusterChecker) checkAckOrder(l *ledgerView) {
	ops := c.history.Ops
	var acked []int32
	for _, i := range l.ops {
		if ops[i].Kind == LedgerAppend && ops[i].Outcome == OK {
			acked = append(acked, i)
		}
	}
	slices.SortFunc(acked, func(a, b int32) int {
		return cmp.Or(cmp.Compare(ops[a].Client, ops[b].Client), cmp.Compare(ops[a].Handle, ops[b].Handle),
			cmp.Compare(ops[a].Entry, ops[b].Entry))
	})
	called, returned := none, none // those of the writer so far that were called and that returned last
	for k, i := range acked {
		if k == 0 || !sameHandle(&ops[acked[k-1]], &ops[i]) {
			called, returned = i, i
			continue
		}
		if ops[i].Call < ops[called].Call {
			c.report(CheckerAckOrder, "ids against the order of calls", called, i, "one writer's entries are numbered as they are called")
		}
		if ops[i].Return < ops[returned].Return {
			c.report(CheckerAckOrder, "acknowledged out of order", returned, i, "the later entry was acknowledged before the earlier")
		}
		if ops[i].Call > ops[called].Call {
			called = i
		}
		if ops[i].Return > ops[returned].Return {
			returned = i
		}
	}
}

func sameHandle(a, b *ClusterOp) bool { return a.Client == b.Client && a.Handle == b.Handle }

// checkFenced: a writer is fenced only because somebody takes its ledger over, and never acknowledges again.
func (c *clusterChecker) checkFenced(l *ledgerView) {
	refused := map[readerKey]int32{} // the earliest refusal
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		if op.Kind != LedgerAppend || op.Outcome != Fenced {
			continue
		}
		if l.recoveryCalled > op.Return && l.recoveryWritten > op.Return {
			c.report(CheckerFence, "fenced though nobody recovers", none, i, "no recovery, close or delete was called by then")
		}
		key := readerKey{op.Client, op.Handle}
		if before, known := refused[key]; !known || op.Return < c.history.Ops[before].Return {
			refused[key] = i
		}
	}
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		if op.Kind != LedgerAppend || op.Outcome != OK {
			continue
		}
		if before, known := refused[readerKey{op.Client, op.Handle}]; known && c.history.Ops[before].Return < op.Call {
			c.report(CheckerFence, "acknowledged by a fenced writer", before, i, "a writer that was fenced is dead")
		}
	}
}
