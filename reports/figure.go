package reports

import (
	"math"

	"lakebed/internal/invariant"
)

// NewFigure makes a figure of one sample a round: their median and its 95 % bootstrap interval. The seed fixes the
// resampling. The samples are kept as they are, in their order.
func NewFigure(name, unit string, clock Clock, better Better, samples []float64, seed uint64) Figure {
	invariant.Check(len(samples) > 0, "a figure is made of at least one sample")
	invariant.Check(len(samples) <= samplesMax, "a figure is made of one sample a round")
	for _, s := range samples {
		invariant.Check(finite(s), "a sample of a figure is a number")
	}
	i := MedianInterval(samples, seed)
	return Figure{
		Name: name, Unit: unit, Clock: clock, Better: better, Value: i.Value, Low: i.Low, High: i.High,
		Samples: append([]float64(nil), samples...),
	}
}

// SingleFigure makes a figure of what was measured once. It has no interval, and a comparison can say nothing about it
// but how much it differs.
func SingleFigure(name, unit string, clock Clock, better Better, value float64) Figure {
	invariant.Check(finite(value), "the value of a figure is a number")
	return Figure{Name: name, Unit: unit, Clock: clock, Better: better, Value: value, Low: value, High: value}
}

// Figure returns the figure of a cell by name.
func (c *Cell) Figure(name string) (Figure, bool) {
	for _, f := range c.Figures {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

// Cell returns the cell with a name.
func (r *Result) Cell(name string) (*Cell, bool) {
	for g := range r.Groups {
		for c := range r.Groups[g].Cells {
			if r.Groups[g].Cells[c].Name == name {
				return &r.Groups[g].Cells[c], true
			}
		}
	}
	return nil, false
}

// GoalsMet counts the goals that were reached.
func (r *Result) GoalsMet() (met int) {
	for _, g := range r.Goals {
		if g.Met {
			met++
		}
	}
	return met
}

// numberMax bounds what is taken for a measured number. The scaling, squares and differences of smaller ones stay numbers.
const numberMax = 1e140

func finite(v float64) bool { return math.Abs(v) <= numberMax }
