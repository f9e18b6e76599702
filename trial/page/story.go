package page

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lakebed/trial"
)

// named is how findings name operations of the history, entries, and ledgers.
var (
	namedOp     = regexp.MustCompile(`\boperation (\d+)`)
	namedEntry  = regexp.MustCompile(`entry (\d+) (?:of|to) ledger (\d+)`)
	namedLedger = regexp.MustCompile(`ledger (\d+)`)
)

// accuse finds what the findings are about: operations, entries, ledgers. Of a stall it is what never ended.
func (b *builder) accuse() {
	for i := range b.Result.Findings {
		text := b.Result.Findings[i].Text
		for _, op := range b.Course.Accused[i] {
			b.accuseOperation(op)
		}
		for _, m := range namedOp.FindAllStringSubmatch(text, -1) {
			b.accuseOperation(int(number(m[1])))
		}
		for _, m := range namedEntry.FindAllStringSubmatch(text, -1) {
			b.question(ref{number(m[2]), number(m[1])})
		}
		for _, m := range namedLedger.FindAllStringSubmatch(text, -1) {
			b.question(ref{number(m[1]), wholeLedger})
		}
	}
	if b.Result.Verdict == trial.Stalled && len(b.accusedOps) == 0 {
		for i := range b.Course.Operations {
			if b.Course.Operations[i].End == trial.Never {
				b.accuseOperation(i)
			}
		}
	}
	b.orderAccused()
}

// orderAccused has the operations in question in the order of time.
func (b *builder) orderAccused() {
	slices.SortStableFunc(b.accusedOps, func(x, y *raw) int { return cmp.Compare(x.at, y.at) })
	for _, e := range b.accusedOps {
		b.page.Accused = append(b.page.Accused, Operation{Event: -1, Node: e.node, Begin: int64(e.at), End: int64(e.end), Text: e.text})
	}
}

func number(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64) // digits that are too many name nothing that there is
	return n
}

func (b *builder) accuseOperation(i int) {
	if i < 0 || i >= len(b.ops) {
		return
	}
	e := b.ops[i]
	if b.accused[e] || len(b.accusedOps) == b.Limits.AccusedMax {
		return
	}
	b.accused[e] = true
	b.accusedOps = append(b.accusedOps, e)
	for _, r := range e.refs {
		b.question(r)
	}
}

// ledgersMax bounds the ledgers in question: a finding about hundreds is about none of them.
const ledgersMax = 8

func (b *builder) question(r ref) {
	if len(b.ledgers) < ledgersMax {
		b.ledgers[r.ledger] = true
	}
	if r.entry != wholeLedger && !slices.Contains(b.subjects, r) && len(b.subjects) < b.Limits.EntriesMax {
		b.subjects = append(b.subjects, r)
	}
}

// inQuestion reports whether an event is about what the findings are about.
func (b *builder) inQuestion(e *raw) bool {
	if b.accused[e] {
		return true
	}
	for _, r := range e.refs {
		if slices.Contains(b.subjects, r) || r.entry == wholeLedger && b.ledgers[r.ledger] {
			return true
		}
	}
	return false
}

// tellAway finds when nodes were down or paused. What was under way on a disk ends with its process.
func (b *builder) tellAway() {
	since := make([]time.Duration, len(b.page.Lanes)) // everybody is down in the beginning
	why := make([]string, len(since))
	for i := range why {
		why[i] = "down"
	}
	close := func(lane int, at time.Duration) {
		if why[lane] != "" && at > since[lane] {
			b.page.Lanes[lane].Away = append(b.page.Lanes[lane].Away, Span{int64(since[lane]), int64(at), why[lane]})
		}
		why[lane] = ""
	}
	for _, e := range b.events {
		lane, known := b.lanes[e.node]
		if e.kind != KindLife || !known {
			continue
		}
		switch word, _, _ := strings.Cut(e.text, " "); word {
		case "start,", "resume":
			close(lane, e.at)
		case "crash", "exit":
			close(lane, e.at)
			since[lane], why[lane] = e.at, "down"
			b.endDisks(e.node, e.at)
		case "pause":
			close(lane, e.at)
			since[lane], why[lane] = e.at, "paused"
		}
	}
	for lane := range since {
		close(lane, b.Course.Ended)
	}
}

func (b *builder) endDisks(node string, at time.Duration) {
	for _, e := range b.events {
		if e.at > at {
			return
		}
		if e.node == node && e.end == never && (e.kind == KindDisk || e.kind == KindWrite || e.kind == KindSync) {
			e.end, e.bad = at, true
			e.text += ": cut off"
		}
	}
}

func (b *builder) tellMetadata() {
	var told []Version
	for i := range b.Course.Metadata {
		v := &b.Course.Metadata[i]
		if !b.ledgers[v.Ledger] {
			continue
		}
		told = append(told, Version{At: int64(v.At), Ledger: v.Ledger, Version: v.Version, State: v.State, Text: versionWords(v)})
	}
	if left := len(told) - b.Limits.VersionsMax; left > 0 { // the end is where it went wrong
		told = told[left:]
	}
	if told != nil {
		b.page.Metadata = told
	}
}

func versionWords(v *trial.LedgerVersion) string {
	var parts []string
	if v.State == "closed" {
		parts = append(parts, fmt.Sprintf("last entry %d", v.Last))
	}
	if v.Quorum != "" {
		parts = append(parts, "quorums "+v.Quorum)
	}
	for _, f := range v.Fragments {
		parts = append(parts, fmt.Sprintf("from %d on %s", f.First, strings.Join(f.Bookies, ", ")))
	}
	if v.Late {
		parts = append(parts, "its client was cut off before it took effect")
	}
	return strings.Join(parts, "; ")
}

// tellLast lists what each node did last before the verdict, or before the world was healed where that went on for long.
func (b *builder) tellLast() {
	lines := make([][]Line, len(b.page.Lanes))
	for i := len(b.events) - 1; i >= 0; i-- {
		e := b.events[i]
		lane, known := b.lanes[e.node]
		if known && len(lines[lane]) < b.Limits.LastMax && e.kind != KindFault {
			lines[lane] = append(lines[lane], Line{int64(e.at), string(e.kind) + ": " + e.text})
		}
	}
	for i, l := range lines {
		slices.Reverse(l)
		if l == nil {
			l = []Line{}
		}
		b.page.Last = append(b.page.Last, Last{Node: b.page.Lanes[i].Name, Lines: l})
	}
}
