package inspect

import (
	"fmt"
	"io"
	"text/tabwriter"

	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

// The classes of problems.
const (
	Unreadable    inspection.Class = "unreadable"     // the machine could not read it
	BadTopic      inspection.Class = "bad-topic"      // a topic's file
	Missing       inspection.Class = "missing"        // a directory or an index that must be there
	TornTail      inspection.Class = "torn-tail"      // of the newest segment
	Rot           inspection.Class = "rot"            // a record of a segment that is sealed
	BadMessage    inspection.Class = "bad-message"    // its checksum is good, and it is no log group list
	Gap           inspection.Class = "gap"            // cursors do not run on
	BadIndex      inspection.Class = "bad-index"      // an index file by itself
	IndexMismatch inspection.Class = "index-mismatch" // an index file and its log differ
	BadCheckpoint inspection.Class = "bad-checkpoint" // a file of checkpoints by itself
	BadList       inspection.Class = "bad-list"       // the list of sealed segments by itself
	// CheckpointMismatch is a log that has not what its checkpoints promise.
	CheckpointMismatch inspection.Class = "checkpoint-mismatch"
	Orphan             inspection.Class = "orphan" // nothing of a segment log's
	Aside              inspection.Class = "aside"  // set aside by a start
)

// Report is everything that was found.
type Report struct {
	Topics []Topic `json:"topics"`

	inspection.Findings
}

// Topic is a topic as far as it lies in this directory.
type Topic struct {
	Name       string      `json:"name"`
	Version    int64       `json:"version"` // of its settings; 0: they cannot be read
	Volumes    []string    `json:"volumes"` // of its partitions, in the order of their numbers
	Partitions []Partition `json:"partitions"`
}

// Partition is one partition.
type Partition struct {
	Number   int       `json:"number"`
	Segments []Segment `json:"segments"`
}

// Segment is one segment, as its log says.
type Segment struct {
	Base    message.Cursor `json:"base"`
	Next    message.Cursor `json:"next"`
	Bytes   int64          `json:"bytes"`             // up to its end
	Behind  int64          `json:"behind,omitempty"`  // bytes of the file behind its end, which a start has copied into the next segment or cut off
	Skipped int64          `json:"skipped,omitempty"` // of its bytes, those that are no whole record
	Stray   int64          `json:"stray,omitempty"`   // whole messages behind its end, from which bytes that are no record part them: a start cuts them off
	Zeros   int64          `json:"zeros,omitempty"`   // bytes of the file behind its end if they are zeros: written ahead, so that syncs are short
	Durable int64          `json:"durable,omitempty"` // bytes that its checkpoints promise
	Newest  message.Time   `json:"newest"`
	Sealed  bool           `json:"sealed"`         // it has index files
	Full    bool           `json:"full,omitempty"` // it has none yet, and another segment follows
	Lost    bool           `json:"lost,omitempty"` // its log is missing
	Items   int            `json:"items"`          // of its indexes together
	Fillers int            `json:"fillers"`
}

// Text writes the report for people: a headline, a line for each segment, and the problems at the end, where a terminal shows them.
func (r *Report) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	var segments int
	var messages int64
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			segments += len(p.Segments)
			for _, s := range p.Segments {
				messages += int64(s.Next - s.Base)
			}
		}
	}
	fmt.Fprintf(t, "%s: %d topics, %d segments, %d messages\n", r.Verdict(), len(r.Topics), segments, messages)
	if segments > 0 {
		fmt.Fprintln(t, "topic\tpartition\tcursors\tbytes\tnewest time\tstate")
	}
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			for _, s := range p.Segments {
				fmt.Fprintf(t, "%s\t%d\t%d to %d\t%d\t%d\t%s\n", topic.Name, p.Number, s.Base, s.Next, s.Bytes, s.Newest, s.state())
			}
		}
	}
	r.WriteLines(t)
	return t.Flush()
}

// state says in words what a segment is.
func (s *Segment) state() string {
	switch {
	case s.Lost:
		return "its log is missing"
	case s.Sealed:
		return fmt.Sprintf("sealed, %d items", s.Items)
	case s.Full:
		return "full, not sealed yet"
	}
	state := "open"
	if s.Durable > 0 {
		state += fmt.Sprintf(", %d bytes in checkpoints", s.Durable)
	}
	if s.Zeros > 0 {
		state += fmt.Sprintf(", %d bytes of zeros ahead", s.Zeros)
	}
	return state
}
