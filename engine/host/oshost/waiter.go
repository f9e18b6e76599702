package oshost

import (
	"sync"
	"time"
)

// waiter is one task parked on a condition, or asleep. It is pooled, since a channel per wait would be two allocations.
type waiter struct {
	woken          chan struct{} // holds one token: whoever takes the waiter off its list sends it, exactly once
	timer          *time.Timer   // made by the first timed wait, kept for the next
	previous, next *waiter
	queued         bool
}

// after starts the waiter's timer. Stopped timers deliver nothing late, so the channel needs no draining.
func (w *waiter) after(d time.Duration) <-chan time.Time {
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	return w.timer.C
}

// waiterPool keeps idle waiters; their channels are empty and their timers stopped.
type waiterPool struct{ pool sync.Pool }

func (p *waiterPool) get() *waiter {
	if w, ok := p.pool.Get().(*waiter); ok {
		return w
	}
	return &waiter{woken: make(chan struct{}, 1)}
}

func (p *waiterPool) put(w *waiter) {
	if w.timer != nil {
		w.timer.Stop()
	}
	p.pool.Put(w)
}
