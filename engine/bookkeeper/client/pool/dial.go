package pool

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
)

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
