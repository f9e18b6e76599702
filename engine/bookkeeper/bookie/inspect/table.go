package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// The kinds of records in a ledger table.
const (
	tableLedger      record.Kind = 1
	tableLog         record.Kind = 2
	tableLogGone     record.Kind = 3
	tableBookie      record.Kind = 4
	tableSnapshotEnd record.Kind = 5
)

// tableBodyBytes is the length of a kind's body; -1 for a kind that does not exist.
func tableBodyBytes(kind record.Kind) int {
	switch kind {
	case tableLedger:
		return 29
	case tableLog:
		return 13
	case tableLogGone:
		return 4
	case tableBookie:
		return 1
	case tableSnapshotEnd:
		return 0
	default:
		return -1
	}
}

const (
	tableFenced  = 1
	tableHasKey  = 2
	tableLimbo   = 4
	tableDeleted = 8
)

// tableContent is what the records of a ledger table add up to.
type tableContent struct {
	flags     map[ledger.ID]byte
	logs      map[entrylog.LogID]entrylog.LogState
	uncertain bool
	finished  bool
}

func (c *tableContent) apply(kind record.Kind, body []byte) error {
	if want := tableBodyBytes(kind); len(body) != want {
		return fmt.Errorf("a table record of kind %d has %d bytes, want %d", kind, len(body), want)
	}
	switch kind {
	case tableLedger:
		c.flags[ledger.ID(binary.BigEndian.Uint64(body))] = body[8]
	case tableLog:
		id := entrylog.LogID(binary.BigEndian.Uint32(body))
		c.logs[id] = entrylog.LogState{ID: id, Durable: int64(binary.BigEndian.Uint64(body[4:])), Closed: body[12]&1 != 0}
	case tableLogGone:
		delete(c.logs, entrylog.LogID(binary.BigEndian.Uint32(body)))
	case tableBookie:
		c.uncertain = body[0]&1 != 0
	case tableSnapshotEnd:
		c.finished = true
	}
	return nil
}

// lookAtTables reads all table files. The newest finished one counts, as for the bookie.
func (i *inspector) lookAtTables() {
	var current ledgertable.Position
	for _, p := range slices.Backward(i.tables) {
		problems := len(i.report.Problems)
		t, content := i.lookAtTable(p)
		i.excuse(p, t, i.report.Problems[problems:])
		switch {
		case !content.finished:
			i.report.found(inspection.Problem{Severity: inspection.Note, Class: UnfinishedTable, File: p.name}, "its snapshot was never finished")
		case i.table == nil:
			i.table, t.Current = content, true
			current = ledgertable.Position{File: p.id, Sequence: t.Last}
		default:
			i.report.found(inspection.Problem{Severity: inspection.Note, Class: Orphan, File: p.name}, "a newer ledger table is there")
		}
		i.report.Tables = append(i.report.Tables, t)
	}
	slices.Reverse(i.report.Tables)
	if i.marked && (i.whole || len(i.tables) > 0) && current.Before(i.mark.Table) {
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: MarkAhead, File: ledgertable.FileName(max(i.mark.Table.File, 1))},
			"the mark vouches for group %d of table %d, what is there ends at group %d of table %d",
			i.mark.Table.Sequence, i.mark.Table.File, current.Sequence, current.File)
	}
	if i.table != nil {
		i.takeLedgers()
	}
}

// excuse makes notes of what is wrong behind the point that the mark vouches for: it belongs to a checkpoint that was
// never finished, and nothing relies on it.
func (i *inspector) excuse(p place, t Table, problems []inspection.Problem) {
	if !i.whole && !i.marked || (ledgertable.Position{File: p.id, Sequence: t.Last}).Before(i.mark.Table) {
		return
	}
	for k := range problems {
		unreached := problems[k].Class == TornTail || problems[k].Class == BadHeader
		if unreached {
			problems[k].Severity = inspection.Note
		}
	}
}

func (i *inspector) takeLedgers() {
	for _, id := range host.SortedKeys(i.table.flags) {
		flags := i.table.flags[id]
		l := i.ledgers.get(id)
		l.Fenced, l.HasKey = flags&tableFenced != 0, flags&tableHasKey != 0
		l.Limbo, l.Deleted = flags&tableLimbo != 0, flags&tableDeleted != 0
	}
}

func (i *inspector) lookAtTable(p place) (Table, *tableContent) {
	var t Table
	c := &tableContent{flags: map[ledger.ID]byte{}, logs: map[entrylog.LogID]entrylog.LogState{}}
	r := i.openGroups(p, ledgertable.Kind(), &t.Groups)
	if r == nil {
		return t, c
	}
	defer r.file.Close()
	r.scanner.Expect(1)
	for v := r.next(); v != nil; v = r.next() {
		i.each(r, v, func(kind record.Kind, _ int64, body []byte) error { return c.apply(kind, body) })
	}
	if !errors.Is(r.ended, io.EOF) {
		_, problem, _ := classify(r.ended)
		problem.File, problem.Offset = p.name, t.DataEnd
		i.report.found(problem, "%v", r.ended)
	}
	t.Finished, t.Uncertain, t.Ledgers, t.Logs = c.finished, c.uncertain, len(c.flags), len(c.logs)
	return t, c
}
