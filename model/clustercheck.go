package model

import (
	"cmp"
	"fmt"
	"slices"
)

// CheckCluster returns the promises that the history of replicated ledgers breaks, sorted by signature. doc.go has the
// rules.
func CheckCluster(h *ClusterHistory) []Violation {
	c := clusterChecker{history: h}
	if err := h.Validate(); err != nil {
		c.found.add(CheckerHistory, "malformed", func() string { return err.Error() })
		return c.found.list()
	}
	c.acksTold = slices.ContainsFunc(h.Notices, func(n Notice) bool { return n.Kind == NoticeAcked })
	for _, l := range h.byLedger() {
		c.checkLedger(l)
	}
	return c.found.list()
}

type clusterChecker struct {
	history  *ClusterHistory
	found    findings
	reported int  // how often report was called
	acksTold bool // the engine tells of acknowledgements
}

// checkLedger applies the rules in the order in which they explain best: what a rule for one kind of damage has
// accused, the general sweep does not accuse again.
func (c *clusterChecker) checkLedger(l *ledgerView) {
	if l.revived(c.history) { // two ledgers of one id: whatever else contradicts itself is a shadow of that
		c.checkMetadata(l)
		return
	}
	before := c.reported
	c.checkCreated(l)
	c.checkDeleted(l)
	c.checkContent(l)
	c.checkEnd(l)
	c.checkLength(l)
	c.checkReads(l)
	c.checkAckOrder(l)
	c.checkFenced(l)
	if c.reported == before {
		c.sweepLedger(l)
	}
	c.checkNotices(l)
	c.checkMetadata(l)
	c.checkEnsembles(l)
	c.checkHoldings(l)
	c.checkFinal(l)
}

// ledgerView is what the history holds about one ledger, by index, and what the first rules learn from it.
type ledgerView struct {
	id                              LedgerID
	ops, writes, notices, holdings  []int32
	created                         int32 // acknowledged create, or none
	deleteCalled, deleted           Stamp // the earliest call that may have deleted it, the earliest end of one that did
	recoveryCalled, recoveryWritten Stamp // the earliest call of what may fence it, the earliest write that shows it
	appends                         map[Digest]int32
	stored                          []int32 // the append at each entry, or none; as many entries as there are appends
	end                             ledgerEnd
}

// ledgerEnd is the end of a closed ledger and who says so: an operation, or a metadata write. At is a stamp by which it
// was closed.
type ledgerEnd struct {
	at        Stamp
	last      EntryID
	length    int64
	op, write int32 // none and none: not closed
}

func (e *ledgerEnd) known() bool { return e.op != none || e.write != none }

// byLedger groups everything by ledger, in the order of ledgers.
func (h *ClusterHistory) byLedger() []*ledgerView {
	views := map[LedgerID]*ledgerView{}
	var out []*ledgerView
	view := func(id LedgerID) *ledgerView {
		l := views[id]
		if l == nil {
			l = &ledgerView{id: id, created: none, deleteCalled: Never, deleted: Never, recoveryCalled: Never,
				recoveryWritten: Never, end: ledgerEnd{op: none, write: none}}
			views[id] = l
			out = append(out, l)
		}
		return l
	}
	for i := range h.Ops {
		l := view(h.Ops[i].Ledger)
		l.ops = append(l.ops, int32(i))
		l.note(&h.Ops[i])
	}
	for i := range h.Metadata {
		w := &h.Metadata[i]
		l := view(w.Ledger)
		l.writes = append(l.writes, int32(i))
		if w.State == LedgerInRecovery || w.State == LedgerClosed {
			l.recoveryWritten = min(l.recoveryWritten, w.At)
		}
	}
	for i := range h.Notices {
		l := view(h.Notices[i].Ledger)
		l.notices = append(l.notices, int32(i))
	}
	for i := range h.Holdings {
		l := view(h.Holdings[i].Ledger)
		l.holdings = append(l.holdings, int32(i))
	}
	slices.SortFunc(out, func(a, b *ledgerView) int { return cmp.Compare(a.id, b.id) })
	return out
}

// note keeps the stamps that other rules are judged against.
func (l *ledgerView) note(op *ClusterOp) {
	switch {
	case op.Outcome == Failed && op.Kind != LedgerRecover: // a failed recovery may have fenced
	case op.Kind == LedgerDelete: // also if it was told that there is no ledger: its first try may have done that
		l.deleteCalled = min(l.deleteCalled, op.Call)
		l.recoveryCalled = min(l.recoveryCalled, op.Call)
		if op.Outcome == OK {
			l.deleted = min(l.deleted, op.Return)
		}
	case op.Outcome == NoLedger:
	case op.Kind == LedgerRecover || op.Kind == LedgerClose || op.ends():
		l.recoveryCalled = min(l.recoveryCalled, op.Call)
	}
}

// report adds a violation by the two operations that contradict each other; first may be none.
func (c *clusterChecker) report(checker, rule string, first, second int32, because string) {
	c.reported++
	c.found.add(checker, rule, func() string {
		if first == none {
			return fmt.Sprintf("%s: %s", c.history.describe(int(second)), because)
		}
		return fmt.Sprintf("%s, and %s: %s", c.history.describe(int(first)), c.history.describe(int(second)), because)
	}, operations(first, second)...)
}

// reportSeen is report for what was seen of the system itself; what says it in words. op is the operation it
// contradicts, or none.
func (c *clusterChecker) reportSeen(checker, rule string, op int32, what string) {
	c.reported++
	c.found.add(checker, rule, func() string {
		if op == none {
			return what
		}
		return fmt.Sprintf("%s: %s", c.history.describe(int(op)), what)
	}, operations(none, op)...)
}

// describe puts the operation at index i in words.
func (h *ClusterHistory) describe(i int) string {
	op := &h.Ops[i]
	what := fmt.Sprintf("client %d's %s of ledger %d through handle %d", op.Client, op.Kind, op.Ledger, op.Handle)
	switch op.Kind {
	case LedgerAppend:
		what = fmt.Sprintf("client %d's append of digest %016x to ledger %d through handle %d", op.Client, uint64(op.Digest),
			op.Ledger, op.Handle)
	case LedgerRead:
		what = fmt.Sprintf("client %d's read of entries %d to %d of ledger %d through handle %d", op.Client, op.Entry, op.Last,
			op.Ledger, op.Handle)
	case LedgerBatchRead:
		what = fmt.Sprintf("client %d's batch read of ledger %d from entry %d through handle %d", op.Client, op.Ledger,
			op.Entry, op.Handle)
	}
	if op.Return == Never {
		return fmt.Sprintf("%s (operation %d, called at %d, never answered)", what, i, op.Call)
	}
	return fmt.Sprintf("%s (operation %d, called at %d, %s at %d%s)", what, i, op.Call, op.Outcome, op.Return, h.answered(i))
}

// answered puts what the operation at index i answered in words.
func (h *ClusterHistory) answered(i int) string {
	op := &h.Ops[i]
	switch {
	case op.reads() && op.Outcome == Found:
		items := h.Items(i)
		if len(items) == 0 {
			return ", no entries"
		}
		return fmt.Sprintf(", entries %d to %d", items[0].Entry, items[len(items)-1].Entry)
	case op.Outcome != OK:
		return ""
	case op.Kind == LedgerAppend:
		return fmt.Sprintf(", entry %d", op.Entry)
	case op.ends():
		return fmt.Sprintf(", closed with last entry %d and length %d", op.Entry, op.Length)
	case op.Kind == LedgerConfirmed:
		return fmt.Sprintf(", entry %d", op.Entry)
	}
	return ""
}

// describeWrite puts the metadata write at index i in words.
func (h *ClusterHistory) describeWrite(i int32) string {
	w := &h.Metadata[i]
	what := fmt.Sprintf("the metadata write of ledger %d at %d (version %d, on version %d, %s", w.Ledger, w.At, w.Version,
		w.Expected, w.State)
	if w.State == LedgerClosed {
		what += fmt.Sprintf(" with last entry %d and length %d", w.Last, w.Length)
	}
	for _, f := range h.fragmentsOf(w) {
		what += fmt.Sprintf(", from %d %v", f.first, h.members(f.members))
	}
	return what + ")"
}
