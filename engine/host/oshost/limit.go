package oshost

import (
	"sync/atomic"
	"time"
)

// limit turns a bound on each call into deadlines of a socket. To set a deadline costs half a microsecond, a third of
// a small read, so it is set a little early at most: a deadline within the last quarter of the bound stays as it is,
// and should it fire the call goes on with the exact one. All but the bound belongs to the one task that calls.
type limit struct {
	bound atomic.Int64 // nanoseconds; zero: none
	arm   func(time.Time) error
	armed time.Time // as the socket has it; zero: none
}

// begin is the start of a call. The call may wait until the time returned; zero: for ever.
func (l *limit) begin() (until time.Time, err error) {
	bound := time.Duration(l.bound.Load())
	if bound <= 0 {
		if l.armed.IsZero() {
			return until, nil
		}
		return until, l.set(until)
	}
	until = time.Now().Add(bound)
	if !l.armed.After(until) && until.Sub(l.armed) <= bound/4 {
		return until, nil
	}
	return until, l.set(until)
}

// again is called when the deadline fired. It is false if until has passed; else it arms until itself.
func (l *limit) again(until time.Time) (bool, error) {
	if !time.Now().Before(until) {
		return false, nil
	}
	return true, l.set(until)
}

func (l *limit) set(until time.Time) error {
	l.armed = until
	return l.arm(until)
}
