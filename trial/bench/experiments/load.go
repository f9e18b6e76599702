package experiments

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/host"
)

// openLoad appends at a rate, whatever becomes of the appends: the latency of each counts from the moment at which it was
// due, so that a stall is seen by all who would have met it, and not only by the one that did.
type openLoad struct {
	rate    float64 // appends a second
	appends int
	warm    int // of them are left out of the figures
	payload int // bytes
}

// loaded is what became of a load.
type loaded struct {
	latencies []time.Duration // of acknowledged appends, sorted; those of warming up are left out
	gap       time.Duration   // the longest time between two acknowledgements that follow each other
	acked     int
	failed    error // of the first append that failed
}

// quantile is the latency that the share q of appends did not exceed; zero if nothing was acknowledged.
func (l *loaded) quantile(q float64) time.Duration {
	if len(l.latencies) == 0 {
		return 0
	}
	return l.latencies[min(int(q*float64(len(l.latencies))), len(l.latencies)-1)]
}

// timed is an append that knows when it was due.
type timed struct {
	client.Op
	load *openRun
	due  time.Duration
	warm bool
}

// openRun is a load under way. Its writer's task alone changes what is here, until the gate opens.
type openRun struct {
	h         host.Host
	gate      host.Gate
	left      host.Counter
	latencies []time.Duration
	last      time.Duration
	gap       time.Duration
	acked     int
	failed    error
}

// run appends to one ledger.
func (o openLoad) run(h host.Host, w *client.Writer) (loaded, error) {
	r := &openRun{h: h, gate: h.Root().NewGate(), left: h.NewCounter("appends-left"), latencies: make([]time.Duration, 0, o.appends)}
	r.left.Store(int64(o.appends))
	ops, payload := make([]timed, o.appends), make([]byte, o.payload)
	interval := time.Duration(float64(time.Second) / o.rate)
	begun := h.Elapsed()
	for i := range ops {
		ops[i].load, ops[i].due, ops[i].warm = r, begun+time.Duration(i)*interval, i < o.warm
		ops[i].Done = &ops[i]
		if wait := ops[i].due - h.Elapsed(); wait > 0 && !h.Root().Sleep(wait) {
			return loaded{}, host.ErrStopping
		}
		if err := w.Append(payload, &ops[i].Op); err != nil {
			return loaded{}, fmt.Errorf("append %d of %d: %w", i, o.appends, err)
		}
	}
	if !r.gate.Wait() {
		return loaded{}, host.ErrStopping
	}
	slices.Sort(r.latencies)
	return loaded{latencies: r.latencies, gap: r.gap, acked: r.acked, failed: r.failed}, r.failed
}

// Appended takes an append back, in the writer's task.
func (t *timed) Appended(op *client.Op) {
	r := t.load
	now := r.h.Elapsed()
	switch {
	case op.Err != nil && r.failed == nil:
		r.failed = op.Err
	case op.Err == nil:
		r.acked++
		if !t.warm {
			r.latencies = append(r.latencies, now-t.due)
			r.gap = max(r.gap, now-r.last)
		}
		r.last = now
	}
	if r.left.Add(-1) == 0 {
		r.gate.Open()
	}
}

// closedLoad keeps a number of appends under way on each of several ledgers, for a time.
type closedLoad struct {
	window  int // of each ledger
	warm    time.Duration
	length  time.Duration // after warming up
	payload int           // bytes
}

// closedRun is one ledger's share of a closed load.
type closedRun struct {
	h       host.Host
	back    *host.Queue[*client.Op]
	ops     []client.Op
	payload []byte
	from    time.Duration // when acknowledgements begin to count
	until   time.Duration
	bytes   int64 // acknowledged in between
	failed  error
}

// run appends to the ledgers and returns the payload bytes a second that were acknowledged on all of them together.
func (c closedLoad) run(h host.Host, writers []*client.Writer) (bytesPerSecond float64, err error) {
	tasks := h.Root().New("closed-load")
	from := h.Elapsed() + c.warm
	var runs []*closedRun
	for _, w := range writers {
		r := &closedRun{
			h: h, back: host.NewQueue[*client.Op](h, tasks, "appended", c.window), ops: make([]client.Op, c.window),
			payload: make([]byte, c.payload), from: from, until: from + c.length,
		}
		for i := range r.ops {
			r.ops[i].Done = r
			r.back.Offer(&r.ops[i])
		}
		runs = append(runs, r)
		tasks.Go("append", func() { r.run(w) })
	}
	tasks.Wait()
	var bytes int64
	for _, r := range runs {
		bytes += r.bytes
		err = errors.Join(err, r.failed)
	}
	return float64(bytes) / c.length.Seconds(), err
}

// Appended takes an append back, in the writer's task.
func (r *closedRun) Appended(op *client.Op) { r.back.Offer(op) }

// run makes each append again as soon as it is back, until the time is over, and waits for those under way.
func (r *closedRun) run(w *client.Writer) {
	var free []*client.Op
	for home, begun := 0, false; home < len(r.ops); begun = true {
		var ok bool
		if free, ok = r.back.Take(free); !ok {
			r.failed = errors.Join(r.failed, host.ErrStopping)
			return
		}
		now := r.h.Elapsed()
		for _, op := range free {
			if begun {
				r.count(op, now)
			}
			if now < r.until && r.failed == nil {
				r.failed = w.Append(r.payload, op)
			}
			if now >= r.until || r.failed != nil {
				home++
			}
		}
	}
}

// count takes in an append that is back. Those that have not been made yet count for nothing: their entry is the first.
func (r *closedRun) count(op *client.Op, now time.Duration) {
	switch {
	case op.Err != nil && r.failed == nil:
		r.failed = op.Err
	case op.Err == nil && now >= r.from && now < r.until:
		r.bytes += int64(len(r.payload))
	}
}
