package oshost

import (
	"sync"
	"time"

	"lakebed/engine/host"
)

// cond is a condition variable with a FIFO list of waiters. sync.Cond would do for Wait alone: it has neither a time
// limit nor a way to wake for the stop of a group.
type cond struct {
	group *group
	user  host.Mutex // the caller's; never taken while mutex is held

	mutex       sync.Mutex
	first, last *waiter
}

func (c *cond) Wait() bool {
	if c.group.Stopping() {
		return false
	}
	w := c.join()
	c.user.Unlock()
	woke := host.Signalled
	select {
	case <-w.woken:
	case <-c.group.stop:
		woke = c.leave(w, host.Stopping)
	}
	c.group.host.waiters.put(w)
	c.user.Lock()
	return woke == host.Signalled
}

func (c *cond) WaitFor(d time.Duration) host.Woke {
	if c.group.Stopping() {
		return host.Stopping
	}
	w := c.join()
	c.user.Unlock()
	woke := host.Signalled
	select {
	case <-w.woken:
	case <-w.after(d):
		woke = c.leave(w, host.TimedOut)
	case <-c.group.stop:
		woke = c.leave(w, host.Stopping)
	}
	c.group.host.waiters.put(w)
	c.user.Lock()
	return woke
}

func (c *cond) Signal() {
	c.mutex.Lock()
	w := c.first
	if w != nil {
		c.unlink(w)
	}
	c.mutex.Unlock()
	if w != nil {
		w.woken <- struct{}{}
	}
}

func (c *cond) Broadcast() {
	c.mutex.Lock()
	w := c.first
	for each := w; each != nil; each = each.next {
		each.queued = false
	}
	c.first, c.last = nil, nil
	c.mutex.Unlock()
	for w != nil {
		next := w.next // before the token: a woken waiter goes back to the pool and may join another list
		w.previous, w.next = nil, nil
		w.woken <- struct{}{}
		w = next
	}
}

// join appends a waiter. The caller still holds the user's mutex, so no signal of a later change can be missed.
func (c *cond) join() *waiter {
	w := c.group.host.waiters.get()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	w.queued, w.previous = true, c.last
	if c.last == nil {
		c.first = w
	} else {
		c.last.next = w
	}
	c.last = w
	return w
}

// leave takes w off the list because of reason. If a signal got hold of w first, that signal is w's: it is taken and
// reported, because dropping it would leave another waiter asleep that should have had it.
func (c *cond) leave(w *waiter, reason host.Woke) host.Woke {
	c.mutex.Lock()
	if w.queued {
		c.unlink(w)
		c.mutex.Unlock()
		return reason
	}
	c.mutex.Unlock()
	<-w.woken
	return host.Signalled
}

func (c *cond) unlink(w *waiter) {
	if w.previous == nil {
		c.first = w.next
	} else {
		w.previous.next = w.next
	}
	if w.next == nil {
		c.last = w.previous
	} else {
		w.next.previous = w.previous
	}
	w.previous, w.next, w.queued = nil, nil, false
}
