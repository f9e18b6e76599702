package campaign

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"lakebed/trial/shrink"
)

// endings are what the ways to end mean for a reader.
var endings = map[shrink.Ending]string{
	shrink.Minimal:     "each of them is needed: without any one of them it passes, or fails otherwise",
	shrink.OutOfBudget: "the budget ran out, so it may become smaller still: more --budget",
	shrink.Interrupted: "you interrupted, so it may become smaller still",
	shrink.Rounds:      "it was still becoming smaller: shrink the file again",
}

// WriteText prints what was made of a trial.
func (s *Shrunk) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: seed %d of %s", counting(s.After.Faults, "fault"), counting(s.After.Operations, "client operation"), s.Seed, s.Scenario)
	if s.Defect != "" {
		fmt.Fprintf(&b, " with %s", s.Defect)
	}
	fmt.Fprintf(&b, "\n%s\n\n%s (checker %s)\n\n", endings[s.Ending], s.Signature, s.Checker)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tbefore\tafter\t")
	for _, row := range []struct {
		name          string
		before, after any
	}{
		{"faults", s.Before.Faults, s.After.Faults}, {"client operations", s.Before.Operations, s.After.Operations},
		{"clients", s.Before.Clients, s.After.Clients}, {"nodes that faults strike", s.Before.Nodes, s.After.Nodes},
		{"seconds of work", s.Before.WorkSeconds, s.After.WorkSeconds},
		{"events", thousands(s.Before.Events), thousands(s.After.Events)},
	} {
		fmt.Fprintf(t, "%s\t%v\t%v\t\n", row.name, row.before, row.after)
	}
	_ = t.Flush() // into memory
	s.writeCase(&b)
	fmt.Fprintf(&b, "\n%s in %s, %s of processor time\n", counting(s.Tries, "trial"), duration(s.Seconds), duration(s.CPUSeconds))
	if s.Replays > 0 {
		fmt.Fprintf(&b, "%d of %d replays in fresh processes fail alike, in %s\n", s.Alike, s.Replays, duration(s.ReplaySeconds))
	}
	fmt.Fprintf(&b, "\nnext: %s\n", s.Replay)
	_, err := io.WriteString(w, b.String())
	return err
}

// elementsTold bounds the elements that are listed.
const elementsTold = 20

// writeCase lists what is left.
func (s *Shrunk) writeCase(b *strings.Builder) {
	elements := s.Trial.Plan.Elements
	if n := len(elements); n > 0 && n <= elementsTold {
		b.WriteString("\nfaults\n")
		text, err := json.Marshal(s.Trial.Plan)
		var plan struct{ Elements []json.RawMessage }
		if err == nil && json.Unmarshal(text, &plan) == nil {
			for _, e := range plan.Elements {
				fmt.Fprintf(b, "  %s\n", e)
			}
		}
	}
	r := s.Trial.Reduction
	if n := len(r.Operations); n > 0 && n <= elementsTold {
		var names []string
		for _, o := range r.Operations {
			names = append(names, o.String())
		}
		fmt.Fprintf(b, "\noperations (client/step/part): %s\n", strings.Join(names, " "))
	}
	if r.Quorum != "" {
		fmt.Fprintf(b, "quorum %s on %d bookies\n", r.Quorum, r.Bookies)
	}
	if len(r.Plain) > 0 {
		fmt.Fprintf(b, "not needed: what the seed draws of %v\n", r.Plain)
	}
}

func counting(n int, noun string) string { return plural(int64(n), noun) }

// StageLine says in a line what one kind of reduction did.
func StageLine(s shrink.Stage) string {
	return fmt.Sprintf("%-18s %5d trials, %3d smaller: %3d faults, %4d operations  %s", s.Name, s.Tries, s.Accepted, s.Faults,
		s.Operations, time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond))
}
