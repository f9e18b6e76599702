package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// The kinds of records in a bookie's journal.
const (
	journalEntry  record.Kind = 1
	journalLedger record.Kind = 2
	journalFence  record.Kind = 3
	journalDelete record.Kind = 4
)

// chain follows the journal's sequences from file to file, as a replay would.
type chain struct {
	expected uint64 // of the next group; 0: not known
	torn     string // the file with a bad tail; nothing behind it may know it as durable
	last     uint64
}

// lookAtJournal reads all files. Those before the mark's are left over; the others must run on without a gap.
func (i *inspector) lookAtJournal() {
	var c chain
	if i.marked && i.mark.Journal.File > 0 {
		c.expected = i.mark.Journal.First
	} else if i.whole {
		c.expected = 1
	}
	needed := max(i.mark.Journal.File, 1)
	next := needed
	for _, p := range i.journal {
		if i.marked && p.id < needed {
			i.lookAtJournalFile(p, &chain{}, true)
			i.report.found(inspection.Problem{Severity: inspection.Note, Class: Orphan, File: p.name}, "lies before the mark and is not needed any more")
			continue
		}
		if p.id != next && (i.whole || p != i.journal[0]) {
			i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Missing, File: journal.FileName(next)}, "a later journal file is there, this one is not")
			c.expected = 0
		}
		next = p.id + 1
		i.lookAtJournalFile(p, &c, false)
	}
	i.judgeMark(needed, next, c)
}

// judgeMark compares the mark with the end of the journal.
func (i *inspector) judgeMark(needed, next uint64, c chain) {
	if !i.whole || !i.marked {
		return
	}
	if next == needed && i.mark.Journal.File > 0 {
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Missing, File: journal.FileName(needed)}, "the mark names it")
		return
	}
	if behind := max(c.last, c.expected-1); c.expected > 0 && behind < i.mark.Journal.Sequence {
		i.report.found(inspection.Problem{Severity: inspection.Note, Class: MarkAhead, File: "mark"},
			"the mark covers group %d, the journal ends at %d: what is between was stored, and is not needed", i.mark.Journal.Sequence, behind)
	}
}

func (i *inspector) lookAtJournalFile(p place, c *chain, old bool) {
	i.report.Journal = append(i.report.Journal, Journal{})
	j := &i.report.Journal[len(i.report.Journal)-1]
	r := i.openGroups(p, journal.Kind(), &j.Groups)
	if r == nil {
		c.expected = 0
		return
	}
	defer r.file.Close()
	for v := r.next(); v != nil; v = r.next() {
		if !i.follow(c, p, v) {
			break
		}
		replayed := !old && v.Sequence > i.mark.Journal.Sequence
		if replayed && !v.Footer {
			j.ToReplay++
		}
		i.each(r, v, func(kind record.Kind, _ int64, body []byte) error { return i.journalRecord(j, kind, body, replayed) })
	}
	i.judgeJournalEnd(r, c, p)
}

// follow checks a group's sequence. False: the rest of the file does not count.
func (i *inspector) follow(c *chain, p place, v *record.View) bool {
	switch {
	case c.torn != "" && v.DurableThrough >= c.expected:
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Rot, File: c.torn},
			"its last group is bad, but group %d in %s knows group %d as durable", v.Sequence, p.name, c.expected)
		return false
	case c.torn != "":
		return false // written behind a group that never became durable
	case c.expected != 0 && v.Sequence != c.expected:
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: Gap, File: p.name, Offset: v.Offset},
			"has group %d where group %d should follow", v.Sequence, c.expected)
	}
	c.expected, c.last = v.Sequence+1, v.Sequence
	return true
}

func (i *inspector) judgeJournalEnd(r *groupReader, c *chain, p place) {
	if r.ended == nil || errors.Is(r.ended, io.EOF) {
		return
	}
	_, problem, _ := classify(r.ended)
	problem.File, problem.Offset = p.name, r.groups.DataEnd
	switch {
	case problem.Class != TornTail:
		c.expected = 0 // what follows is not missed a second time
		i.report.found(problem, "%v", r.ended)
	case c.torn != "":
		return // said before
	case i.marked && c.expected > 0 && c.expected <= i.mark.Journal.Sequence:
		c.torn = p.name
		problem.Severity = inspection.Note
		i.report.found(problem, "group %d is bad; the mark covers it: %v", c.expected, r.ended)
	default:
		c.torn = p.name
		i.report.found(problem, "the last group is bad: never finished, or acknowledged and rotten; ledgers go into limbo: %v", r.ended)
	}
}

// journalRecord counts a record and, if it is to be replayed, applies it to what is known of its ledger.
func (i *inspector) journalRecord(j *Journal, kind record.Kind, body []byte, replayed bool) error {
	id, entry, err := decodeJournalRecord(kind, body)
	if err != nil {
		return err
	}
	var l *Ledger
	if replayed {
		l = i.ledgers.get(id)
	} else {
		l = &Ledger{} // counted in the file, and known to the table
	}
	switch kind {
	case journalEntry:
		j.Entries++
		if !l.Deleted {
			l.JournalEntries++
			l.span(entry)
		}
	case journalLedger:
		l.HasKey = true
	case journalFence:
		j.Fences++
		l.Fenced = true
	case journalDelete:
		j.Deletes++
		l.Deleted = true
	}
	return nil
}

func decodeJournalRecord(kind record.Kind, body []byte) (ledger.ID, ledger.EntryID, error) {
	want := 8
	switch kind {
	case journalEntry:
		return ledger.Key(body)
	case journalLedger:
		want += len(ledger.MasterKey{})
	case journalFence, journalDelete:
	default:
		return 0, 0, fmt.Errorf("a journal has no records of kind %d", kind)
	}
	if len(body) != want {
		return 0, 0, fmt.Errorf("a journal record of kind %d has %d bytes, want %d", kind, len(body), want)
	}
	return ledger.ID(binary.BigEndian.Uint64(body)), ledger.NoEntry, nil
}
