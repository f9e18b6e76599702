package explore

import (
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// name is what a client is called in sentences.
func name(client int) string {
	if client == 0 {
		return "the writer"
	}
	return fmt.Sprintf("recovery %d", client)
}

// describe tells a ledger's metadata in a line.
func describe(m *ledger.Metadata) string {
	var b strings.Builder
	b.WriteString(m.State.String())
	if m.State == ledger.Closed {
		fmt.Fprintf(&b, " at %d", m.LastEntry)
	}
	for _, f := range m.Fragments {
		fmt.Fprintf(&b, ", from %d on", f.First)
		for _, id := range f.Ensemble {
			fmt.Fprintf(&b, " %s", id)
		}
	}
	return b.String()
}

// replaced tells which bookies an ensemble gets.
func replaced(who string, chosen []protocol.Replacement) string {
	if len(chosen) == 0 {
		return who + " finds no bookie to replace one with"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s puts", who)
	for i, c := range chosen {
		if i > 0 {
			b.WriteString(" and")
		}
		fmt.Fprintf(&b, " %s at index %d", c.Bookie, c.Index)
	}
	b.WriteString(" of the ensemble")
	return b.String()
}

// numbered is a count with its noun.
func numbered(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Violation is a shortest sequence of steps that breaks a rule.
type Violation struct {
	Rule  string     `json:"rule"`
	What  string     `json:"what"`
	Steps [][]string `json:"steps"` // each in one or more lines; the first is the world at the start
}

func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Rule, v.What)
	for i, lines := range v.Steps {
		for j, line := range lines {
			if j == 0 {
				fmt.Fprintf(&b, "%3d  %s\n", i, line)
			} else {
				fmt.Fprintf(&b, "     %s\n", line)
			}
		}
	}
	return b.String()
}
