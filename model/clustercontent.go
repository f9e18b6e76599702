package model

import "fmt"

// checkCreated: an id is given to one ledger.
func (c *clusterChecker) checkCreated(l *ledgerView) {
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		if op.Kind != LedgerCreate || op.Outcome != OK {
			continue
		}
		if l.created != none {
			c.report(CheckerContent, "ledger id given twice", l.created, i, "both were told that the ledger is theirs")
			continue
		}
		l.created = i
	}
}

// checkDeleted: a ledger goes when somebody asks for it, and does not come back.
func (c *clusterChecker) checkDeleted(l *ledgerView) {
	for _, i := range l.ops {
		op := &c.history.Ops[i]
		if c.history.StaleMetadata && !op.Final {
			continue
		}
		if op.Outcome == NoLedger && l.created != none && c.history.Ops[l.created].Return < op.Call && l.deleteCalled > op.Return {
			c.report(CheckerDeleted, "ledger denied that nobody deleted", l.created, i, "the ledger was there, and no delete was "+
				"called before the answer")
		}
		if op.Kind == LedgerRecover && op.Outcome == OK && l.deleted < op.Call {
			c.report(CheckerDeleted, "deleted ledger opened", none, i, fmt.Sprintf("its delete was acknowledged at %d", l.deleted))
		}
	}
	for _, i := range l.writes {
		if w := &c.history.Metadata[i]; w.State == LedgerGone && l.deleteCalled > w.At {
			c.reportSeen(CheckerDeleted, "ledger deleted though nobody asked", none, c.history.describeWrite(i))
		}
	}
}

// revived says whether metadata was written after it was removed.
func (l *ledgerView) revived(h *ClusterHistory) bool {
	for k := 1; k < len(l.writes); k++ {
		if h.Metadata[l.writes[k-1]].State == LedgerGone {
			return true
		}
	}
	return false
}

// checkContent puts together which append is stored at which entry, and accuses whoever disagrees.
func (c *clusterChecker) checkContent(l *ledgerView) {
	l.appends = make(map[Digest]int32, len(l.ops))
	for _, i := range l.ops {
		if op := &c.history.Ops[i]; op.Kind == LedgerAppend {
			l.appends[op.Digest] = i
		}
	}
	l.stored = make([]int32, len(l.appends))
	for k := range l.stored {
		l.stored[k] = none
	}
	for _, i := range l.ops {
		if op := &c.history.Ops[i]; op.Kind == LedgerAppend && op.Outcome == OK {
			c.storeAcked(l, i)
		}
	}
	for _, i := range l.ops {
		for _, item := range c.history.Items(int(i)) {
			c.storeRead(l, i, item)
		}
	}
	c.checkOnce(l)
}

// storeAcked places an acknowledged append.
func (c *clusterChecker) storeAcked(l *ledgerView, i int32) {
	op := &c.history.Ops[i]
	if op.Entry >= EntryID(len(l.stored)) {
		c.report(CheckerAckOrder, "entry id beyond all appends", none, i, fmt.Sprintf("ids are dense from 0, and only %d "+
			"appends were called", len(l.stored)))
		return
	}
	if before := l.stored[op.Entry]; before != none {
		c.report(CheckerAckOrder, "one entry id for two appends", before, i, "each was told that it is at this entry")
		return
	}
	l.stored[op.Entry] = i
}

// storeRead places what a read answered.
func (c *clusterChecker) storeRead(l *ledgerView, read int32, item Item) {
	i, appended := l.appends[item.Digest]
	switch {
	case !appended:
		c.report(CheckerInvented, "value nobody appended", none, read, fmt.Sprintf("digest %016x at entry %d",
			uint64(item.Digest), item.Entry))
		return
	case c.history.Ops[i].Outcome == Failed:
		c.report(CheckerInvented, "value of a failed append", i, read, fmt.Sprintf("it is at entry %d", item.Entry))
		return
	case item.Entry < 0 || item.Entry >= EntryID(len(l.stored)):
		c.report(CheckerInvented, "entry beyond all appends", none, read, fmt.Sprintf("entry %d, and only %d appends were "+
			"called", item.Entry, len(l.stored)))
		return
	case c.history.Ops[i].Length != item.Bytes:
		c.report(CheckerContent, "entry of another size", i, read, fmt.Sprintf("%d bytes were appended and %d read",
			c.history.Ops[i].Length, item.Bytes))
	}
	switch before := l.stored[item.Entry]; {
	case before == none:
		l.stored[item.Entry] = i
	case before != i:
		c.report(CheckerContent, "entry with another value", before, read, fmt.Sprintf("entry %d holds digest %016x for the "+
			"one and %016x for the other", item.Entry, uint64(c.history.Ops[before].Digest), uint64(item.Digest)))
	}
}

// checkOnce: an append is stored at one entry.
func (c *clusterChecker) checkOnce(l *ledgerView) {
	places := make(map[int32]int, len(l.stored))
	for entry, i := range l.stored {
		if i == none {
			continue
		}
		if before, known := places[i]; known {
			c.report(CheckerContent, "append stored twice", none, i, fmt.Sprintf("it is at entries %d and %d", before, entry))
		}
		places[i] = entry
	}
}

// sweepLedger states the ledger as a log and lets the sweep decide what the single rules leave open: whether all
// answers fit one order in time.
func (c *clusterChecker) sweepLedger(l *ledgerView) {
	log := ledgerLog{history: c.history, readers: map[readerKey]ClientID{}}
	for _, i := range l.ops {
		log.add(i)
	}
	if w := l.end.write; w != none {
		at := c.history.Metadata[w].At
		log.append(none, LogOp{Call: at, Return: at, Kind: LogClose, Outcome: OK, Length: int64(l.end.last) + 1})
	}
	for _, v := range CheckLog(&log.log) {
		c.reported++
		checker, ops := CheckerLog, []int{}
		rule := v.Signature[len(CheckerLog+": "):]
		explanation := fmt.Sprintf("ledger %d as a log: %s", l.id, v.Explanation)
		for _, k := range v.Ops {
			if k >= len(log.origin) || log.origin[k] == none {
				continue
			}
			ops = append(ops, int(log.origin[k]))
			explanation += fmt.Sprintf("; operation %d there is %s", k, c.history.describe(int(log.origin[k])))
			if log.log.Ops[k].Kind == LogConfirmed {
				checker = CheckerConfirmed
			}
		}
		for range v.Count {
			c.found.add(checker, rule, func() string { return explanation }, ops...)
		}
	}
}

// ledgerLog turns operations on a ledger into those on a log.
type ledgerLog struct {
	history *ClusterHistory
	log     LogHistory
	origin  []int32 // of each operation of the log
	values  []uint64
	readers map[readerKey]ClientID
}

type readerKey struct {
	client ClientID
	handle Handle
}

func (g *ledgerLog) append(origin int32, op LogOp) {
	g.log.Append(op)
	g.origin = append(g.origin, origin)
}

// reader numbers the handles.
func (g *ledgerLog) reader(op *ClusterOp) ClientID {
	key := readerKey{op.Client, op.Handle}
	n, known := g.readers[key]
	if !known {
		n = ClientID(len(g.readers))
		g.readers[key] = n
	}
	return n
}

func (g *ledgerLog) add(i int32) {
	op := &g.history.Ops[i]
	out := LogOp{Call: op.Call, Return: op.Return, Client: g.reader(op), Outcome: op.Outcome}
	switch {
	case op.Kind == LedgerAppend:
		out.Kind, out.Value, out.Offset = LogAppend, uint64(op.Digest), int64(op.Entry)
		if op.Outcome == Fenced {
			out.Outcome = Unknown // whoever fences the writer may still find the entry
		}
		g.append(i, out)
	case op.ends():
		out.Kind, out.Length = LogClose, int64(op.Entry)+1
		g.append(i, out)
		fallthrough // a reader that has seen the end must not see less later
	case op.Kind == LedgerConfirmed && op.Outcome == OK:
		out.Kind, out.Length = LogConfirmed, int64(op.Entry)+1
		g.append(i, out)
	case op.reads():
		g.addRead(i, out)
	}
}

// addRead adds what was read, and the bound that the reader knew: somebody confirmed it.
func (g *ledgerLog) addRead(i int32, out LogOp) {
	op, items := &g.history.Ops[i], g.history.Items(int(i))
	if op.Outcome == Found && len(items) > 0 {
		g.values = g.values[:0]
		for _, item := range items {
			g.values = append(g.values, uint64(item.Digest))
		}
		read := out
		read.Kind, read.Outcome, read.Offset, read.Length = LogRead, OK, int64(items[0].Entry), NoLength
		g.log.AppendRead(read, g.values)
		g.origin = append(g.origin, i)
	}
	if op.Bound != NoBound && op.Return != Never {
		out.Kind, out.Outcome, out.Length = LogConfirmed, OK, int64(op.Bound)+1
		g.append(i, out)
	}
}
