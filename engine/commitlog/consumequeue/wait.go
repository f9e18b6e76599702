package consumequeue

import (
	"time"

	"lakebed/engine/host"
)

// Announce wakes those that wait for units, after units were appended.
func (q *Queue) Announce() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting > 0 {
		q.arrived.Broadcast()
	}
}

// End ends all waiting, now and later.
func (q *Queue) End() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.ended = true
	if q.waiting > 0 {
		q.arrived.Broadcast()
	}
}

// Wait waits until the queue has a unit at index, for at most this long, and tells why it returned. The unit is looked for
// under the lock that Append takes, so that none can come unnoticed; upstream parks pulls beside the queue, and needs a
// second look every five seconds.
func (q *Queue) Wait(g host.Group, index int64, limit time.Duration) host.Woke {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.arrived == nil {
		q.arrived = g.NewCond(q.mutex)
	}
	deadline := q.h.Elapsed() + limit
	q.waiting++
	defer func() { q.waiting-- }()
	for q.end() <= index {
		left := deadline - q.h.Elapsed()
		switch {
		case q.ended:
			return host.Stopping
		case left <= 0:
			return host.TimedOut
		case q.arrived.WaitFor(left) == host.Stopping:
			return host.Stopping
		}
	}
	return host.Signalled
}
