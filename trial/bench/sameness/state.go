package sameness

import (
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
)

// State is what a workload left behind: a line a ledger, in the order of their names, with a line break behind each.
type State string

// shapeFrom begins the part of a line that says what shape a ledger has.
const shapeFrom = ", quorums "

// outcome is what is known of one ledger at the end.
type outcome struct {
	name      Name
	quorum    ledger.Quorum
	digest    ledger.DigestType
	state     ledger.State // 0: deleted
	last      ledger.EntryID
	length    int64
	contents  string
	fragments []ledger.EntryID // where they begin; nil: not determined
}

func (o *outcome) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", o.name)
	switch o.state {
	case 0:
		b.WriteString(" deleted")
		return b.String()
	case ledger.Closed:
		fmt.Fprintf(&b, " closed, last entry %d, length %d, contents %s", o.last, o.length, o.contents)
	default:
		fmt.Fprintf(&b, " %s", strings.ToLower(o.state.String()))
	}
	fmt.Fprintf(&b, shapeFrom+"%s, digest %s", quorumText(o.quorum), digestName(o.digest))
	if o.fragments != nil {
		b.WriteString(", fragments from")
		for _, first := range o.fragments {
			fmt.Fprintf(&b, " %d", first)
		}
	}
	return b.String()
}

func stateOf(outcomes []outcome) State {
	slices.SortFunc(outcomes, func(a, b outcome) int { return strings.Compare(string(a.name), string(b.name)) })
	var b strings.Builder
	for i := range outcomes {
		b.WriteString(outcomes[i].line())
		b.WriteByte('\n')
	}
	return State(b.String())
}

// Logical is a state without what the shape of ledgers shows in: of each ledger its name, whether it is open, closed or
// deleted, and of a closed one its last entry, its length and its contents.
func (s State) Logical() State {
	var b strings.Builder
	for line := range strings.Lines(string(s)) {
		what, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), shapeFrom)
		b.WriteString(what)
		b.WriteByte('\n')
	}
	return State(b.String())
}

// Difference is the first line in which two states differ, in words that name both; empty if they are the same.
func Difference(one string, a State, other string, b State) string {
	if a == b {
		return ""
	}
	left, right := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range max(len(left), len(right)) {
		x, y := lineOf(left, i), lineOf(right, i)
		if x != y {
			return fmt.Sprintf("line %d is %q in %s and %q in %s", i+1, x, one, y, other)
		}
	}
	return ""
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
