package model

import (
	"fmt"
	"slices"
)

// checkMetadata goes through the versions of a ledger's metadata.
func (c *clusterChecker) checkMetadata(l *ledgerView) {
	for k, i := range l.writes {
		if k == 0 {
			c.checkFirstWrite(i)
		} else {
			c.checkNextWrite(l.writes[k-1], i)
		}
		if c.history.Metadata[i].State != LedgerGone {
			c.checkFragments(i)
		}
	}
}

func (c *clusterChecker) checkFirstWrite(i int32) {
	if w := &c.history.Metadata[i]; w.State != LedgerOpen || w.Expected != NoVersion || w.answer.count != 1 {
		c.reportWrite(CheckerMetadata, "begins elsewhere", i, "a ledger begins open, with one fragment, by a create")
	}
}

// legalNext has a bit for each state that may follow a state. Closed may follow itself: repair moves copies.
var legalNext = [ledgerStatesEnd]uint32{
	LedgerOpen:       1<<LedgerOpen | 1<<LedgerInRecovery | 1<<LedgerClosed | 1<<LedgerGone,
	LedgerInRecovery: 1<<LedgerInRecovery | 1<<LedgerClosed | 1<<LedgerGone,
	LedgerClosed:     1<<LedgerClosed | 1<<LedgerGone,
}

// checkNextWrite holds the write at index i against the one before.
func (c *clusterChecker) checkNextWrite(before, i int32) {
	b, w := &c.history.Metadata[before], &c.history.Metadata[i]
	switch {
	case b.State == LedgerGone:
		c.reportWrite(CheckerMetadata, "written after it was deleted", i, "a ledger id is never used again")
		return
	case legalNext[b.State]&(1<<w.State) == 0:
		c.reportWrite(CheckerMetadata, "state went back", i, fmt.Sprintf("it was %s before", b.State))
		return
	case w.State == LedgerGone:
		return // a delete may be unconditional
	case w.Expected != b.Version:
		c.reportWrite(CheckerMetadata, "not a compare-and-swap on the version before", i,
			fmt.Sprintf("the version before was %d: an update is lost", b.Version))
		return
	case w.Version <= b.Version:
		c.reportWrite(CheckerMetadata, "version did not grow", i, fmt.Sprintf("the version before was %d", b.Version))
	case w.Quorum != b.Quorum:
		c.reportWrite(CheckerMetadata, "quorum changed", i, "placement of what is stored depends on it")
	case b.State == LedgerClosed && (w.Last != b.Last || w.Length != b.Length):
		c.reportWrite(CheckerEnd, "closed metadata changed its end", i, "a closed ledger never changes, but "+
			c.history.describeWrite(before))
	}
	c.checkSuccession(before, i)
}

// checkSuccession: a change of metadata touches the last fragment or adds one after it. bookkeeper#2615: recovery made
// one below those that were there.
func (c *clusterChecker) checkSuccession(before, i int32) {
	b, w := &c.history.Metadata[before], &c.history.Metadata[i]
	old, now := c.history.fragmentsOf(b), c.history.fragmentsOf(w)
	if len(old) == 0 || len(now) == 0 {
		return // told by checkFragments
	}
	kept := c.history.sharedFragments(b, w)
	moved := slices.EqualFunc(old, now, func(x, y fragment) bool { return x.first == y.first })
	switch {
	case b.State == LedgerClosed && !moved:
		c.reportWrite(CheckerEnsemble, "fragments of a closed ledger changed", i, "only ensembles may")
	case b.State == LedgerClosed:
	case w.State == LedgerInRecovery && kept < max(len(old), len(now)):
		c.reportWrite(CheckerEnsemble, "recovery began with other fragments", i, "it must look where the writer wrote")
	case kept < len(old)-1 || len(now) < len(old) || now[len(old)-1].first != old[len(old)-1].first:
		c.reportWrite(CheckerEnsemble, "earlier fragments changed", i, "only the last may be replaced; before: "+
			c.history.describeWrite(before))
	}
}

// sharedFragments counts the fragments that two writes have in common from the start.
func (h *ClusterHistory) sharedFragments(a, b *MetadataWrite) int {
	x, y := h.fragmentsOf(a), h.fragmentsOf(b)
	n := 0
	for n < len(x) && n < len(y) && x[n].first == y[n].first &&
		slices.Equal(h.members(x[n].members), h.members(y[n].members)) {
		n++
	}
	return n
}

// checkFragments judges one version by itself.
func (c *clusterChecker) checkFragments(i int32) {
	w := &c.history.Metadata[i]
	fragments := c.history.fragmentsOf(w)
	if len(fragments) == 0 || fragments[0].first != 0 {
		c.reportWrite(CheckerEnsemble, "no fragment at 0", i, "every entry needs a place")
		return
	}
	for k, f := range fragments {
		members := slices.Clone(c.history.members(f.members))
		slices.Sort(members)
		switch {
		case k > 0 && f.first <= fragments[k-1].first:
			c.reportWrite(CheckerEnsemble, "fragments do not ascend", i, "each begins above the one before")
		case len(members) != int(w.Quorum.Ensemble):
			c.reportWrite(CheckerEnsemble, "ensemble of another size", i, "it has one bookie for each index")
		case len(slices.Compact(members)) != int(w.Quorum.Ensemble):
			c.reportWrite(CheckerEnsemble, "bookie twice in one ensemble", i, "its copies would count twice")
		}
	}
	if last := fragments[len(fragments)-1].first; w.State == LedgerClosed && last > w.Last+1 {
		c.reportWrite(CheckerEnsemble, "fragment beyond the end", i, "none begins above the entry after the last")
	}
}

func (c *clusterChecker) reportWrite(checker, rule string, i int32, because string) {
	c.reportSeen(checker, rule, none, c.history.describeWrite(i)+": "+because)
}

// latestContent is the last write that did not remove the metadata, or none.
func (l *ledgerView) latestContent(h *ClusterHistory) int32 {
	for k := len(l.writes) - 1; k >= 0; k-- {
		if h.Metadata[l.writes[k]].State != LedgerGone {
			return l.writes[k]
		}
	}
	return none
}

// writeSet lists the bookies that store entry by that metadata; nil if it does not say.
func (h *ClusterHistory) writeSet(w *MetadataWrite, entry EntryID) []Node {
	var ensemble []Node
	for _, f := range h.fragmentsOf(w) {
		if f.first <= entry {
			ensemble = h.members(f.members)
		}
	}
	if len(ensemble) == 0 {
		return nil
	}
	set := make([]Node, 0, w.Quorum.Write)
	for k := range int64(w.Quorum.Write) {
		set = append(set, ensemble[(int64(entry)+k)%int64(len(ensemble))])
	}
	return set
}
