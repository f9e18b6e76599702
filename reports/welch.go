package reports

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// welchP is the probability that two sets of samples of one mean differ by as much as these, by Welch's t test: the sets may
// spread differently. Times and rates err in proportion, so it looks at their logarithms where all are positive. Other than
// a test of ranks it can say of six rounds against six that a difference is far beyond chance, and pays for that by trusting
// their spread; Compare wants both.
func welchP(a, b []float64) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 1
	}
	if allPositive(a) && allPositive(b) {
		a, b = logarithms(a), logarithms(b)
	}
	meanA, varianceA := stat.MeanVariance(a, nil)
	meanB, varianceB := stat.MeanVariance(b, nil)
	partA, partB := varianceA/float64(len(a)), varianceB/float64(len(b))
	if partA+partB == 0 { // each set is one value over and over: exact, or too coarse a clock, and ranks decide
		if meanA == meanB {
			return 1
		}
		return 0
	}
	if math.IsInf(partA+partB, 0) || math.IsNaN(partA+partB) {
		return 1 // beyond what can be calculated with
	}
	t := math.Abs(meanA-meanB) / math.Sqrt(partA+partB)
	shareA, shareB := partA/(partA+partB), partB/(partA+partB) // squares of the parts themselves may be zero
	freedom := 1 / (shareA*shareA/float64(len(a)-1) + shareB*shareB/float64(len(b)-1))
	return min(1, 2*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Survival(t))
}

func allPositive(samples []float64) bool {
	for _, s := range samples {
		if s <= 0 {
			return false
		}
	}
	return true
}

func logarithms(samples []float64) []float64 {
	logs := make([]float64, len(samples))
	for i, s := range samples {
		logs[i] = math.Log(s)
	}
	return logs
}
