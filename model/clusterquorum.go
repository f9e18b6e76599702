package model

import (
	"fmt"
	"slices"
	"sort"
)

// checkNotices judges what the engine tells of itself.
func (c *clusterChecker) checkNotices(l *ledgerView) {
	type writer struct {
		client ClientID
		number Handle
		kind   NoticeKind
	}
	next := map[writer]EntryID{}
	for _, i := range l.notices {
		n := &c.history.Notices[i]
		if n.Kind == NoticeClosed {
			c.checkClosedNotice(l, i)
			continue
		}
		w := writer{n.Client, n.Writer, n.Kind}
		want, known := next[w]
		if !known && n.Kind == NoticeRecovered {
			want = n.Entry // a recovery begins where its LAC ends
		}
		if n.Entry != want {
			c.reportNotice(CheckerAckOrder, "counted out of order", i, fmt.Sprintf("entry %d was to be next", want))
		}
		next[w] = n.Entry + 1
		if n.Kind == NoticeAcked && l.end.known() && n.Entry > l.end.last {
			c.reportNotice(CheckerAcked, "acknowledged entry beyond the end", i, fmt.Sprintf("the ledger was closed with last "+
				"entry %d", l.end.last))
		}
		c.checkCounted(l, i)
	}
	if c.acksTold {
		c.checkConfirmedTold(l)
	}
}

// checkClosedNotice: no divergence between a client and metadata.
func (c *clusterChecker) checkClosedNotice(l *ledgerView, i int32) {
	n := &c.history.Notices[i]
	switch {
	case l.end.known() && n.Entry != l.end.last:
		c.reportNotice(CheckerDivergence, "client and metadata disagree about the end", i,
			fmt.Sprintf("the ledger was closed with last entry %d", l.end.last))
	case len(l.writes) > 0 && (l.end.write == none || l.end.at > n.At):
		c.reportNotice(CheckerDivergence, "closed, but not in metadata", i, "no metadata write had closed the ledger by then")
	}
}

// checkCounted: an entry is counted as stored by an ack quorum of those that metadata names. bookkeeper#1591 counted
// bookies that metadata did not name yet, bookkeeper#3005 one that it had ceased to name.
func (c *clusterChecker) checkCounted(l *ledgerView, i int32) {
	n, by := &c.history.Notices[i], c.history.By(int(i))
	if len(by) == 0 || len(l.writes) == 0 {
		return
	}
	distinct := slices.Clone(by)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	quorum := c.history.Metadata[l.writes[0]].Quorum
	if len(distinct) < int(quorum.Ack) {
		c.reportNotice(CheckerQuorum, "counted without an ack quorum", i, fmt.Sprintf("%v are fewer than %d", by, quorum.Ack))
		return
	}
	if n.Kind == NoticeRecovered {
		return // the fragments of a recovery are stored by its closing write only
	}
	view := l.writersView(c.history, n.At)
	for _, w := range view {
		set := c.history.writeSet(&c.history.Metadata[w], n.Entry)
		if set == nil || !slices.ContainsFunc(distinct, func(node Node) bool { return !slices.Contains(set, node) }) {
			return
		}
	}
	if len(view) == 0 {
		return // what was stored then is not known
	}
	c.reportNotice(CheckerQuorum, "counted a bookie that metadata does not name", i, fmt.Sprintf("%v", by))
}

// writersView lists the writes that a writer may rightly go by at a stamp: the last one by then that is not the close
// of somebody else, and what was replaced at that very stamp.
func (l *ledgerView) writersView(h *ClusterHistory, at Stamp) []int32 {
	var view []int32
	for _, i := range l.writes {
		w := &h.Metadata[i]
		if w.At > at || w.State == LedgerClosed || w.State == LedgerGone {
			break
		}
		if w.At < at {
			view = view[:0]
		}
		view = append(view, i)
	}
	return view
}

// checkConfirmedTold: nobody is told of a confirmed entry that no writer has acknowledged. A recovery confirms entries
// of its own.
func (c *clusterChecker) checkConfirmedTold(l *ledgerView) {
	var stamps []Stamp
	var highest []EntryID // acknowledged by the stamp
	top := NoLast
	for _, i := range l.notices {
		if n := &c.history.Notices[i]; n.Kind == NoticeAcked {
			top = max(top, n.Entry)
			stamps, highest = append(stamps, n.At), append(highest, top)
		}
	}
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		told := op.Bound
		if op.Kind == LedgerConfirmed && op.Outcome == OK {
			told = op.Entry
		} else if !op.reads() {
			continue
		}
		if told <= NoLast || min(l.recoveryCalled, l.recoveryWritten) <= op.Return {
			continue
		}
		k := sort.Search(len(stamps), func(k int) bool { return stamps[k] > op.Return })
		if k == 0 || highest[k-1] < told {
			c.report(CheckerConfirmed, "above the last acknowledged entry", none, i,
				fmt.Sprintf("no writer had acknowledged entry %d by then", told))
		}
	}
}

// checkEnsembles holds each change of ensemble against the acknowledgements. The writer stops acknowledging, takes
// LAC+1 for the start, and goes on when the change is stored.
func (c *clusterChecker) checkEnsembles(l *ledgerView) {
	if len(l.writes) < 2 {
		return
	}
	for k, i := range l.writes[1:] {
		b, w := &c.history.Metadata[l.writes[k]], &c.history.Metadata[i]
		if b.State != LedgerOpen || w.State != LedgerOpen {
			continue // a recovery may move acknowledged entries: it stores them again
		}
		kept, fragments := c.history.sharedFragments(b, w), c.history.fragmentsOf(w)
		if kept >= len(fragments) {
			continue
		}
		c.checkStart(l, i, fragments[kept].first)
	}
}

// checkStart: the fragment of the write at index i that starts at start holds no entry that was acknowledged before
// (bookkeeper#4651), and leaves no entry to the old ensemble that was not.
func (c *clusterChecker) checkStart(l *ledgerView, i int32, start EntryID) {
	w := &c.history.Metadata[i]
	lac := NoLast
	for _, k := range l.notices {
		if n := &c.history.Notices[k]; n.Kind == NoticeAcked && n.At <= w.At {
			lac = max(lac, n.Entry)
			if n.At < w.At && n.Entry >= start {
				c.reportWrite(CheckerEnsemble, "fragment takes acknowledged entries", i,
					fmt.Sprintf("entry %d was acknowledged at %d, on bookies of the ensemble before", n.Entry, n.At))
				return
			}
		}
	}
	for _, k := range l.ops {
		if op := &c.history.Ops[k]; op.Kind == LedgerAppend && op.Outcome == OK && op.Return < w.At && op.Entry >= start {
			c.reportSeen(CheckerEnsemble, "fragment takes acknowledged entries", k,
				"it was stored on bookies of the ensemble before "+c.history.describeWrite(i))
			return
		}
	}
	if c.acksTold && start > lac+1 {
		c.reportWrite(CheckerEnsemble, "fragment begins above the entry after the LAC", i,
			fmt.Sprintf("the last acknowledged entry was %d", lac))
	}
}

// checkHoldings: what is committed has reached an ack quorum of the bookies that the last metadata names.
func (c *clusterChecker) checkHoldings(l *ledgerView) {
	latest := l.latestContent(c.history)
	if latest == none || len(l.holdings) == 0 || l.deleteCalled != Never {
		return
	}
	type place struct {
		entry EntryID
		node  Node
	}
	found := make(map[place]*Holding, len(l.holdings))
	var entries []EntryID
	for _, i := range l.holdings {
		held := &c.history.Holdings[i]
		found[place{held.Entry, held.Node}] = held
		entries = append(entries, held.Entry)
	}
	slices.Sort(entries)
	acked := l.ackedTold(c.history)
	for _, entry := range slices.Compact(entries) {
		if !c.promised(l, entry) && entry > acked {
			continue
		}
		w := &c.history.Metadata[latest]
		damaged := c.damaged(l, entry)
		holders := int32(0)
		set := c.history.writeSet(w, entry)
		for _, node := range set {
			held := found[place{entry, node}]
			if held == nil || held.Outcome == Error || damaged[node] || held.Outcome == Found && c.checkCopy(l, held) {
				holders++
			}
		}
		if set != nil && holders < w.Quorum.Ack {
			c.reportSeen(CheckerQuorum, "committed entry short of an ack quorum", l.storedAt(entry),
				fmt.Sprintf("entry %d of ledger %d: only %d of %v hold it or are excused", entry, l.id, holders, set))
		}
	}
}

// checkCopy says whether a copy is of the entry; the copies of an entry are equal.
func (c *clusterChecker) checkCopy(l *ledgerView, held *Holding) bool {
	i := l.storedAt(held.Entry)
	if i == none || c.history.Ops[i].Digest == held.Digest {
		return true
	}
	c.reportSeen(CheckerContent, "copy with another value", i, fmt.Sprintf("%s holds digest %016x for entry %d", held.Node,
		uint64(held.Digest), held.Entry))
	return false
}

// ackedTold is the highest entry that the engine tells it has acknowledged.
func (l *ledgerView) ackedTold(h *ClusterHistory) EntryID {
	top := NoLast
	for _, i := range l.notices {
		if n := &h.Notices[i]; n.Kind == NoticeAcked {
			top = max(top, n.Entry)
		}
	}
	return top
}

func (c *clusterChecker) reportNotice(checker, rule string, i int32, because string) {
	n := &c.history.Notices[i]
	c.reportSeen(checker, rule, none, fmt.Sprintf("writer %d of client %d told at %d that entry %d of ledger %d is %s: %s",
		n.Writer, n.Client, n.At, n.Entry, n.Ledger, n.Kind, because))
}
