package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lakebed/engine/inspection"
)

// Text writes the report for people: a headline, one table for each kind of file, and the problems at the end, where
// a terminal shows them.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	say := func(format string, args ...any) { fmt.Fprintf(t, format, args...) }
	say("%s\n", r.headline())
	for _, name := range r.InUse {
		say("the %s directory is in use by a running bookie: problems may be passing\n", name)
	}
	for _, c := range r.Cookies {
		say("cookie of %s: bookie %s of %s\n", c.Directory, c.BookieHost, c.InstanceID)
	}
	if m := r.Mark; m != nil {
		var slots []string
		for _, s := range m.Slots {
			slots = append(slots, s.State)
		}
		say("mark: journal group %d, from file %d on; table %d at group %d (slots: %s)\n",
			m.Sequence, m.JournalFile, m.TableFile, m.TableSequence, strings.Join(slots, ", "))
	}
	r.journalText(say)
	r.tableText(say)
	r.logText(say)
	r.ledgerText(say)
	if len(r.Spares) > 0 {
		say("%s\n", counted(len(r.Spares), "spare journal file"))
	}
	r.scrubbedText(say)
	for _, name := range r.Others {
		say("not a bookie's: %s\n", name)
	}
	r.problemText(say)
	return t.Flush()
}

func (r *Report) headline() string {
	counts := map[inspection.Severity]int{}
	for _, p := range r.Problems {
		counts[p.Severity]++
	}
	verdict := "sound"
	if len(r.Problems) > 0 {
		verdict = fmt.Sprintf("%d damaged, %d in doubt, %s", counts[inspection.Damage], counts[inspection.Doubt], counted(counts[inspection.Note], "note"))
	}
	return fmt.Sprintf("%s: %s, %s, %s, %s", verdict, counted(len(r.Journal), "journal file"), counted(len(r.Tables), "table"),
		counted(len(r.Logs), "entry log"), counted(len(r.Ledgers), "ledger"))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

type printer func(format string, args ...any)

const (
	groupsHeads   = "bytes\tgroups\tsequences\trecords\tend"
	groupsColumns = "%d\t%d\t%s\t%d\t%s"
)

func (g *Groups) columns() []any {
	sequences := "-"
	if g.Groups > 0 {
		sequences = fmt.Sprintf("%d-%d", g.First, g.Last)
	}
	return []any{g.Bytes, g.Groups, sequences, g.Records, g.End}
}

func (r *Report) journalText(say printer) {
	if len(r.Journal) > 0 {
		say("\nJOURNAL\t" + groupsHeads + "\tentries\tfences\tdeletes\tto replay\n")
	}
	for _, j := range r.Journal {
		say("%s\t"+groupsColumns+"\t%d\t%d\t%d\t%d\n",
			append(append([]any{j.Name}, j.columns()...), j.Entries, j.Fences, j.Deletes, j.ToReplay)...)
	}
}

func (r *Report) tableText(say printer) {
	if len(r.Tables) > 0 {
		say("\nLEDGER TABLE\t" + groupsHeads + "\tstate\tledgers\tlogs\n")
	}
	for _, b := range r.Tables {
		state := "unfinished"
		if b.Current {
			state = "current"
		} else if b.Finished {
			state = "old"
		}
		if b.Uncertain {
			state += ", uncertain"
		}
		say("%s\t"+groupsColumns+"\t%s\t%d\t%d\n", append(append([]any{b.Name}, b.columns()...), state, b.Ledgers, b.Logs)...)
	}
}

func (r *Report) logText(say printer) {
	if len(r.Logs) > 0 {
		say("\nENTRY LOG\t" + groupsHeads + "\tstate\tentries\tledgers\tindex\n")
	}
	for _, l := range r.Logs {
		state := "open"
		if l.Closed {
			state = "closed"
		}
		say("%s\t"+groupsColumns+"\t%s\t%d\t%d\t%s\n",
			append(append([]any{l.Name}, l.columns()...), state, l.Entries, l.Ledgers, l.Index)...)
	}
}

// ledgersShown bounds the table of ledgers for people; programs get all.
const ledgersShown = 200

func (r *Report) ledgerText(say printer) {
	if len(r.Ledgers) > 0 {
		say("\nLEDGER\tstate\tin logs\tto replay\tentries\n")
	}
	for k, l := range r.Ledgers {
		if k == ledgersShown {
			say("and %d more\n", len(r.Ledgers)-k)
			break
		}
		entries := "-"
		if l.Last >= 0 {
			entries = fmt.Sprintf("%d-%d", l.First, l.Last)
		}
		say("%d\t%s\t%d\t%d\t%s\n", l.ID, l.state(), l.LogEntries, l.JournalEntries, entries)
	}
}

func (l *Ledger) state() string {
	var words []string
	for _, s := range []struct {
		is   bool
		word string
	}{{l.Deleted, "deleted"}, {l.Fenced, "fenced"}, {l.Limbo, "limbo"}} {
		if s.is {
			words = append(words, s.word)
		}
	}
	switch {
	case len(words) == 0 && !l.Known:
		return "-"
	case len(words) == 0:
		return "open"
	}
	return strings.Join(words, ", ")
}

// scrubbedText shows what the bookie's scrubber has listed.
func (r *Report) scrubbedText(say printer) {
	if r.Scrubbed == nil || len(r.Scrubbed.Flaws) == 0 {
		return
	}
	say("\nFOUND BY THE SCRUBBER\tpart\toffset\tbytes\tledger\tentry\t\n")
	id := func(n int64) string {
		if n < 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	for _, f := range r.Scrubbed.Flaws {
		say("%s\t%s\t%d\t%d\t%s\t%s\t%s\n", f.File, f.Part, f.Offset, f.Bytes, id(int64(f.Ledger)), id(int64(f.Entry)), f.Message)
	}
	if r.Scrubbed.LeftOut > 0 {
		say("and %d more\n", r.Scrubbed.LeftOut)
	}
}

func (r *Report) problemText(say printer) {
	if len(r.Problems) > 0 {
		say("\nPROBLEM\tclass\tfile\toffset\t\n")
	}
	for _, p := range r.Problems {
		say("%s\t%s\t%s\t%d\t%s\n", p.Severity, p.Class, p.File, p.Offset, p.Message)
	}
}
