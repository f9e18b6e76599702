package consumequeue

import (
	"slices"
	"time"

	"lakebed/engine/host"
)

// Announce wakes those that wait for units, after units were appended.
func (q *Queue) Announce() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.wakeWaiting()
}

// End ends all waiting, now and later.
func (q *Queue) End() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.ended = true
	q.wakeWaiting()
}

func (q *Queue) wakeWaiting() {
	for _, w := range q.waiting {
		w.Signal()
	}
}

// Wait waits until the queue has a unit at index, for at most this long, and tells why it returned: Stopping also when g stops.
// The unit is looked for under the lock that Append takes, so that none can come unnoticed; upstream parks pulls beside
// the queue, and needs a second look every five seconds.
func (q *Queue) Wait(g host.Group, index int64, limit time.Duration) host.Woke {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	arrived := g.NewCond(q.mutex) // its own: who waits for one connection ends with that
	deadline := q.h.Elapsed() + limit
	q.waiting = append(q.waiting, arrived)
	defer func() {
		q.waiting = slices.DeleteFunc(q.waiting, func(w host.Cond) bool { return w == arrived })
	}()
	for q.end() <= index {
		left := deadline - q.h.Elapsed()
		switch {
		case q.ended:
			return host.Stopping
		case left <= 0:
			return host.TimedOut
		case arrived.WaitFor(left) == host.Stopping:
			return host.Stopping
		}
	}
	return host.Signalled
}
