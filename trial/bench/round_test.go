package bench

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// countingWorker counts its steps, takes a while for each, and fails at one.
type countingWorker struct {
	steps  int
	pause  time.Duration
	failAt int
}

var errPlanned = errors.New("planned")

func (w *countingWorker) step() error {
	time.Sleep(w.pause)
	if w.steps++; w.steps == w.failAt {
		return errPlanned
	}
	return nil
}

// TestEveryStepOfARoundIsCountedAndTimedOnce, and each worker makes at least one.
func TestEveryStepOfARoundIsCountedAndTimedOnce(t *testing.T) {
	workers := []*countingWorker{{pause: time.Millisecond}, {pause: 3 * time.Millisecond}}
	runners := []*runner{{worker: workers[0]}, {worker: workers[1]}}
	var calls atomic.Int64
	for range 2 { // a second round forgets the first
		before := workers[0].steps + workers[1].steps
		calls.Store(0)
		elapsed, _, err := drive(runners, "test", func(time.Time) bool { return calls.Add(1) > 10 })
		if err != nil || elapsed < 3*time.Millisecond {
			t.Fatalf("took %v, error %v", elapsed, err)
		}
		if made := workers[0].steps + workers[1].steps - before; steps(runners) != int64(made) || made != 12 {
			t.Errorf("%d steps counted, %d made, want 12", steps(runners), made)
		}
	}
	l := newLatencies()
	if err := l.add(runners, 32); err != nil {
		t.Fatal(err)
	}
	if got, want := l.histogram.TotalCount(), steps(runners)*32; got != want {
		t.Errorf("%d latencies for %d entries", got, want)
	}
	if p50, p99, most := l.at(50), l.at(99), l.at(100); p50 < 1000 || most < 3000 || p50 > p99 || p99 > most {
		t.Errorf("percentiles %v, %v, %v of steps of 1 and 3 ms", p50, p99, most)
	}
}

func TestAFailedStepEndsItsWorkersRound(t *testing.T) {
	runners := []*runner{{worker: &countingWorker{failAt: 3}}, {worker: &countingWorker{failAt: 5}}}
	_, _, err := drive(runners, "test", func(time.Time) bool { return false })
	if !errors.Is(err, errPlanned) || len(runners[0].latencies) != 2 || len(runners[1].latencies) != 4 {
		t.Errorf("%d and %d good steps, error %v", len(runners[0].latencies), len(runners[1].latencies), err)
	}
}

// TestALatencyBeyondTheHistogramCountsAsTheLongest instead of being lost.
func TestALatencyBeyondTheHistogramCountsAsTheLongest(t *testing.T) {
	l := newLatencies()
	if err := l.add([]*runner{{latencies: []time.Duration{time.Hour}}}, 1); err != nil {
		t.Fatal(err)
	}
	if most := l.at(100); most < 59e6 || most > 61e6 {
		t.Errorf("an hour counts as %v µs", most)
	}
}

// TestNoColdPlaceIsHandedOutTwice, however many readers take them at once, and nearly all are.
func TestNoColdPlaceIsHandedOutTwice(t *testing.T) {
	const count, readers = 500, 7
	places := make([]place, count)
	for i := range places {
		places[i].entry = 1
	}
	next, over := handOut(places, readers)
	var taken atomic.Int64
	var runners []*runner
	for range readers {
		runners = append(runners, &runner{worker: stepFunc(func() error {
			if next().entry != 1 {
				return errPlanned
			}
			taken.Add(1)
			return nil
		})})
	}
	if _, _, err := drive(runners, "test", over); err != nil {
		t.Fatal(err)
	}
	if got := taken.Load(); got > count || got <= count-readers {
		t.Errorf("%d of %d places were taken by %d readers", got, count, readers)
	}
}

type stepFunc func() error

func (f stepFunc) step() error { return f() }
