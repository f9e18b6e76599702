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
	rules := r.rulesLookedAt()
	words := map[Ending]string{
		Kept:    "KEPT: every state that these worlds can reach keeps " + rules,
		Broken:  "BROKEN: a state breaks a rule",
		Stopped: "STOPPED: not all states were visited; those that were keep " + rules,
	}[r.Ending]
	weakened := func(f Found) bool { return f.Without != "" }
	switch {
	case r.Ending == Broken && !slices.ContainsFunc(r.Worlds, func(f Found) bool { return f.Ending == Broken && f.Without == "" }):
		words = "BROKEN: without a rule of the protocol a promise does not hold"
	case r.Ending == Kept && slices.ContainsFunc(r.Worlds, weakened):
		// That a world too small to show a loss shows none speaks neither for the protocol nor against the rule.
		words = "NO COUNTER-EXAMPLE: a rule of the protocol was taken out, and every state that these worlds can reach keeps " + rules
	}
	if r.Interrupted {
		words += " (interrupted)"
	}
	return words
}

// rulesLookedAt says what the states were held against.
func (r *Report) rulesLookedAt() string {
	for i := range r.Worlds {
		if r.Worlds[i].Only != r.Worlds[0].Only {
			return "the rules that were looked at"
		}
	}
	if len(r.Worlds) == 0 {
		return "every rule"
	}
	return r.Worlds[0].rules()
}

// rules says what the states of one world were held against.
func (f *Found) rules() string {
	if f.Only == "" {
		return "every rule"
	}
	return fmt.Sprintf("the rule %q, the only one looked at", f.Only)
}

// tell explains what was found in a world that is worth more than a line.
func (f *Found) tell(b *strings.Builder) {
	without := ""
	if f.Without != "" {
		without = fmt.Sprintf("\nwithout %s: %s", f.Without, f.About)
	}
	switch {
	case f.Violation != nil:
		steps := len(f.Violation.Steps) - 1
		fmt.Fprintf(b, "\n%s%s\nbroken after %d steps, and no shorter way breaks it:\n\n%v", f.World, without, steps, f.Violation)
	case f.Without != "" && f.Ending == Kept:
		fmt.Fprintf(b, "\n%s%s\neven so this world keeps %s; a larger one may not\n", f.World, without, f.rules())
	}
}
