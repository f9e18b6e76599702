package explore

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Print writes the report for a reader: the headline, a line a world, and each counter-example step by step.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.headline())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATES\tTRANSITIONS\tDEPTH\tSECONDS\tRESULT\tWORLD")
	for i := range r.Worlds {
		f := &r.Worlds[i]
		fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%s\t%s\n", f.States, f.Transitions, f.Depth, f.WallSeconds, f.Ending, f.World)
	}
	_ = t.Flush() // into memory
	for i := range r.Worlds {
		r.Worlds[i].tell(&b)
	}
	fmt.Fprintf(&b, "\n%d states and %d transitions in %.1f s (wall clock; %.1f s of CPU)\n", r.States, r.Transitions, r.WallSeconds, r.CPUSeconds)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) headline() string {
	words := map[Ending]string{
		Kept:    "KEPT: every state that these worlds can reach keeps every rule",
		Broken:  "BROKEN: a state breaks a rule",
		Stopped: "STOPPED: not all states were visited; those that were keep every rule",
	}[r.Ending]
	if r.Ending == Broken && !slices.ContainsFunc(r.Worlds, func(f Found) bool { return f.Ending == Broken && f.Without == "" }) {
		words = "BROKEN: without a rule of the protocol a promise does not hold"
	}
	if r.Interrupted {
		words += " (interrupted)"
	}
	return words
}

// tell explains what was found in a world that is worth more than a line.
func (f *Found) tell(b *strings.Builder) {
	without := ""
	if f.Without != "" {
		without = ": " + f.Without
	}
	switch {
	case f.Violation != nil:
		fmt.Fprintf(b, "\n%s%s\nbroken after %d steps, and no shorter way breaks it:\n\n%v", f.World, without, len(f.Violation.Steps)-1, f.Violation)
	case f.Without != "" && f.Ending == Kept:
		fmt.Fprintf(b, "\n%s%s\nthis world keeps every rule even so; a larger one may not\n", f.World, without)
	}
}
