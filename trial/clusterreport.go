package trial

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lakebed/model"
	"lakebed/sim"
	"lakebed/workloads/replicated"
)

// Bounds of what is told of one finding.
const (
	operationsTold = 24
	sessionsTold   = 200
)

// watch has the recorder keep the time of its stamps, and shows what clients ask and are answered in a written trace.
func (c *cluster) watch() {
	w := replicated.Watcher{Clock: c.world.Elapsed}
	if c.world.Tracing() {
		w.Begun = func(op model.ClusterOp) {
			c.remark(&op, "calls "+asked(&op))
		}
		w.Ended = func(op model.ClusterOp, found int) {
			c.remark(&op, "ends  "+asked(&op)+": "+answered(&op, found))
		}
	}
	c.lab.Recorder.Watch(w)
}

func (c *cluster) remark(op *model.ClusterOp, what string) {
	c.world.Remark(c.nodeOf(op.Client), fmt.Sprintf("%d %s", op.Client, what))
}

// nodeOf is the node that a client of the history lives on; the number after the last is the verifier's.
func (c *cluster) nodeOf(id model.ClientID) *sim.Node {
	if number := clientOf(id); number < len(c.clients) {
		return c.clients[number].node
	}
	return c.verifier
}

// asked is an operation without its answer, but for the ledger that a create made. It names the stamp of the call, by which findings name it too. Entry is an
// answer for the kinds that do not ask for one.
func asked(op *model.ClusterOp) string {
	var b strings.Builder
	b.WriteString(op.Kind.String())
	if op.Kind != model.LedgerCreate || op.Outcome == model.OK {
		fmt.Fprintf(&b, " ledger %d", op.Ledger)
	}
	switch op.Kind {
	case model.LedgerRead:
		fmt.Fprintf(&b, ", entries %d-%d", op.Entry, op.Last)
	case model.LedgerBatchRead:
		fmt.Fprintf(&b, ", from entry %d", op.Entry)
	case model.LedgerAppend:
		fmt.Fprintf(&b, ", %d bytes", op.Length)
	}
	if op.Handle != 0 {
		fmt.Fprintf(&b, ", handle %d", op.Handle)
	}
	fmt.Fprintf(&b, " (called at %d)", op.Call)
	return b.String()
}

func answered(op *model.ClusterOp, found int) string {
	text := op.Outcome.String()
	switch {
	case op.Outcome == model.Found:
		text += fmt.Sprintf(" %d entries", found)
	case op.Outcome != model.OK:
	case op.Kind == model.LedgerAppend:
		text += fmt.Sprintf(" entry %d", op.Entry)
	case op.Kind == model.LedgerClose, op.Kind == model.LedgerRecover, op.Kind == model.LedgerConfirmed:
		text += fmt.Sprintf(" last entry %d", op.Entry)
	}
	return text
}

// violated reports a violation, with a second part by which what it names is found in a trace.
func (c *cluster) violated(v *model.Violation, h *model.ClusterHistory) {
	text := v.Explanation
	if located := c.locate(v, h); len(located) > 0 {
		text += "\n\nin the trace (virtual seconds, node):\n  " + strings.Join(located, "\n  ")
	}
	c.find(Violation, v.Checker, v.Signature, text)
}

// located is a line about something in the history.
type located struct {
	at   model.Stamp
	text string
}

// locate lists the operations that a violation names, and the notices and writes of metadata whose stamps its
// explanation names, in the order of the history.
func (c *cluster) locate(v *model.Violation, h *model.ClusterHistory) []string {
	var found []located
	for _, i := range v.Ops {
		if i >= 0 && i < len(h.Ops) {
			found = append(found, located{h.Ops[i].Call, c.locateOp(i, h)})
		}
	}
	named := stampsNamed(v.Explanation)
	for i := range h.Notices {
		if n := &h.Notices[i]; named[n.At] {
			found = append(found, c.locateNotice(n, h)...)
		}
	}
	for i := range h.Metadata {
		if w := &h.Metadata[i]; named[w.At] {
			found = append(found, located{w.At, fmt.Sprintf("%s  %-10s metadata write at %d: ledger %d is %s, version %d (written at this time or before)",
				c.when(w.At), c.metadata.Name(), w.At, w.Ledger, w.State, w.Version)})
		}
	}
	slices.SortStableFunc(found, func(a, b located) int { return cmp.Compare(a.at, b.at) })
	lines := make([]string, 0, len(found))
	for i, l := range found {
		if i == operationsTold {
			return append(lines, fmt.Sprintf("and %d more", len(found)-i))
		}
		lines = append(lines, l.text)
	}
	return lines
}

// locateNotice has the notice, and the append that it is about: a notice knows the process that told it, no session.
func (c *cluster) locateNotice(n *model.Notice, h *model.ClusterHistory) []located {
	told := fmt.Sprintf("%s  %-10s notice at %d, from the node's process of epoch %d: entry %d of ledger %d is %s", c.when(n.At),
		c.nodeOf(n.Client).Name(), n.At, n.Writer, n.Entry, n.Ledger, n.Kind)
	found := []located{{n.At, told}}
	for i := range h.Ops {
		op := &h.Ops[i]
		if op.Kind == model.LedgerAppend && op.Outcome == model.OK && op.Ledger == n.Ledger && op.Entry == n.Entry {
			found = append(found, located{op.Call, c.locateOp(i, h)})
		}
	}
	return found
}

func (c *cluster) locateOp(i int, h *model.ClusterHistory) string {
	op := &h.Ops[i]
	end := "never answered"
	if op.Return != model.Never {
		end = fmt.Sprintf("at %s (%d)", c.when(op.Return), op.Return)
	}
	return fmt.Sprintf("%s  %-10s operation %d: client %d calls %s; %s %s", c.when(op.Call), c.nodeOf(op.Client).Name(), i,
		op.Client, asked(op), answered(op, len(h.Items(i))), end)
}

// when is the virtual time of a stamp, in the form that a trace has.
func (c *cluster) when(at model.Stamp) string {
	t, known := c.lab.Recorder.Time(at)
	if !known {
		return "?"
	}
	return seconds(t)
}

func seconds(t time.Duration) string {
	return fmt.Sprintf("%d.%09d", t/time.Second, t%time.Second)
}

// stamp is how explanations name a place in the history.
var stamp = regexp.MustCompile(`\bat (\d+)\b`)

func stampsNamed(explanation string) map[model.Stamp]bool {
	named := map[model.Stamp]bool{}
	for _, match := range stamp.FindAllStringSubmatch(explanation, -1) {
		if at, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			named[model.Stamp(at)] = true
		}
	}
	return named
}

// unfinished says of each session that has not ended what it does. It comes before all else in a report of a stall:
// states of tasks say what code waits for, and never on whose behalf.
func (c *cluster) unfinished() string {
	sessions := c.lab.Recorder.Unfinished()
	if len(sessions) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; sessions that have not ended:\n", c.waitingFor())
	for i := range sessions {
		if i == sessionsTold {
			fmt.Fprintf(&b, "  and %d more\n", len(sessions)-i)
			break
		}
		fmt.Fprintf(&b, "  %s\n", c.unfinishedSession(&sessions[i]))
	}
	b.WriteByte('\n')
	return b.String()
}

func (c *cluster) unfinishedSession(s *replicated.Unfinished) string {
	text := fmt.Sprintf("%-10s client %d", c.nodeOf(s.Session).Name(), s.Session)
	if s.Chapter != "" {
		text += fmt.Sprintf(", chapter %q since %s", s.Chapter, seconds(s.Since))
	}
	switch n := len(s.Ops); {
	case n > 0:
		text += fmt.Sprintf(": %s, since %s", asked(&s.Ops[0].Op), seconds(s.Ops[0].Since))
		if n > 1 {
			text += fmt.Sprintf(", and %d more up to %s since %s", n-1, asked(&s.Ops[n-1].Op), seconds(s.Ops[n-1].Since))
		}
	case s.Worked:
		text += fmt.Sprintf(": no operation under way, the last was on ledger %d", s.Ledger)
	default:
		text += ": no operation under way"
	}
	return text
}
