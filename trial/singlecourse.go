package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lakebed/model"
)

// tellCourse says what the clients of a store on one node did. times tells when a stamp of the history was given.
func (t *single) tellCourse(operations []stampedOperation, times func(model.Stamp) (time.Duration, bool)) {
	o := t.options.Course
	o.world(t.world, t.driver)
	for i, f := range t.findings {
		var accused []int
		for k := range operations {
			if name := operations[k].name; name != "" && strings.Contains(f.Text, name) {
				accused = append(accused, k)
			}
		}
		o.accuse(i, accused)
	}
	for _, op := range operations {
		op.Node, op.Ledger, op.Entry, op.Last, op.End = t.node.Name(), NoSubject, NoSubject, NoSubject, Never
		op.Begin, _ = times(op.call)
		if at, known := times(op.ended); known {
			op.End = at
		}
		op.Text = fmt.Sprintf("%s %s: %s", op.Kind, op.Text, op.Outcome)
		o.Operations = append(o.Operations, op.ClientOperation)
	}
}

// stampedOperation is one whose times are stamps of a history. Its text says what was asked.
type stampedOperation struct {
	ClientOperation
	call, ended model.Stamp
	name        string // by which findings name it; empty: by its index in the history, which a page finds by itself
}

// toldSegments are the operations as a course has them: by index in the history.
func toldSegments(h *model.SegmentHistory) []stampedOperation {
	var all []stampedOperation
	for i := range h.Ops {
		op := &h.Ops[i]
		told := stampedOperation{call: op.Call, ended: op.Return}
		told.Client, told.Kind, told.Outcome = int(op.Client), op.Kind.String(), op.Outcome.String()
		switch op.Kind {
		case model.SegmentAppend:
			told.Text = fmt.Sprintf("%d messages to partition %d", len(op.Values), op.Partition)
		case model.SegmentRead:
			told.Text = fmt.Sprintf("%d messages of partition %d from %d", len(op.Values), op.Partition, op.Cursor)
		case model.SegmentSeek:
			told.Text = fmt.Sprintf("time %d in partition %d, found %d", op.Time, op.Partition, op.Cursor)
		case model.SegmentBounds:
			told.Text = fmt.Sprintf("partition %d, from %d to %d", op.Partition, op.Cursor, op.Next)
		}
		all = append(all, told)
	}
	return all
}

// toldMessages are the operations as a course has them, in the order of their calls.
func toldMessages(h *model.MessageHistory) []stampedOperation {
	var all []stampedOperation
	for i := range h.Sends {
		s := &h.Sends[i]
		told := stampedOperation{call: s.Call, ended: s.Return}
		told.Client, told.Kind, told.Outcome = int(s.Client), "send", s.Outcome.String()
		told.name = fmt.Sprintf("%016x", uint64(s.Digest))
		told.Text = fmt.Sprintf("%s to %v", told.name, s.Queue)
		if s.Outcome == model.OK {
			told.Text += fmt.Sprintf(" at %d, %d of the log", s.Offset, s.Physical)
		}
		all = append(all, told)
	}
	for i := range h.Pulls {
		p := &h.Pulls[i]
		told := stampedOperation{call: p.Call, ended: p.Return}
		told.Client, told.Kind, told.Outcome = int(p.Client), "pull", model.OK.String()
		told.name = p.String()
		told.Text = fmt.Sprintf("%d messages of %v from %d", len(p.Items), p.Queue, p.From)
		all = append(all, told)
	}
	slices.SortStableFunc(all, func(x, y stampedOperation) int { return cmp.Compare(x.call, y.call) })
	return all
}
