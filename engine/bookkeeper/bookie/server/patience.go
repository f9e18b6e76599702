package server

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
)

// patience is how long the next bytes may take. A peer that has shown no request yet, or that drips one, has a deadline
// besides: it would hold a place among the connections for ever, and with a long frame its memory too. A peer that has
// asked for something and owes nothing may be silent for as long as Idle says.
func (r *reader) patience() (time.Duration, error) {
	config := &r.c.server.config
	advanced := r.advanced
	r.advanced = false
	if r.begun && (advanced || !r.in.Partial()) {
		r.deadline = 0
		switch {
		case !r.in.Partial():
			return config.Idle, nil
		case config.FrameStall > 0 && config.FrameStall < config.FrameTimeout:
			return config.FrameStall, nil // its deadline is set if the next bytes do not complete it
		}
	}
	now := r.c.server.h.Elapsed()
	if r.deadline == 0 {
		r.deadline = now + r.requestMax()
	}
	left := r.deadline - now
	switch {
	case left <= 0:
		return 0, r.late()
	case r.in.Partial() && config.FrameStall > 0:
		return min(left, config.FrameStall), nil
	}
	return left, nil
}

// requestMax is the time that a request may take, from the connection's begin for the first.
func (r *reader) requestMax() time.Duration {
	if r.begun {
		return r.c.server.config.FrameTimeout
	}
	return r.c.server.config.FirstFrameTimeout
}

// unread explains a read that failed: the peer may have missed its deadline.
func (r *reader) unread(err error) error {
	if errors.Is(err, host.ErrTimeout) && r.deadline != 0 && r.c.server.h.Elapsed() >= r.deadline {
		return r.late()
	}
	return err
}

func (r *reader) late() error {
	point := PointFirstLate
	if r.begun {
		point = PointFrameLate
	}
	r.c.server.h.Probe().Mark(host.Event{Name: point, Extra: r.c.conn.Peer()})
	return fmt.Errorf("no whole request within %v: %w", r.requestMax(), host.ErrTimeout)
}
