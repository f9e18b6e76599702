package inspect

import (
	"fmt"
	"io"
	"text/tabwriter"

	"lakebed/engine/inspection"
)

// The classes of problems.
const (
	Unreadable    inspection.Class = "unreadable"     // the machine could not read it
	BadCheckpoint inspection.Class = "bad-checkpoint" // it cannot be decoded; a start goes by the other one, if that is good
	NoCheckpoint  inspection.Class = "no-checkpoint"  // the next start makes queues and index anew
	Missing       inspection.Class = "missing"        // a file of the log, or of a queue
	Rot           inspection.Class = "rot"            // no record where the log is durable
	TornTail      inspection.Class = "torn-tail"      // behind what is known to be durable
	Gap           inspection.Class = "gap"            // offsets of a queue do not run on
	MissingUnit   inspection.Class = "missing-unit"   // a message that consumers do not see
	BadUnit       inspection.Class = "bad-unit"       // a unit that leads elsewhere
	BadIndex      inspection.Class = "bad-index"      // a file of the key index
	Orphan        inspection.Class = "orphan"         // nothing of a commit log's
	Interrupted   inspection.Class = "interrupted"    // a start did not come to its end
)

// Report is everything that was found.
type Report struct {
	Files      []LogFile   `json:"files"`
	End        int64       `json:"end"`               // of the records, an offset in the log
	Messages   int64       `json:"messages"`          // in the log
	Skipped    int64       `json:"skipped,omitempty"` // of the log's bytes up to its end, those that are no whole record
	Stray      int64       `json:"stray,omitempty"`   // whole messages behind its end, from which bytes that are no record part them
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	Queues     []Queue     `json:"queues"`
	Indexes    []IndexFile `json:"indexes"`

	inspection.Findings
}

// LogFile is a file of the log.
type LogFile struct {
	Base  int64 `json:"base"`
	Bytes int64 `json:"bytes"`
}

// Checkpoint is what a start relies on.
type Checkpoint struct {
	File       string `json:"file"`
	Sequence   int64  `json:"sequence"`
	Synced     int64  `json:"synced"`
	Dispatched int64  `json:"dispatched"`
	Stored     int64  `json:"stored_millis"`
	Clean      bool   `json:"clean"`
}

// Queue is a queue as the checkpoint counts it.
type Queue struct {
	Topic string `json:"topic"`
	Queue int32  `json:"queue"`
	First int64  `json:"first"`
	Next  int64  `json:"next"`
	Files int    `json:"files"`
}

// IndexFile is a file of the key index. One that is being filled says nothing of itself.
type IndexFile struct {
	Name     string `json:"name"`
	Complete bool   `json:"complete"`
	Entries  int32  `json:"entries"`
	First    int64  `json:"first"` // offsets in the log
	Last     int64  `json:"last"`
}

// Text writes the report for people: a headline, a table for each kind of file, and the problems at the end, where a terminal shows
// them.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%s: %d messages, %d log files, %d queues, %d files of the key index\n", r.Verdict(), r.Messages, len(r.Files), len(r.Queues), len(r.Indexes))
	if n := len(r.Files); n > 0 {
		fmt.Fprintf(t, "log: from %d, records up to %d, files up to %d\n", r.Files[0].Base, r.End, r.Files[n-1].Base+r.Files[n-1].Bytes)
	}
	if c := r.Checkpoint; c != nil {
		how := "not closed"
		if c.Clean {
			how = "closed cleanly"
		}
		fmt.Fprintf(t, "%s %d: durable up to %d, in queues up to %d, %s\n", c.File, c.Sequence, c.Synced, c.Dispatched, how)
	}
	if len(r.Queues) > 0 {
		fmt.Fprintln(t, "topic\tqueue\toffsets\tfiles")
	}
	for _, q := range r.Queues {
		fmt.Fprintf(t, "%s\t%d\t%d to %d\t%d\n", q.Topic, q.Queue, q.First, q.Next, q.Files)
	}
	for _, x := range r.Indexes {
		if x.Complete {
			fmt.Fprintf(t, "key index %s: %d entries, messages at %d to %d\n", x.Name, x.Entries, x.First, x.Last)
		} else {
			fmt.Fprintf(t, "key index %s: being filled\n", x.Name)
		}
	}
	r.WriteLines(t)
	return t.Flush()
}
