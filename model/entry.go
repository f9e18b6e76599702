package model

import (
	"cmp"
	"slices"
	"sort"
)

// write is an add that may have taken effect.
type write struct {
	op        int32
	call, end Stamp // it took effect, if at all, between these
	digest    Digest
	acked     bool
	latestEnd Stamp // the greatest end among the writes of this value up to this one
}

// sighting is an answer about the entry: its value, or that there is none.
type sighting struct {
	op          int32
	call, ret   Stamp
	from, until Incarnation
	digest      Digest
	value       int32 // index of its value, once matched
}

// value is all that is known of one digest of the entry.
type value struct {
	writes []write // by call
	solid  bool    // all its adds are acknowledged: no restart can take it back
	seen   bool
	seenIn Incarnation // the last incarnation in which it was certainly there, if seen
}

// entryCheck holds what was said about one entry of one ledger.
type entryCheck struct {
	c      *checker
	ledger *ledgerFacts
	entry  EntryID

	writes     []write
	values     []value
	barred     []int32       // adds of unknown outcome that came too late to take effect
	refused    []int32       // adds that definitely did not take effect
	firstAcked int32         // the add that was acknowledged first
	seen       []sighting    // positive answers
	denied     []sighting    // negative answers that asked for this entry
	lives      []Incarnation // scratch space of checkOrder
	zones      zoneCheck
}

func (e *entryCheck) reset(c *checker, ledger *ledgerFacts, entry EntryID) {
	e.c, e.ledger, e.entry = c, ledger, entry
	e.writes, e.values = e.writes[:0], e.values[:0]
	e.barred, e.refused = e.barred[:0], e.refused[:0]
	e.seen, e.denied = e.seen[:0], e.denied[:0]
	e.firstAcked = none
}

// check checks all that was said about one entry.
func (e *entryCheck) check(c *checker, ledger *ledgerFacts, refs []reference) {
	e.reset(c, ledger, refs[0].entry)
	for _, ref := range refs {
		if e.c.history.Ops[ref.op].Kind == Add {
			e.gatherAdd(ref.op)
		}
	}
	for _, ref := range refs {
		if e.c.history.Ops[ref.op].Kind != Add {
			e.gatherAnswer(ref)
		}
	}
	e.sortValues()
	e.matchSightings(e.reportInvented)
	e.narrow()
	e.checkDeleted()
	if e.checkOverwritten() {
		e.checkOrder()
	}
}

func (e *entryCheck) gatherAdd(i int32) {
	op := &e.c.history.Ops[i]
	if !op.mayTakeEffect() {
		e.refused = append(e.refused, i)
		return
	}
	if op.Outcome == OK && (e.firstAcked == none || op.Return < e.c.history.Ops[e.firstAcked].Return) {
		e.firstAcked = i
	}
	e.gatherWrite(i)
}

func (e *entryCheck) gatherAnswer(ref reference) {
	op := &e.c.history.Ops[ref.op]
	switch {
	case op.Outcome == Found && ref.item >= 0:
		e.seen = append(e.seen, sightingOf(op, ref.op, e.c.history.Items(int(ref.op))[ref.item].Digest))
	case op.Outcome == Found:
		e.seen = append(e.seen, sightingOf(op, ref.op, op.Digest))
	case e.ledger.deleteCalled <= op.Return:
		// Whatever it says, the delete may be the reason.
	case op.Final && e.lostAtEnd(ref.op):
		// Reported; not again as the ordinary denial it may be.
	case op.denies():
		e.denied = append(e.denied, sightingOf(op, ref.op, 0))
	}
}

func sightingOf(op *Op, i int32, digest Digest) sighting {
	return sighting{op: i, call: op.Call, ret: op.Return, from: op.CallIncarnation, until: op.ReturnIncarnation,
		digest: digest, value: -1}
}

// gatherWrite takes in an add, unless a fence or delete stands before it.
func (e *entryCheck) gatherWrite(i int32) {
	op := &e.c.history.Ops[i]
	w := write{op: i, call: op.Call, end: op.effectEnd(), digest: op.Digest, acked: op.Outcome == OK}
	if !op.Recovery {
		until := op.ReturnIncarnation
		if op.Return == Never {
			until = e.c.last
		}
		b := e.c.barrierFor(e.ledger, until)
		switch {
		case b.at >= op.Call:
			w.end = min(w.end, b.at)
		case !w.acked:
			e.barred = append(e.barred, i)
			return
		default:
			e.reportPassed(b, i)
		}
	}
	e.writes = append(e.writes, w)
}

func (e *entryCheck) reportPassed(b barrier, add int32) {
	switch {
	case b.checker == CheckerDeleted:
		e.c.report(CheckerDeleted, "add acknowledged on a deleted ledger", b.by, add,
			"an ordinary add to a deleted ledger must be refused for ever")
	case e.c.history.Ops[b.by].Kind == Fence:
		e.c.report(CheckerFence, "add acknowledged behind a fence", b.by, add,
			"after an acknowledged fence every ordinary add must be refused, also after restarts")
	default:
		e.c.report(CheckerFence, "add acknowledged after another was refused as fenced", b.by, add,
			"within one incarnation a ledger that is fenced stays fenced")
	}
}

// lostAtEnd reports a final read that did not find an acknowledged entry.
func (e *entryCheck) lostAtEnd(i int32) bool {
	op := &e.c.history.Ops[i]
	first := e.firstAcked
	if first == none || e.c.history.Ops[first].Return >= op.Call || e.c.excuses.loss(op.Ledger, op.Entry, op.Return) {
		return false
	}
	e.c.report(CheckerDurability, "acknowledged entry not found at the end: "+op.Outcome.String(), first, i,
		"everything was healed and restarted, no damage was declared, and the entry was acknowledged")
	return true
}

// sortValues groups the writes by value.
func (e *entryCheck) sortValues() {
	if len(e.writes) > 1 {
		slices.SortFunc(e.writes, func(a, b write) int {
			if byDigest := cmp.Compare(a.digest, b.digest); byDigest != 0 {
				return byDigest
			}
			return cmp.Compare(a.call, b.call)
		})
	}
	for rest := e.writes; len(rest) > 0; {
		n := runLength(rest, func(a, b write) bool { return a.digest == b.digest })
		v := value{writes: rest[:n], solid: true}
		for k := range v.writes {
			v.solid = v.solid && v.writes[k].acked
			v.writes[k].latestEnd = v.writes[k].end
			if k > 0 {
				v.writes[k].latestEnd = max(v.writes[k].end, v.writes[k-1].latestEnd)
			}
		}
		e.values, rest = append(e.values, v), rest[n:]
	}
}

// matchSightings finds for each positive answer the value it saw. One that no write explains is reported and left out
// of all further conclusions.
func (e *entryCheck) matchSightings(report func(sighting)) {
	kept := e.seen[:0]
	for _, s := range e.seen {
		k := sort.Search(len(e.values), func(k int) bool { return e.values[k].writes[0].digest >= s.digest })
		if k == len(e.values) || e.values[k].writes[0].digest != s.digest || e.values[k].writes[0].call > s.ret {
			report(s)
			continue
		}
		v := &e.values[k]
		// It cannot have been seen before it was added: that may place a sighting that a restart interrupted.
		first := &e.c.history.Ops[v.writes[0].op]
		s.call, s.from = max(s.call, first.Call), max(s.from, first.CallIncarnation)
		if !v.seen || s.from > v.seenIn {
			v.seen, v.seenIn = true, s.from
		}
		s.value = int32(k)
		kept = append(kept, s)
	}
	e.seen = kept
}

// narrow uses that an add whose value was seen took effect before that: a fence that was lost later may still have
// stood in its way.
func (e *entryCheck) narrow() {
	for k := range e.seen {
		s := &e.seen[k]
		w := &e.values[s.value].writes[0]
		if w.acked || e.c.history.Ops[w.op].Recovery || len(e.values[s.value].writes) > 1 {
			continue
		}
		b := e.c.barrierFor(e.ledger, s.until)
		if b.at < w.call {
			e.reportBehind(w.op, s.op)
			continue
		}
		w.end = min(w.end, b.at)
		w.latestEnd = w.end
	}
}

func (e *entryCheck) reportBehind(add, seen int32) {
	e.c.report(CheckerFence, "value added behind a fence or delete was read", add, seen,
		"the add was called when no ordinary add could succeed any more, so it must not have taken effect")
}

// reportInvented says what is wrong with a positive answer that no write explains.
func (e *entryCheck) reportInvented(s sighting) {
	ops := e.c.history.Ops
	for _, i := range e.barred {
		if ops[i].Digest == s.digest && ops[i].Call <= s.ret {
			e.reportBehind(i, s.op)
			return
		}
	}
	for _, i := range e.refused {
		if ops[i].Digest == s.digest && ops[i].Call <= s.ret {
			e.c.report(CheckerInvented, "value of a refused add was read", i, s.op,
				"the add did not take effect, as its client was told")
			return
		}
	}
	for k := range e.writes {
		if w := &e.writes[k]; w.digest == s.digest {
			e.c.report(CheckerInvented, "value read before its add was called", s.op, w.op,
				"nobody had this value before")
			return
		}
	}
	e.c.report(CheckerInvented, "value nobody added was read", none, s.op,
		"no add of this entry in the whole history carries the digest it answered")
}

// checkDeleted judges the positive answers that a delete concerns, and takes them out: what happens to the other
// rules after a delete was called is open.
func (e *entryCheck) checkDeleted() {
	if e.ledger.deleteCalled == Never {
		return
	}
	kept := e.seen[:0]
	for _, s := range e.seen {
		if s.ret < e.ledger.deleteCalled {
			kept = append(kept, s)
			continue
		}
		deleted := e.ledger.deletedBefore(e.c.history.Ops, s.call)
		if deleted != none && !e.addedAgain(&s, deleted) {
			e.c.report(CheckerDeleted, "data read after the delete", deleted, s.op,
				"the ledger was deleted, and no recovery add could have stored this value after that")
		}
	}
	e.seen = kept
}

// addedAgain says whether a recovery add may have stored the value after the delete.
func (e *entryCheck) addedAgain(s *sighting, deleted int32) bool {
	ops := e.c.history.Ops
	for _, w := range e.values[s.value].writes {
		if ops[w.op].Recovery && w.end >= ops[deleted].Call && w.call <= s.ret {
			return true
		}
	}
	return false
}
