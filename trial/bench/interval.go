package bench

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	resamples = 4000
	tail      = 0.025 // on each side of a 95 % interval
)

// Interval is a median with its 95 % bootstrap interval.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// medianInterval resamples the samples with replacement and takes percentiles of the medians. The seed fixes the draw.
// With fewer than about six samples the interval is little more than their range.
func medianInterval(samples []float64, seed uint64) Interval {
	if len(samples) == 0 {
		return Interval{}
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(samples))))
	medians := make([]float64, resamples)
	drawn := make([]float64, len(samples))
	for i := range medians {
		for j := range drawn {
			drawn[j] = samples[random.IntN(len(samples))]
		}
		medians[i] = median(drawn)
	}
	slices.Sort(medians)
	return Interval{
		Median: median(slices.Clone(samples)),
		Low:    stat.Quantile(tail, stat.Empirical, medians, nil),
		High:   stat.Quantile(1-tail, stat.Empirical, medians, nil),
	}
}

// median sorts the samples. Zero if there are none.
func median(samples []float64) float64 {
	n := len(samples)
	if n == 0 {
		return 0
	}
	slices.Sort(samples)
	return (samples[(n-1)/2] + samples[n/2]) / 2
}
