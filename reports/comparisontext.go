package reports

import (
	"fmt"
	"io"
	"strings"
)

// PrintComparison writes what changed between two results: how many figures, what else differs, then each figure, those
// with a difference first.
func PrintComparison(w io.Writer, before, after *Result) error {
	p := &printer{w: w}
	changes := Compare(before, after)
	p.line("%s", comparisonHeadline(changes))
	p.line("before: %s, %s\n", before.Started.UTC().Format("2006-01-02 15:04 UTC"), before.Build.text())
	for _, difference := range Differences(before, after) {
		p.line("WARNING: %s", difference)
	}
	if len(changes) == 0 {
		return p.err
	}
	p.line("")
	rows := [][]string{{"cell", "figure", "before", "now", "unit", "clock", "change", "95 % interval", "p", "p of all", ""}}
	for _, shown := range []bool{true, false} {
		for _, c := range changes {
			if c.Word.Shown() == shown {
				rows = append(rows, c.row())
			}
		}
	}
	p.aligned(rows, []bool{false, false, true, true, false, false, true, true, true, true, false})
	p.line("\nchange: of the medians, bootstrapped. One figure of each cell is tested, the first with rounds and a direction: a rate, or\n"+
		"the median latency of an open loop. p: Mann-Whitney over the rounds; p of all: Welch, corrected after Holm for all that are\n"+
		"tested. A difference counts where both are at most %v.", significant)
	return p.err
}

// comparisonHeadline counts the outcomes.
func comparisonHeadline(changes []Change) string {
	if len(changes) == 0 {
		return "the two results have no figure in common"
	}
	var parts []string
	for _, word := range []ChangeWord{Slower, Worsened, Faster, Improved, Higher, Lower, NoDifference, TooFew, NotTested} {
		n := 0
		for _, c := range changes {
			if c.Word == word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return fmt.Sprintf("%d figures compared: %s", len(changes), strings.Join(parts, ", "))
}

func (c *Change) row() []string {
	s := scaleOf(c.After.Unit, []float64{c.Before.Value, c.After.Value})
	change, interval := "", ""
	if c.Defined {
		change = percentText(c.Percent) + " %"
		if c.Low != c.Percent || c.High != c.Percent {
			interval = percentText(c.Low) + " to " + percentText(c.High)
		}
	}
	p, corrected := "", ""
	if c.Primary {
		p, corrected = probabilityText(c.P), probabilityText(c.HolmP)
	}
	return []string{
		c.Cell, c.After.Name, s.text(c.Before.Value), s.text(c.After.Value), s.unit, clockWords(c.After.Clock), change, interval,
		p, corrected, string(c.Word),
	}
}

func probabilityText(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
