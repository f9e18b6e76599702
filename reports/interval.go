package reports

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"lakebed/internal/invariant"
)

const (
	resamples = 4000  // of one bootstrap
	tail      = 0.025 // on each side of a 95 % interval
)

// Interval is a value with its 95 % interval.
type Interval struct {
	Value float64
	Low   float64
	High  float64
}

// Median returns the middle of the samples, or the mean of the two in the middle. It leaves their order alone.
func Median(samples []float64) float64 {
	invariant.Check(len(samples) > 0, "a median is of at least one sample")
	return medianSorted(slices.Sorted(slices.Values(samples)))
}

// Quantile returns the smallest sample that at least the share q of all samples does not exceed. It leaves their order
// alone.
func Quantile(samples []float64, q float64) float64 {
	invariant.Check(len(samples) > 0, "a quantile is of at least one sample")
	invariant.Check(q >= 0 && q <= 1, "a quantile's share lies between 0 and 1")
	return stat.Quantile(q, stat.Empirical, slices.Sorted(slices.Values(samples)), nil)
}

// MedianInterval resamples with replacement and takes percentiles of the medians. With fewer than about six samples the
// interval is little more than their range.
func MedianInterval(samples []float64, seed uint64) Interval {
	random := source(seed, len(samples))
	drawn := make([]float64, len(samples))
	return bootstrap(Median(samples), func() (float64, bool) {
		for i := range drawn {
			drawn[i] = samples[random.IntN(len(samples))]
		}
		return medianInPlace(drawn), true
	})
}

// PairedRatioInterval is of the median of parts by the median of wholes, where the i-th of both were measured side by
// side. Pairs are drawn together: what disturbed both in a round cancels out. ok is false if no ratio exists.
func PairedRatioInterval(parts, wholes []float64, seed uint64) (ratio Interval, ok bool) {
	invariant.Check(len(parts) == len(wholes), "paired samples come in pairs")
	random := source(seed, len(parts))
	drawnParts, drawnWholes := make([]float64, len(parts)), make([]float64, len(parts))
	return ratioInterval(parts, wholes, func() (float64, bool) {
		for i := range parts {
			k := random.IntN(len(parts))
			drawnParts[i], drawnWholes[i] = parts[k], wholes[k]
		}
		return ratioOf(medianInPlace(drawnParts), medianInPlace(drawnWholes))
	})
}

// RatioInterval is of the median of parts by the median of wholes, measured apart from each other: both are resampled on
// their own. ok is false if no ratio exists.
func RatioInterval(parts, wholes []float64, seed uint64) (ratio Interval, ok bool) {
	random := source(seed, len(parts)+len(wholes))
	drawnParts, drawnWholes := make([]float64, len(parts)), make([]float64, len(wholes))
	return ratioInterval(parts, wholes, func() (float64, bool) {
		for i := range drawnParts {
			drawnParts[i] = parts[random.IntN(len(parts))]
		}
		for i := range drawnWholes {
			drawnWholes[i] = wholes[random.IntN(len(wholes))]
		}
		return ratioOf(medianInPlace(drawnParts), medianInPlace(drawnWholes))
	})
}

func ratioInterval(parts, wholes []float64, draw func() (float64, bool)) (Interval, bool) {
	ratio, ok := ratioOf(Median(parts), Median(wholes))
	if !ok {
		return Interval{}, false
	}
	return bootstrap(ratio, draw), true
}

func ratioOf(part, whole float64) (ratio float64, ok bool) {
	ratio = part / whole
	return ratio, whole != 0 && finite(ratio)
}

// bootstrap draws a statistic again and again, and takes the percentiles of what it was. A draw of which the statistic
// does not exist is left out. The interval always holds the value itself, also where few samples make it a hair too narrow.
func bootstrap(value float64, draw func() (float64, bool)) Interval {
	drawn := make([]float64, 0, resamples)
	for range resamples {
		if v, ok := draw(); ok {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) == 0 {
		return Interval{Value: value, Low: value, High: value}
	}
	slices.Sort(drawn)
	return Interval{
		Value: value,
		Low:   min(value, stat.Quantile(tail, stat.Empirical, drawn, nil)),
		High:  max(value, stat.Quantile(1-tail, stat.Empirical, drawn, nil)),
	}
}

func medianInPlace(samples []float64) float64 {
	slices.Sort(samples)
	return medianSorted(samples)
}

func medianSorted(sorted []float64) float64 {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low + (high-low)/2 // the sum of both could exceed what a float64 holds
}

func source(seed uint64, n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }
