package experiments

import (
	"fmt"
	"math"
	"strings"

	"lakebed/reports"
)

// judge is the rule of an experiment: figures in, a verdict out. It looks at nothing but the result.
type judge func(*reports.Result) reports.Verdict

// judgement gathers what speaks for and against a hypothesis. The gravest finding decides: refuted, then undecided, then
// confirmed.
type judgement struct {
	against, open, favour []string
}

func (j *judgement) refute(format string, arguments ...any) {
	j.against = append(j.against, fmt.Sprintf(format, arguments...))
}

func (j *judgement) leaveOpen(format string, arguments ...any) {
	j.open = append(j.open, fmt.Sprintf(format, arguments...))
}

func (j *judgement) support(format string, arguments ...any) {
	j.favour = append(j.favour, fmt.Sprintf(format, arguments...))
}

// verdict is the word with the findings that led to it. Nothing said at all is undecided.
func (j *judgement) verdict() reports.Verdict {
	say := func(word reports.VerdictWord, reasons []string) reports.Verdict {
		return reports.Verdict{Word: word, Reason: strings.Join(reasons, "; ")}
	}
	switch {
	case len(j.against) > 0:
		return say(reports.Refuted, j.against)
	case len(j.open) > 0:
		return say(reports.Undecided, append(j.open, j.favour...))
	case len(j.favour) > 0:
		return say(reports.Confirmed, j.favour)
	}
	return say(reports.Undecided, []string{"nothing was measured that could decide it"})
}

// figureOf finds a figure, and leaves the verdict open where it is missing.
func (j *judgement) figureOf(r *reports.Result, cell, name string) (reports.Figure, bool) {
	if c, ok := r.Cell(cell); ok {
		if f, ok := c.Figure(name); ok {
			return f, true
		}
	}
	j.leaveOpen("%s of %s was not measured", name, cell)
	return reports.Figure{}, false
}

// total is the sum of a figure's samples: counts are sampled a seed or a campaign at a time. A figure of one value has no
// samples.
func total(f *reports.Figure) float64 {
	if len(f.Samples) == 0 {
		return f.Value
	}
	sum := 0.0
	for _, s := range f.Samples {
		sum += s
	}
	return sum
}

// roundsDecisive is how many rounds an interval of wall-clock time needs before it may decide anything.
const roundsDecisive = 5

// ratio is how the medians of two figures that took turns compare, with its interval. Not ok: too few rounds, or one of
// them is zero; the verdict is then left open.
func (j *judgement) ratio(what string, part, whole *reports.Figure) (reports.Interval, bool) {
	what = strings.TrimSuffix(what, ",")
	if part.Clock == reports.ClockWall && min(len(part.Samples), len(whole.Samples)) < roundsDecisive {
		j.leaveOpen("%s: %d rounds, and it takes %d", what, min(len(part.Samples), len(whole.Samples)), roundsDecisive)
		return reports.Interval{}, false
	}
	if len(part.Samples) == len(whole.Samples) && len(part.Samples) > 0 {
		if i, ok := reports.PairedRatioInterval(part.Samples, whole.Samples, ratioSeed); ok {
			return i, true
		}
	}
	j.leaveOpen("%s cannot be compared", what)
	return reports.Interval{}, false
}

// ratioSeed fixes the resampling, so that a result is judged alike each time.
const ratioSeed = 1

// above supports or refutes that a ratio is above a bound; an interval that holds the bound leaves it open.
func (j *judgement) above(what string, i reports.Interval, bound float64) {
	said := fmt.Sprintf("%s is %s (%s to %s), the bound is %s", what, short(i.Value), short(i.Low), short(i.High), short(bound))
	switch {
	case i.Low > bound:
		j.support("%s", said)
	case i.High <= bound:
		j.refute("%s", said)
	default:
		j.leaveOpen("%s", said)
	}
}

// short writes a number with three digits that count.
func short(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return fmt.Sprintf("%.0f", v)
	}
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
