package ledgers

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of histograms, in nanoseconds.
const (
	latencyMin    = int64(time.Microsecond)
	latencyMax    = int64(60 * time.Second)
	latencyDigits = 3
)

// histogram counts latencies from a microsecond to a minute. It is not for several tasks at a time.
type histogram struct {
	*hdrhistogram.Histogram
	failed error // the first latency that could not be counted
}

func newHistogram() *histogram {
	return &histogram{Histogram: hdrhistogram.New(latencyMin, latencyMax, latencyDigits)}
}

// add counts a latency for so many entries. One that is too long to be counted fails the measurement: a tail that is cut
// off would look like a short one.
func (h *histogram) add(d time.Duration, entries int64) {
	if err := h.RecordValues(max(int64(d), latencyMin), entries); err != nil && h.failed == nil {
		h.failed = fmt.Errorf("a latency of %v cannot be counted: %w", d, err)
	}
}

// at is a percentile in microseconds.
func (h *histogram) at(percent float64) float64 { return float64(h.ValueAtQuantile(percent)) / 1e3 }

// take adds the counts of another histogram.
func (h *histogram) take(other *histogram) {
	h.Merge(other.Histogram)
	if h.failed == nil {
		h.failed = other.failed
	}
}
