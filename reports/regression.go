package reports

import (
	"gonum.org/v1/gonum/stat"

	"lakebed/internal/invariant"
)

// StraightLine is y = Intercept + Slope·x through points by least squares.
type StraightLine struct {
	Intercept Interval
	Slope     Interval
	R2        float64 // share of the spread of y that the line explains, 0 to 1
}

// At is the value of the line at x.
func (l StraightLine) At(x float64) float64 { return l.Intercept.Value + l.Slope.Value*x }

// FitLine fits a straight line and resamples the points for its intervals. ok is false if the points have fewer than two
// different x: then no line is the best one. For a power law fit the logarithms of both: the slope is the exponent.
func FitLine(x, y []float64, seed uint64) (line StraightLine, ok bool) {
	invariant.Check(len(x) == len(y), "points have an x and a y each")
	if !differ(x) {
		return StraightLine{}, false
	}
	intercept, slope := stat.LinearRegression(x, y, nil, false)
	if !finite(intercept) || !finite(slope) {
		return StraightLine{}, false
	}
	drawnX, drawnY := make([]float64, len(x)), make([]float64, len(x))
	// Both intervals draw the same points: they start from the same seed.
	part := func(choose func(intercept, slope float64) float64) func() (float64, bool) {
		random := source(seed, len(x))
		return func() (float64, bool) {
			for i := range drawnX {
				k := random.IntN(len(x))
				drawnX[i], drawnY[i] = x[k], y[k]
			}
			if !differ(drawnX) {
				return 0, false
			}
			v := choose(stat.LinearRegression(drawnX, drawnY, nil, false))
			return v, finite(v)
		}
	}
	line.Intercept = bootstrap(intercept, part(func(intercept, _ float64) float64 { return intercept }))
	line.Slope = bootstrap(slope, part(func(_, slope float64) float64 { return slope }))
	line.R2 = 1
	if differ(y) {
		line.R2 = min(1, max(0, stat.RSquared(x, y, nil, intercept, slope)))
	}
	return line, true
}

// differ says whether there are two different values.
func differ(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}
