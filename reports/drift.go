package reports

import (
	"fmt"
	"strings"
)

const (
	driftMin       = 0.10 // of the median, from the first round to the last
	driftRoundsMin = 6    // a trend through fewer is drawn by its ends
	driftsNamed    = 3    // in a warning; the others are counted
)

// Drift is a figure that rose or fell while its rounds were measured: its warm-up was not over, or the machine changed.
type Drift struct {
	Cell, Figure string
	Change       Interval // from the first round to the last, as a part of the median
}

// Drifts fits a straight line through the rounds of the figure that each cell is compared by, and returns those whose trend is
// beyond driftMin with all of its interval. checked is how many were looked at.
func (r *Result) Drifts() (drifts []Drift, checked int) {
	for g := range r.Groups {
		for i := range r.Groups[g].Cells {
			c := &r.Groups[g].Cells[i]
			f, ok := c.Figure(primary(c))
			if !ok || len(f.Samples) < driftRoundsMin || f.Value <= 0 {
				continue
			}
			checked++
			change, ok := trend(f, seedOf(c.Name, f.Name))
			if ok && (change.Low > driftMin || change.High < -driftMin) {
				drifts = append(drifts, Drift{Cell: c.Name, Figure: f.Name, Change: change})
			}
		}
	}
	return drifts, checked
}

func trend(f Figure, seed uint64) (Interval, bool) {
	x, y := make([]float64, len(f.Samples)), make([]float64, len(f.Samples))
	for i, sample := range f.Samples {
		x[i], y[i] = float64(i)/float64(len(f.Samples)-1), sample/f.Value
	}
	line, ok := FitLine(x, y, seed)
	return line.Slope, ok
}

// driftWarning says which figures drifted; nothing if none did. Few among many are chance: an interval errs once in twenty
// times, and through six rounds more often.
func (r *Result) driftWarning() string {
	drifts, checked := r.Drifts()
	if len(drifts) == 0 {
		return ""
	}
	var named []string
	for _, d := range drifts[:min(len(drifts), driftsNamed)] {
		named = append(named, fmt.Sprintf("%s of %s by %s %%", d.Figure, d.Cell, percentText(100*d.Change.Value)))
	}
	return fmt.Sprintf("%d of %d cells drifted by more than %.0f %% from their first round to their last (%s): the warm-up was too short there, or the "+
		"machine changed", len(drifts), checked, 100*driftMin, strings.Join(named, "; "))
}
