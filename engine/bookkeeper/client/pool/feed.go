package pool

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// parked is a request that waits for its bookie.
type parked struct {
	request  *channel.Request
	body     []byte        // of an add: the pool's copy
	deadline time.Duration // of the request, counted from Offer
}

// park has a request wait, and starts the task that will end its waiting. During backoff it refuses.
func (p *Pool) park(bookie ledger.BookieID, r *channel.Request) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return ErrClosed
	}
	one, err := p.peer(bookie)
	if err != nil {
		return err
	}
	now := p.h.Elapsed()
	if !one.feeding && one.channel == nil && now < one.notBefore {
		p.mark(PointRefused, one, r)
		return fmt.Errorf("not dialled again for %s: %w: %w", one.notBefore-now, ErrUnavailable, one.failure)
	}
	if one.waiting >= p.config.ParkedMax || one.parkedBytes >= p.config.ParkedBytesMax {
		p.mark(PointFull, one, r)
		return fmt.Errorf("%d requests of %d bytes: %w", one.waiting, one.parkedBytes, ErrFull)
	}
	one.add(p.copyOf(r, now))
	p.mark(PointParked, one, r)
	if !one.feeding {
		one.feeding = true
		p.tasks.Go("feed", func() { p.feed(one) })
	}
	return nil
}

func (p *Pool) mark(point host.Point, one *peer, r *channel.Request) {
	p.h.Probe().Mark(host.Event{Name: point, A: int64(r.Ledger), B: int64(r.Entry), Extra: string(one.bookie)})
}

// copyOf makes a request independent of its caller's buffers, which are free again when Offer returns.
func (p *Pool) copyOf(r *channel.Request, now time.Duration) parked {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = p.config.Channel.Timeout
	}
	waits := parked{request: r, deadline: now + timeout}
	if len(r.Body) > 0 {
		waits.body = p.h.Memory().Get(len(r.Body))
		copy(waits.body, r.Body)
	}
	return waits
}

func (one *peer) add(waits parked) {
	one.parked = append(one.parked, waits)
	one.waiting++
	one.parkedBytes += int64(len(waits.body))
}

// unparked takes note that a request waits no more: its body was given back. Until then it counts, also in the hands of the
// feeding task, which may hold it for as long as the channel has no room.
func (p *Pool) unparked(one *peer, w parked) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one.waiting--
	one.parkedBytes -= int64(len(w.body))
}

// feed hands over what waits for one bookie, and ends when nothing does.
func (p *Pool) feed(one *peer) {
	for {
		c, err := p.connect(one)
		waiting, more := p.takeParked(one, err != nil)
		for _, w := range waiting {
			if err == nil {
				p.submit(one, c, w)
			} else {
				p.settle(one, w, fmt.Errorf("bookie %s: %w", one.bookie, err))
			}
		}
		if !more {
			return
		}
	}
}

// takeParked takes all that waits. Nothing, or last: the feeding ends, and whoever comes next starts another task.
func (p *Pool) takeParked(one *peer, last bool) (waiting []parked, more bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	waiting = one.parked
	one.parked = nil
	if last || len(waiting) == 0 {
		one.feeding = false
	}
	return waiting, one.feeding
}

// submit waits for room in the channel as long as the request lasts.
func (p *Pool) submit(one *peer, c *channel.Channel, w parked) {
	r := w.request
	left := w.deadline - p.h.Elapsed()
	if left <= 0 {
		p.settle(one, w, fmt.Errorf("bookie %s: %w: %w", c.Peer(), ErrUnavailable, host.ErrTimeout))
		return
	}
	body, timeout := r.Body, r.Timeout
	r.Body, r.Timeout = w.body, left
	err := c.Submit(r)
	if err != nil {
		r.Body, r.Timeout = body, timeout
		p.settle(one, w, fmt.Errorf("%w: %w", ErrUnavailable, err))
		return
	}
	p.release(one, w) // taken: the request may be its caller's again by now, so it is not touched
}

// settle completes a request that was handed to no channel.
func (p *Pool) settle(one *peer, w parked, err error) {
	p.release(one, w)
	w.request.Err = err
	w.request.HandBack()
}

func (p *Pool) release(one *peer, w parked) {
	if w.body != nil {
		p.h.Memory().Put(w.body)
	}
	p.unparked(one, w)
}

// connect returns a working channel. Only the peer's feeding task calls it, so one bookie has one dial under way.
func (p *Pool) connect(one *peer) (*channel.Channel, error) {
	p.mutex.Lock()
	c := one.channel
	p.mutex.Unlock()
	if c != nil {
		ended, broken := c.Ended()
		if broken == nil {
			return c, nil
		}
		c.Close()
		p.dropped(one, broken, ended)
	}
	if err := p.mayDial(one); err != nil {
		return nil, err
	}
	c, err := channel.Dial(p.h, p.tasks, string(one.bookie), host.Within(p.h, p.tasks, p.config.ConnectTimeout), p.config.Channel)
	if err != nil {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.failed(one, err, p.h.Elapsed())
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return p.connected(one, c)
}

func (p *Pool) mayDial(one *peer) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrClosed)
	}
	if p.h.Elapsed() < one.notBefore {
		return fmt.Errorf("%w: %w", ErrUnavailable, one.failure)
	}
	return nil
}

func (p *Pool) connected(one *peer, c *channel.Channel) (*channel.Channel, error) {
	p.mutex.Lock()
	closed := p.closed
	if !closed {
		one.channel, one.connectedAt, one.notBefore = c, p.h.Elapsed(), 0
	}
	p.mutex.Unlock()
	if closed {
		c.Close() // Close of the pool did not see it
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, ErrClosed)
	}
	return c, nil
}

// dropped takes note that a connection has ended. One that did not last counts as a failed dial: a bookie that accepts
// and hangs up must not be dialled once a request. What counts is when it ended, not when somebody noticed: a bookie
// that was started again long since is dialled at once.
func (p *Pool) dropped(one *peer, broken error, ended time.Duration) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one.channel = nil
	p.h.Probe().Mark(host.Event{Name: PointReplaced, Extra: string(one.bookie)})
	if ended-one.connectedAt >= p.config.StableAfter {
		one.failures = 0
		return
	}
	p.failed(one, broken, ended)
}

// failed puts off the next dial, counted from the failure. The mutex must be held.
func (p *Pool) failed(one *peer, err error, at time.Duration) {
	backoff := p.config.BackoffMax
	if one.failures < 30 {
		backoff = min(p.config.BackoffMin<<one.failures, backoff)
	}
	one.failures++
	half := int64(backoff / 2)
	one.notBefore = at + backoff - time.Duration(p.random.Int64N(half+1))
	one.failure = err
	if !errors.Is(err, host.ErrStopping) {
		p.h.Probe().Mark(host.Event{Name: PointDialFailed, A: int64(one.failures), Extra: string(one.bookie)})
	}
}
