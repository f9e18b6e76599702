package bench

import (
	"context"
	"errors"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Bounds of the histograms: longer latencies are counted as the longest.
const (
	latencyNanosMax = int64(60 * time.Second)
	latencyDigits   = 3
)

// worker is one client of an arm. A step hands in what the client keeps outstanding and waits until it is done.
type worker interface {
	step() error
}

// runner drives one worker and keeps what it took.
type runner struct {
	worker    worker
	latencies []time.Duration // of the steps of this round
	err       error
}

func (r *runner) run(over func(now time.Time) bool) {
	r.latencies = r.latencies[:0]
	for begun := time.Now(); ; {
		if r.err = r.worker.step(); r.err != nil {
			return
		}
		now := time.Now()
		r.latencies = append(r.latencies, now.Sub(begun))
		if over(now) {
			return
		}
		begun = now
	}
}

// round is what one round of clients did.
type round struct {
	entries   int64
	elapsed   time.Duration // until the last client had its answer
	usage     usage
	groups    []int64 // encoded bytes; none where nothing is written
	latencies latencies
}

func (r round) groupBytes() (sum int64) {
	for _, g := range r.groups {
		sum += g
	}
	return sum
}

// perSecond is a rate; zero if nothing was measured.
func perSecond(count int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(count) / elapsed.Seconds()
}

// micros is a time a thing, in microseconds; zero if nothing was done.
func micros(d time.Duration, things float64) float64 {
	if things == 0 {
		return 0
	}
	return float64(d) / float64(time.Microsecond) / things
}

// drive lets all runners work until over says so, and waits for the last of them.
func drive(runners []*runner, label string, over func(now time.Time) bool) (elapsed time.Duration, used usage, err error) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for _, r := range runners {
		all.Go(func() {
			pprof.Do(context.Background(), pprof.Labels("line", label), func(context.Context) {
				<-start
				r.run(over)
			})
		})
	}
	before, begun := usageNow(), time.Now()
	close(start)
	all.Wait()
	elapsed, used = time.Since(begun), usageNow().since(before)
	for _, r := range runners {
		err = errors.Join(err, r.err)
	}
	return elapsed, used, err
}

// steps is how many steps the runners made in their last round.
func steps(runners []*runner) (count int64) {
	for _, r := range runners {
		count += int64(len(r.latencies))
	}
	return count
}

// latencies gathers steps. Each step counts once for every entry it carried.
type latencies struct{ histogram *hdrhistogram.Histogram }

func newLatencies() latencies {
	return latencies{hdrhistogram.New(1, latencyNanosMax, latencyDigits)}
}

func (l latencies) add(runners []*runner, entriesPerStep int) error {
	for _, r := range runners {
		for _, d := range r.latencies {
			if err := l.histogram.RecordValues(min(int64(d), latencyNanosMax), int64(entriesPerStep)); err != nil {
				return err
			}
		}
	}
	return nil
}

// at is a percentile in microseconds.
func (l latencies) at(percent float64) float64 {
	return float64(l.histogram.ValueAtQuantile(percent)) / float64(time.Microsecond)
}
