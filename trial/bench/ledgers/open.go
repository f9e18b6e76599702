package ledgers

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"lakebed/engine/bookkeeper/client"
)

const (
	// arrivalsMax bounds the schedule of one round.
	arrivalsMax = 2 << 20
	// keptShare is the part of the entries that were due in a round which must be acknowledged when it ends.
	keptShare = 0.95
	// latenessShare is the part of a round by which its last entries may be sent late.
	latenessShare = 0.05
)

// schedule decides ahead when entries come, as offsets from the start of a round: at random, independent of each other
// and of what becomes of them (Poisson). A rate that does not fit gets as many arrivals as are allowed.
func schedule(perSecond float64, length time.Duration, random *rand.Rand) []time.Duration {
	var arrivals []time.Duration
	for at := 0.0; len(arrivals) < arrivalsMax; {
		at += random.ExpFloat64() / perSecond
		offset := time.Duration(at * float64(time.Second))
		if offset >= length {
			break
		}
		arrivals = append(arrivals, offset)
	}
	return arrivals
}

// openLoop appends when the schedule says so, whether earlier appends are back or not, and counts latencies from when an
// entry was due: who measures from when it was sent leaves out what a stall did to those that came behind
// (coordinated omission).
type openLoop struct {
	writer  appender
	content *content

	begun     time.Time
	length    time.Duration
	latencies *histogram // written by the writer's task alone
	back      atomic.Int64
	inTime    atomic.Int64 // acknowledged before the schedule ended
	failed    error        // by the writer's task, read when all are back
	all       chan struct{}
	expected  int64
}

// arrival is one append of a round.
type arrival struct {
	client.Op
	due  time.Duration
	loop *openLoop
}

// Appended is called by the writer's task, one append at a time.
func (a *arrival) Appended(*client.Op) {
	l := a.loop
	now := time.Since(l.begun)
	if a.Err != nil && l.failed == nil {
		l.failed = fmt.Errorf("append: %w", a.Err)
	}
	l.latencies.add(now-a.due, 1)
	if now <= l.length {
		l.inTime.Add(1)
	}
	if l.back.Add(1) == l.expected {
		close(l.all)
	}
}

// round appends by a schedule of at least one arrival, and returns when every append is back.
func (l *openLoop) round(arrivals []time.Duration, length time.Duration, cpu meter) (round, error) {
	l.latencies, l.length, l.expected, l.all = newHistogram(), length, int64(len(arrivals)), make(chan struct{})
	l.back.Store(0)
	l.inTime.Store(0)
	appends := make([]arrival, len(arrivals))
	measured, err := cpu.begin()
	if err != nil {
		return round{}, err
	}
	l.begun = measured.at
	var late time.Duration // of the last tenth, summed
	tail := len(arrivals) - len(arrivals)/10 - 1
	for i, due := range arrivals {
		time.Sleep(due - time.Since(l.begun)) // not at all if it is due
		a := &appends[i]
		a.due, a.loop, a.Done = due, l, a
		if err := l.writer.Append(l.content.next(), &a.Op); err != nil {
			return round{}, err // whoever is under way comes back to a loop that nobody reads any more
		}
		if i >= tail {
			late += time.Since(l.begun) - due
		}
	}
	<-l.all
	done := round{entries: l.expected, latencies: l.latencies, lateness: late / time.Duration(len(arrivals)-tail)}
	if done.elapsed, done.cpu, err = measured.end(); err != nil {
		return round{}, err
	}
	done.saturated = saturated(l.expected, l.inTime.Load(), done.lateness, length)
	if l.failed != nil {
		return done, l.failed
	}
	return done, l.latencies.failed
}

// saturated says that a schedule was not kept: too much was unanswered at its end, or its end was sent late. Latencies
// then grow with the length of the round and say nothing but that.
func saturated(due, inTime int64, lateness, length time.Duration) bool {
	return float64(inTime) < keptShare*float64(due) || lateness > time.Duration(latenessShare*float64(length))
}
