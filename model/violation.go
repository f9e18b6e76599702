package model

import (
	"fmt"
	"sort"
	"strings"
)

// The names of the checkers, as Violation.Checker says them. doc.go states their rules.
const (
	CheckerBookie     = "bookie"
	CheckerInvented   = "invented"
	CheckerFence      = "fence"
	CheckerNegative   = "negative"
	CheckerVanished   = "vanished"
	CheckerLastEntry  = "last-entry"
	CheckerRange      = "range"
	CheckerList       = "list"
	CheckerDeleted    = "deleted"
	CheckerUnexcused  = "unexcused-unknown"
	CheckerDurability = "durability"
	CheckerHistory    = "history"
	CheckerLog        = "log"

	// Of replicated ledgers only; the names above keep their meaning there.
	CheckerAcked      = "acked"
	CheckerAckOrder   = "ack-order"
	CheckerContent    = "content"
	CheckerEnd        = "end"
	CheckerLength     = "length"
	CheckerConfirmed  = "confirmed"
	CheckerBeyond     = "beyond"
	CheckerDivergence = "divergence"
	CheckerMetadata   = "metadata"
	CheckerEnsemble   = "ensemble"
	CheckerQuorum     = "quorum"
)

// Violation is one broken promise.
type Violation struct {
	Checker     string
	Signature   string // stable: the checker and the rule, nothing that varies between runs
	Explanation string // one paragraph, naming the operations that contradict each other
	Ops         []int  // their indices in the history
	Count       int    // how often this signature was found; the explanation is of the first
}

// findings collects violations, one for each signature.
type findings struct {
	byRule map[string]*Violation
	order  []string
}

// add records that rule of checker is broken. explain is called for the first of its signature only: formatting a
// million equal findings would cost more than finding them.
func (f *findings) add(checker, rule string, explain func() string, ops ...int) {
	signature := checker + ": " + rule
	if v, known := f.byRule[signature]; known {
		v.Count++
		return
	}
	if f.byRule == nil {
		f.byRule = map[string]*Violation{}
	}
	f.byRule[signature] = &Violation{Checker: checker, Signature: signature, Explanation: explain(), Ops: ops, Count: 1}
	f.order = append(f.order, signature)
}

// list returns the violations sorted by signature.
func (f *findings) list() []Violation {
	sort.Strings(f.order)
	out := make([]Violation, 0, len(f.order))
	for _, signature := range f.order {
		out = append(out, *f.byRule[signature])
	}
	return out
}

// describe puts the operation at index i in words.
func (h *History) describe(i int) string {
	op := &h.Ops[i]
	var b strings.Builder
	fmt.Fprintf(&b, "client %d's %s", op.Client, op.subject())
	if op.Kind == Add {
		fmt.Fprintf(&b, " with digest %016x", uint64(op.Digest))
	}
	fmt.Fprintf(&b, " (operation %d, called at %d in incarnation %d, ", i, op.Call, op.CallIncarnation)
	if op.Return == Never {
		b.WriteString("never answered)")
		return b.String()
	}
	fmt.Fprintf(&b, "%s at %d in incarnation %d", op.Outcome, op.Return, op.ReturnIncarnation)
	if op.Outcome == Found && op.Kind == Read {
		fmt.Fprintf(&b, ", digest %016x", uint64(op.Digest))
	}
	if op.Outcome == Found && op.Kind == LastEntry {
		fmt.Fprintf(&b, ", entry %d, digest %016x", op.Entry, uint64(op.Digest))
	}
	b.WriteString(")")
	return b.String()
}

// subject is the kind of the operation with what it is about.
func (op *Op) subject() string {
	switch op.Kind {
	case Add:
		if op.Recovery {
			return fmt.Sprintf("recovery add of entry %d to ledger %d", op.Entry, op.Ledger)
		}
		return fmt.Sprintf("add of entry %d to ledger %d", op.Entry, op.Ledger)
	case Read:
		return fmt.Sprintf("read of entry %d of ledger %d", op.Entry, op.Ledger)
	case ReadRange:
		return fmt.Sprintf("range read of ledger %d from entry %d", op.Ledger, op.Entry)
	case LastEntry:
		return fmt.Sprintf("last-entry read of ledger %d", op.Ledger)
	case List:
		return "list of ledgers"
	}
	return fmt.Sprintf("%s of ledger %d", op.Kind, op.Ledger)
}
