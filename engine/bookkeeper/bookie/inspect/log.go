package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// The kinds of records in an entry log.
const (
	logFlush record.Kind = 1
	logEntry record.Kind = 2
)

// location is where a log has an entry.
type location struct {
	offset int64 // of the record's header
	size   int
}

// logContent is what the records of one log say: of several versions of an entry the last.
type logContent struct {
	entries map[ledger.ID]map[ledger.EntryID]location
	// The last entry of the flush at hand, to see whether it is sorted.
	id    ledger.ID
	entry ledger.EntryID
	begun bool
}

// lookAtLogs reads all logs, and misses those that the table names.
func (i *inspector) lookAtLogs() {
	there := map[entrylog.LogID]bool{}
	for _, p := range i.logs {
		there[entrylog.LogID(p.id)] = true
		i.lookAtLog(p)
	}
	if i.table == nil {
		return
	}
	for _, id := range host.SortedKeys(i.table.logs) {
		if !there[id] && (i.whole || len(i.logs) > 0) {
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Missing, File: entrylog.FileName(id)}, "the ledger table names it")
		}
	}
}

func (i *inspector) lookAtLog(p place) {
	i.report.Logs = append(i.report.Logs, Log{Index: "none"})
	l := &i.report.Logs[len(i.report.Logs)-1]
	if i.isOrphan(p) {
		// What is wrong with it matters to nobody: the next start removes it.
		problems := len(i.report.Problems)
		defer func() {
			i.report.Problems = i.report.Problems[:problems]
			i.report.found(inspection.Problem{Severity: inspection.Note, Class: Orphan, File: p.name}, "the ledger table does not name it")
		}()
	}
	r := i.openGroups(p, entrylog.Kind(), &l.Groups)
	if r == nil {
		return
	}
	defer r.file.Close()
	end := i.logEnd(r, l, p)
	r.scanTo(end)
	r.scanner.Expect(1)
	c := &logContent{entries: map[ledger.ID]map[ledger.EntryID]location{}}
	for v := r.next(); v != nil; v = r.next() {
		i.each(r, v, func(kind record.Kind, offset int64, body []byte) error { return c.apply(l, kind, offset, body) })
	}
	i.judgeLogEnd(r, l, p, end)
	l.Ledgers = len(c.entries)
	if l.Closed {
		i.lookAtIndex(r, l, c, end)
	}
	if !i.isOrphan(p) {
		i.countEntries(p, c)
	}
}

// isOrphan says whether a log does not count, because the ledger table, or for want of one nothing, names it.
func (i *inspector) isOrphan(p place) bool {
	if i.table == nil {
		return i.whole
	}
	_, listed := i.table.logs[entrylog.LogID(p.id)]
	return !listed
}

// logEnd says where the groups of a log should end: where the table says, or else where a trailer does, or else the file.
func (i *inspector) logEnd(r *groupReader, l *Log, p place) int64 {
	if i.table != nil {
		state, listed := i.table.logs[entrylog.LogID(p.id)]
		if listed {
			l.Listed, l.Durable, l.Closed = true, state.Durable, state.Closed
			if !state.Closed && p.size > state.Durable {
				i.report.found(inspection.Problem{Severity: inspection.Note, Class: Unfinished, File: p.name, Offset: state.Durable},
					"%d bytes lie behind the length that the ledger table knows as durable", p.size-state.Durable)
			}
			return state.Durable
		}
	}
	if end, ok := trailerEnd(r.file, r.header.Identity, p.size); ok {
		l.Closed = true
		return end
	}
	return p.size
}

// judgeLogEnd compares where the groups end with where they should.
func (i *inspector) judgeLogEnd(r *groupReader, l *Log, p place, end int64) {
	_, problem, bad := classify(r.ended)
	problem.File, problem.Offset = p.name, l.DataEnd
	switch {
	case l.Listed && l.DataEnd == end:
		l.End = "clean"
	case l.Listed && !errors.Is(r.ended, io.EOF) && problem.Class == Unreadable:
		i.report.found(problem, "%v", r.ended)
	case l.Listed:
		l.End = "rotten"
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Rot, File: p.name, Offset: l.DataEnd},
			"%d bytes were durable, the first %d are good: %s; %s", end, l.DataEnd, cause(r.ended), uncounted)
	case bad && l.Closed && problem.Class == TornTail:
		problem.Severity, problem.Class = inspection.Damage, Rot // an index follows, so the groups were durable
		i.report.found(problem, "%s, and an index behind it says that it was durable; %s", cause(r.ended), uncounted)
	case bad:
		i.report.found(problem, "%v", r.ended)
	}
}

// uncounted is told where a log is rotten: where the next group begins is not known for sure.
const uncounted = "groups and entries behind it are not counted"

// cause is what is wrong with a group, without the scanner's guess that it never was durable: the caller knows better.
func cause(err error) string {
	if err == nil {
		return "nothing follows"
	}
	if errors.Is(err, io.EOF) {
		return "nothing but zeros follows"
	}
	return strings.TrimSuffix(err.Error(), ": "+record.ErrTornTail.Error())
}

func (c *logContent) apply(l *Log, kind record.Kind, offset int64, body []byte) error {
	switch {
	case kind == logFlush && len(body) == 8:
		l.Flushes++
		c.begun = false
		if binary.BigEndian.Uint64(body) == 0 {
			return errors.New("a flush has the sequence 0")
		}
		return nil
	case kind != logEntry:
		return fmt.Errorf("an entry log has no records of kind %d with %d bytes", kind, len(body))
	}
	id, entry, err := ledger.Key(body)
	if err != nil {
		return err
	}
	l.Entries++
	if c.begun && (id < c.id || id == c.id && entry <= c.entry) {
		err = fmt.Errorf("entry %d of ledger %d follows entry %d of ledger %d: a flush is sorted", entry, id, c.entry, c.id)
	}
	c.id, c.entry, c.begun = id, entry, true
	if c.entries[id] == nil {
		c.entries[id] = map[ledger.EntryID]location{}
	}
	c.entries[id][entry] = location{offset, len(body)}
	return err
}

// countEntries adds a log's entries to their ledgers.
func (i *inspector) countEntries(p place, c *logContent) {
	for _, id := range host.SortedKeys(c.entries) {
		if i.table != nil {
			if _, known := i.table.flags[id]; !known {
				i.report.found(inspection.Problem{Severity: inspection.Damage, Class: UnlistedLedger, File: p.name},
					"has %d entries of ledger %d, which the ledger table does not know", len(c.entries[id]), id)
			}
		}
		l := i.ledgers.get(id)
		l.LogEntries += len(c.entries[id])
		if l.Deleted {
			continue // its bytes go with the log
		}
		for _, entry := range host.SortedKeys(c.entries[id]) {
			l.span(entry)
		}
	}
}
