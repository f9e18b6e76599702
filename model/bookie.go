package model

import (
	"cmp"
	"fmt"
	"slices"
)

// CheckBookie returns the promises that the history of one bookie breaks, sorted by signature. doc.go has the rules.
func CheckBookie(h *History) []Violation {
	c := checker{history: h}
	if err := h.Validate(); err != nil {
		c.found.add(CheckerHistory, "malformed", func() string { return err.Error() })
		return c.found.list()
	}
	c.excuses = newExcuses(h)
	c.checkExcuses()
	c.checkRangeShapes()
	refs := c.references()
	for len(refs) > 0 {
		n := runLength(refs, func(a, b reference) bool { return a.ledger == b.ledger })
		c.checkLedger(refs[:n])
		refs = refs[n:]
	}
	c.checkLists()
	return c.found.list()
}

// checker is one run over one history.
type checker struct {
	history *History
	excuses excuses
	found   findings
	ledgers []ledgerSummary // in order of id, for the lists
	entry   entryCheck      // reused from entry to entry: most have two operations
	last    Incarnation     // the greatest of the history
}

// ledgerWide stands in a reference for operations about a ledger as a whole; it sorts before all entries.
const ledgerWide EntryID = -1

// reference places an operation, or one item of a range answer, at the entry it says something about.
type reference struct {
	ledger LedgerID
	entry  EntryID
	op     int32
	item   int32 // of the range answer; -1: the operation itself
}

// references lists all that is said about any entry or ledger, by ledger, entry, and position in the history.
func (c *checker) references() []reference {
	refs := make([]reference, 0, len(c.history.Ops)+len(c.history.items))
	for i := range c.history.Ops {
		op := &c.history.Ops[i]
		c.last = max(c.last, op.CallIncarnation)
		if op.Return != Never {
			c.last = max(c.last, op.ReturnIncarnation)
		}
		switch {
		case op.Kind == Fence || op.Kind == Delete || op.Kind == LastEntry && op.denies():
			refs = append(refs, reference{op.Ledger, ledgerWide, int32(i), -1})
		case op.Kind == ReadRange && op.Outcome == Found:
			for k, item := range c.history.Items(i) {
				if item.Entry >= 0 { // else the shape is wrong, and was reported
					refs = append(refs, reference{op.Ledger, item.Entry, int32(i), int32(k)})
				}
			}
		case op.Kind == Add || op.Outcome == Found || op.denies() || op.Final:
			refs = append(refs, reference{op.Ledger, op.Entry, int32(i), -1})
		}
	}
	slices.SortFunc(refs, compareReferences)
	return refs
}

func compareReferences(a, b reference) int {
	switch {
	case a.ledger != b.ledger:
		return cmp.Compare(a.ledger, b.ledger)
	case a.entry != b.entry:
		return cmp.Compare(a.entry, b.entry)
	case a.op != b.op:
		return cmp.Compare(a.op, b.op)
	}
	return cmp.Compare(a.item, b.item)
}

// runLength is the number of leading elements that are the same as the first.
func runLength[T any](all []T, same func(a, b T) bool) int {
	n := 1
	for n < len(all) && same(all[0], all[n]) {
		n++
	}
	return n
}

// checkLedger checks all that was said about one ledger.
func (c *checker) checkLedger(refs []reference) {
	facts := c.gather(refs)
	c.ledgers = append(c.ledgers, facts.ledgerSummary)
	c.checkRefusals(facts)
	c.entry.checkFence(c, facts)
	for len(refs) > 0 {
		n := runLength(refs, func(a, b reference) bool { return a.entry == b.entry })
		if refs[0].entry != ledgerWide {
			c.entry.check(c, facts, refs[:n])
		}
		refs = refs[n:]
	}
}

// report adds a violation by the two operations that contradict each other; because says why they do.
func (c *checker) report(checker, rule string, first, second int32, because string) {
	c.found.add(checker, rule, func() string {
		if first < 0 {
			return fmt.Sprintf("%s: %s", c.history.describe(int(second)), because)
		}
		return fmt.Sprintf("%s, and then %s: %s",
			c.history.describe(int(first)), c.history.describe(int(second)), because)
	}, operations(first, second)...)
}

// operations leaves out what is not there.
func operations(indices ...int32) []int {
	ops := make([]int, 0, len(indices))
	for _, i := range indices {
		if i >= 0 {
			ops = append(ops, int(i))
		}
	}
	return ops
}
