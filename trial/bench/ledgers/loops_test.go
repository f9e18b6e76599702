package ledgers

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host/oshost"
)

// stallingWriter answers appends after a while, in order, and stalls once: what was sent until it goes on waits for it.
type stallingWriter struct {
	answers chan *client.Op
	latency time.Duration
	failAt  int // the answer that is a failure; zero: none

	mutex   sync.Mutex
	stalled time.Time // until then nothing is answered
	sent    int
}

var errPlanned = errors.New("planned")

func newStallingWriter(t *testing.T, latency time.Duration) *stallingWriter {
	w := &stallingWriter{answers: make(chan *client.Op, 1<<16), latency: latency}
	var all sync.WaitGroup
	all.Go(w.answer)
	t.Cleanup(func() {
		close(w.answers)
		all.Wait()
	})
	return w
}

func (w *stallingWriter) stall(d time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.stalled = time.Now().Add(d)
}

func (w *stallingWriter) answer() {
	answered := 0
	for op := range w.answers {
		time.Sleep(w.latency)
		w.mutex.Lock()
		until := time.Until(w.stalled)
		w.mutex.Unlock()
		time.Sleep(until)
		if answered++; answered == w.failAt {
			op.Err = errPlanned
		}
		op.Done.Appended(op)
	}
}

func (w *stallingWriter) Append(_ []byte, op *client.Op) error {
	w.mutex.Lock()
	w.sent++
	w.mutex.Unlock()
	w.answers <- op
	return nil
}

func loopHost(t *testing.T) *oshost.Host {
	t.Helper()
	h, err := oshost.New(oshost.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// every is a schedule of arrivals at even distances.
func every(d, length time.Duration) (arrivals []time.Duration) {
	for at := time.Duration(0); at < length; at += d {
		arrivals = append(arrivals, at)
	}
	return arrivals
}

// TestAnOpenLoopShowsAStallThatAClosedOneHides: a server that answers at once stalls for 100 ms of 500. To one entry in
// flight that is one long latency of hundreds. But a fifth of those that were due met the stall.
func TestAnOpenLoopShowsAStallThatAClosedOneHides(t *testing.T) {
	const length, stall = 500 * time.Millisecond, 100 * time.Millisecond
	measure := func(loop func(w *stallingWriter) (round, error)) round {
		w := newStallingWriter(t, 0)
		timer := time.AfterFunc(length/4, func() { w.stall(stall) })
		defer timer.Stop()
		done, err := loop(w)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	open := measure(func(w *stallingWriter) (round, error) {
		l := &openLoop{writer: w, content: newContent(10, 1)}
		return l.round(every(time.Millisecond, length), length, ownCPU)
	})
	h := loopHost(t)
	closed := measure(func(w *stallingWriter) (round, error) {
		return newClosedLoop(h, w, newContent(10, 1), 1).round(length, ownCPU)
	})
	if most := open.latencies.at(100); most < 90e3 {
		t.Fatalf("the open loop did not even see the stall: longest latency %v µs", most)
	}
	if p90 := open.latencies.at(90); p90 < 40e3 {
		t.Errorf("90 of 100 entries that were due waited %v µs at most, though a fifth was due in a stall of %v", p90, stall)
	}
	if p99 := closed.latencies.at(99); closed.entries < 1000 || p99 > 40e3 {
		t.Skipf("this machine stalls by itself: a closed loop made %d entries, p99 %v µs", closed.entries, p99)
	}
}

// TestAnOpenLoopAppendsWhatIsDueAndCountsEachOnce, and a failed append fails the round.
func TestAnOpenLoopAppendsWhatIsDueAndCountsEachOnce(t *testing.T) {
	arrivals := every(time.Millisecond, 50*time.Millisecond)
	w := newStallingWriter(t, 0)
	l := &openLoop{writer: w, content: newContent(10, 1)}
	for i := 1; i < 3; i++ { // a second round begins anew
		done, err := l.round(arrivals, 50*time.Millisecond, ownCPU)
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(arrivals)); done.entries != n || done.latencies.TotalCount() != n || w.sent != i*len(arrivals) {
			t.Errorf("%d were due, %d counted, %d latencies, %d sent in %d rounds", n, done.entries, done.latencies.TotalCount(), w.sent, i)
		}
		if done.elapsed < 49*time.Millisecond {
			t.Errorf("50 ms of arrivals took %v", done.elapsed)
		}
	}
	failing := newStallingWriter(t, 0)
	failing.failAt = 3
	l = &openLoop{writer: failing, content: newContent(10, 1)}
	if _, err := l.round(arrivals, 50*time.Millisecond, ownCPU); !errors.Is(err, errPlanned) {
		t.Errorf("a failed append: %v", err)
	}
}

// TestAServerThatIsTooSlowForTheRateIsSaturated, and says so.
func TestAServerThatIsTooSlowForTheRateIsSaturated(t *testing.T) {
	w := newStallingWriter(t, 2*time.Millisecond)
	l := &openLoop{writer: w, content: newContent(10, 1)}
	done, err := l.round(every(time.Millisecond/2, 50*time.Millisecond), 50*time.Millisecond, ownCPU)
	if err != nil || !done.saturated {
		t.Errorf("saturated %t, %v", done.saturated, err)
	}
}

func TestAScheduleIsSaturatedByItsEnd(t *testing.T) {
	const length = time.Second
	for _, c := range []struct {
		due, inTime int64
		lateness    time.Duration
		want        bool
	}{
		{1000, 1000, 0, false},
		{1000, 951, 50 * time.Millisecond, false},
		{1000, 949, 0, true},
		{1000, 1000, 51 * time.Millisecond, true},
	} {
		if got := saturated(c.due, c.inTime, c.lateness, length); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestArrivalsAreIndependentOfEachOther: as many as the rate says, with distances whose deviation is their mean, as an
// exponential distribution has it. The same seed gives the same.
func TestArrivalsAreIndependentOfEachOther(t *testing.T) {
	arrivals := schedule(10_000, 10*time.Second, rand.New(rand.NewPCG(1, 2)))
	if n := float64(len(arrivals)); math.Abs(n-100_000) > 5*math.Sqrt(100_000) {
		t.Errorf("%v arrivals, want about 100,000", n)
	}
	sum, squares, before := 0.0, 0.0, time.Duration(0)
	for _, at := range arrivals {
		if at < before || at >= 10*time.Second {
			t.Fatalf("an arrival at %v after one at %v", at, before)
		}
		d := (at - before).Seconds()
		sum, squares, before = sum+d, squares+d*d, at
	}
	mean := sum / float64(len(arrivals))
	deviation := math.Sqrt(squares/float64(len(arrivals)) - mean*mean)
	if math.Abs(deviation/mean-1) > 0.02 {
		t.Errorf("distances deviate by %.3f of their mean", deviation/mean)
	}
	again := schedule(10_000, 10*time.Second, rand.New(rand.NewPCG(1, 2)))
	if len(again) != len(arrivals) || again[777] != arrivals[777] {
		t.Error("the same seed gave another schedule")
	}
	if bounded := schedule(1e12, time.Minute, rand.New(rand.NewPCG(1, 2))); len(bounded) != arrivalsMax {
		t.Errorf("a rate without measure gave %d arrivals", len(bounded))
	}
}

// TestAClosedLoopKeepsItsNumberInFlight: at a latency of 2 ms and 8 in flight answered one by one the rate is that of the
// server, each entry waits for all of its window, and none is left under way.
func TestAClosedLoopKeepsItsNumberInFlight(t *testing.T) {
	h := loopHost(t)
	w := newStallingWriter(t, 2*time.Millisecond)
	l := newClosedLoop(h, w, newContent(10, 1), 8)
	for range 2 {
		before := w.sent
		done, err := l.round(100*time.Millisecond, ownCPU)
		if err != nil {
			t.Fatal(err)
		}
		if done.elapsed < 100*time.Millisecond || done.entries < 2 || done.latencies.TotalCount() != done.entries {
			t.Errorf("%d entries in %v, %d latencies", done.entries, done.elapsed, done.latencies.TotalCount())
		}
		if p50 := done.latencies.at(50); p50 < 15e3 {
			t.Errorf("an entry waited %v µs, though eight were in flight at 2 ms each", p50)
		}
		if len(w.answers) != 0 || int64(w.sent-before) < done.entries {
			t.Errorf("%d are under way, %d were sent, %d counted", len(w.answers), w.sent-before, done.entries)
		}
	}
	failing := newStallingWriter(t, 0)
	failing.failAt = 20
	if _, err := newClosedLoop(h, failing, newContent(10, 1), 8).round(time.Second, ownCPU); !errors.Is(err, errPlanned) {
		t.Errorf("a failed append: %v", err)
	}
}

// TestALatencyBeyondTheHistogramFailsTheMeasurement: a tail that is cut off would look like a short one.
func TestALatencyBeyondTheHistogramFailsTheMeasurement(t *testing.T) {
	h, sum := newHistogram(), newHistogram()
	h.add(0, 1) // counts as the shortest
	h.add(time.Minute, 2)
	if h.failed != nil || h.TotalCount() != 3 {
		t.Errorf("%d counted, %v", h.TotalCount(), h.failed)
	}
	h.add(time.Hour, 1)
	if sum.take(h); sum.failed == nil || sum.TotalCount() != 3 {
		t.Errorf("an hour: %d counted, %v", sum.TotalCount(), sum.failed)
	}
}

// TestPayloadsHaveTheirLengthAndDifferFromEachOther.
func TestPayloadsHaveTheirLengthAndDifferFromEachOther(t *testing.T) {
	for _, length := range []int{1, 100, contentBytes, contentBytes + 1} {
		c := newContent(length, 3)
		for range 3 {
			if p := c.next(); len(p) != length || cap(p) != length {
				t.Errorf("a payload of %d bytes has %d", length, len(p))
			}
		}
	}
	c := newContent(100, 3)
	if a, b := string(c.next()), string(c.next()); a == b {
		t.Error("two payloads are the same")
	}
}
