package model

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// none stands for no operation where an index of Ops is kept.
const none int32 = -1

// ledgerSummary is what lists need to know about a ledger.
type ledgerSummary struct {
	id           LedgerID
	touched      Stamp // the first call of an add or fence, whatever came of it
	ackedBy      int32 // the add or fence that was acknowledged first
	acked        Stamp // its return
	deleteCalled Stamp // the first call of a delete that may have taken effect
	deletes      []int32
	revivedUntil Stamp // the latest stamp at which a recovery add or a fence may have made the ledger anew
}

// ledgerFacts is all that is said about a ledger as a whole.
type ledgerFacts struct {
	ledgerSummary
	fences       []int32   // those that may have taken effect, by call
	fenceEnds    []Stamp   // the latest effect of the fences up to each
	fenceDoubted Stamp     // the first call of a fence that may have taken effect and is not acknowledged
	firstRefused Stamp     // the first return of an add in unexcused
	fenceAcked   int32     // the one acknowledged first
	fenced       []int32   // ordinary adds answered "fenced"
	unexcused    []int32   // those of them that need a fence to explain them
	refusals     []refusal // the first of them in each incarnation, by incarnation
	denials      []int32   // adds answered "no ledger", recovery adds answered "fenced": only a deleted ledger does that
	noLedger     []int32   // reads that deny the ledger: by incarnation of return, one each, latest call so far
	lastAnswer   []lastAnswers
}

// lastAnswers are the last-entry answers of one incarnation, by entry; each operation is the one with the latest call
// among those that answered this entry or a lower one.
type lastAnswers struct {
	incarnation Incarnation
	entries     []EntryID
	ops         []int32
}

// gather reads the facts off all that was said about one ledger.
func (c *checker) gather(refs []reference) *ledgerFacts {
	f := &ledgerFacts{fenceAcked: none}
	f.ledgerSummary = ledgerSummary{id: refs[0].ledger, touched: Never, ackedBy: none, acked: Never,
		deleteCalled: Never, revivedUntil: math.MinInt64}
	var last []int32
	for _, ref := range refs {
		switch op := &c.history.Ops[ref.op]; op.Kind {
		case Add, Fence:
			c.gatherChange(f, ref.op)
		case Delete:
			if op.mayTakeEffect() {
				f.deleteCalled = min(f.deleteCalled, op.Call)
			}
			if op.Outcome == OK {
				f.deletes = append(f.deletes, ref.op)
			}
		default:
			if op.deniesLedger() {
				f.noLedger = append(f.noLedger, ref.op)
			} else if op.Kind == LastEntry && (op.Outcome == Found || op.Outcome == NoEntry) {
				last = append(last, ref.op)
			}
		}
	}
	c.settle(f, last)
	return f
}

// gatherChange takes in an add or a fence.
func (c *checker) gatherChange(f *ledgerFacts, i int32) {
	op := &c.history.Ops[i]
	f.touched = min(f.touched, op.Call)
	if op.Outcome == OK && (f.ackedBy == none || op.Return < f.acked) {
		f.ackedBy, f.acked = i, op.Return
	}
	if op.mayTakeEffect() && (op.Kind == Fence || op.Recovery) {
		f.revivedUntil = max(f.revivedUntil, op.effectEnd())
	}
	switch {
	case op.Kind == Fence && op.mayTakeEffect():
		f.fences = append(f.fences, i)
		if op.Outcome == OK && (f.fenceAcked == none || op.Return < c.history.Ops[f.fenceAcked].Return) {
			f.fenceAcked = i
		}
	case op.Kind == Add && op.Outcome == Fenced && !op.Recovery:
		f.fenced = append(f.fenced, i)
	case op.Kind == Add && (op.Outcome == Fenced || op.Outcome == NoLedger):
		f.denials = append(f.denials, i)
	}
}

// settle orders what gather collected so that it can be looked up, and drops what a delete explains.
func (c *checker) settle(f *ledgerFacts, last []int32) {
	ops := c.history.Ops
	slices.SortFunc(f.deletes, func(a, b int32) int { return cmp.Compare(ops[a].Return, ops[b].Return) })
	mayBeDeleted := func(i int32) bool { return f.deleteCalled <= ops[i].Return }
	for _, i := range f.fenced {
		if !mayBeDeleted(i) && !c.excuses.limbo(ops[i].Return) {
			f.unexcused = append(f.unexcused, i)
		}
	}
	c.settleFences(f)
	f.refusals = c.firstRefusals(f, f.fenced)
	f.noLedger = slices.DeleteFunc(f.noLedger, mayBeDeleted)
	f.noLedger = c.perIncarnation(f.noLedger, func(a, b int32) bool { return ops[a].Call > ops[b].Call })
	for k := 1; k < len(f.noLedger); k++ {
		if before := f.noLedger[k-1]; ops[before].Call > ops[f.noLedger[k]].Call {
			// Only an operation across incarnations can do that. What matters is the latest denial up to here.
			f.noLedger = slices.Delete(f.noLedger, k, k+1)
			k--
		}
	}
	f.lastAnswer = c.lastAnswers(slices.DeleteFunc(last, mayBeDeleted))
}

// perIncarnation keeps the best operation of each incarnation of return, in order of incarnation.
func (c *checker) perIncarnation(indices []int32, better func(a, b int32) bool) []int32 {
	ops := c.history.Ops
	slices.SortStableFunc(indices, func(a, b int32) int {
		return cmp.Compare(ops[a].ReturnIncarnation, ops[b].ReturnIncarnation)
	})
	kept := indices[:0]
	for _, i := range indices {
		switch n := len(kept); {
		case n == 0 || ops[kept[n-1]].ReturnIncarnation != ops[i].ReturnIncarnation:
			kept = append(kept, i)
		case better(i, kept[n-1]):
			kept[n-1] = i
		}
	}
	return kept
}

func (c *checker) lastAnswers(indices []int32) []lastAnswers {
	ops := c.history.Ops
	slices.SortStableFunc(indices, func(a, b int32) int {
		if byLife := cmp.Compare(ops[a].ReturnIncarnation, ops[b].ReturnIncarnation); byLife != 0 {
			return byLife
		}
		return cmp.Compare(answeredLast(&ops[a]), answeredLast(&ops[b]))
	})
	var all []lastAnswers
	for _, i := range indices {
		n := len(all)
		if n == 0 || all[n-1].incarnation != ops[i].ReturnIncarnation {
			all, n = append(all, lastAnswers{incarnation: ops[i].ReturnIncarnation}), n+1
		}
		lives := &all[n-1]
		latest := i
		if k := len(lives.ops); k > 0 && ops[lives.ops[k-1]].Call > ops[i].Call {
			latest = lives.ops[k-1]
		}
		lives.entries, lives.ops = append(lives.entries, answeredLast(&ops[i])), append(lives.ops, latest)
	}
	return all
}

// answeredLast is the entry that a last-entry read answered, below all entries if there was none.
func answeredLast(op *Op) EntryID {
	if op.Outcome == NoEntry {
		return ledgerWide
	}
	return op.Entry
}

// absentBy returns the latest called operation, up to an incarnation, that denied the entry without asking for it: it
// denied the ledger, or named a lower entry as the last.
func (f *ledgerFacts) absentBy(ops []Op, entry EntryID, until Incarnation) int32 {
	best := none
	if k := sort.Search(len(f.noLedger), func(k int) bool {
		return ops[f.noLedger[k]].ReturnIncarnation > until
	}); k > 0 {
		best = f.noLedger[k-1]
	}
	for k := len(f.lastAnswer) - 1; k >= 0; k-- {
		lives := &f.lastAnswer[k]
		if lives.incarnation > until {
			continue
		}
		if n, _ := slices.BinarySearch(lives.entries, entry); n > 0 {
			if i := lives.ops[n-1]; best == none || ops[i].Call > ops[best].Call {
				best = i
			}
			break // earlier incarnations were called earlier
		}
	}
	return best
}

// deletedBefore returns the acknowledged delete that returned before a stamp and was called last; none if there is none.
func (f *ledgerSummary) deletedBefore(ops []Op, at Stamp) int32 {
	best := none
	for _, i := range f.deletes { // few: a ledger is deleted once, or again by a collector that was in doubt
		if ops[i].Return >= at {
			break
		}
		if best == none || ops[i].Call > ops[best].Call {
			best = i
		}
	}
	return best
}

// checkRefusals finds adds that were refused as on a deleted ledger, which nobody had deleted.
func (c *checker) checkRefusals(f *ledgerFacts) {
	for _, i := range f.denials {
		op := &c.history.Ops[i]
		if f.deleteCalled <= op.Return {
			continue
		}
		if op.Outcome == NoLedger {
			c.report(CheckerDeleted, "add refused on a ledger nobody deleted", none, i,
				"an add makes the ledger it needs, unless the ledger was deleted, and no delete was called before")
			continue
		}
		c.report(CheckerFence, "recovery add refused", none, i,
			"recovery adds pass a fence, and no delete was called before")
	}
}
