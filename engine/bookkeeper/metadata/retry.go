package metadata

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
)

// RetryConfig bounds how often a request is made again whose outcome is unknown, or that met an expired session, and
// how long to wait before.
type RetryConfig struct {
	AttemptsMax int
	PauseMin    time.Duration // before the second attempt; doubles
	PauseMax    time.Duration
}

// DefaultRetry returns the settings for a real cluster.
func DefaultRetry() RetryConfig {
	return RetryConfig{AttemptsMax: 10, PauseMin: 50 * time.Millisecond, PauseMax: 2 * time.Second}
}

// Validate reports the first setting that cannot work.
func (c RetryConfig) Validate() error {
	if c.AttemptsMax < 1 || c.PauseMin <= 0 || c.PauseMax < c.PauseMin {
		return fmt.Errorf("%d attempts, %v to %v apart: must be positive and not fall", c.AttemptsMax, c.PauseMin, c.PauseMax)
	}
	return nil
}

// pause is the wait after so many failures, the first of which is 1.
func (c RetryConfig) pause(failures int) time.Duration {
	pause := c.PauseMin
	for range failures - 1 {
		if pause *= 2; pause >= c.PauseMax {
			return c.PauseMax
		}
	}
	return pause
}

// again reports whether a write that failed may be made again under the same condition: it was not done, or it may have
// been and whoever asks can recognise that.
func again(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrSessionExpired)
}

// notDone reports whether a write surely was not done, although the store could have been asked.
func notDone(err error) bool {
	return errors.Is(err, ErrSessionExpired) && !errors.Is(err, ErrOutcomeUnknown)
}

// attempts makes a write until it succeeds, or fails in a way that is not retriable. The write is told whether an earlier
// attempt may have been done. If the scope, the group or the attempts end before, and an attempt may have been done, the
// error is ErrOutcomeUnknown.
func (c RetryConfig) attempts(h host.Host, g host.Group, s *host.Scope,
	retriable func(error) bool, write func(maybeDone bool) error) error {
	maybeDone := false
	for failures := 0; ; {
		err := write(maybeDone)
		if !retriable(err) {
			if maybeDone && (errors.Is(err, ErrUnavailable) || errors.Is(err, host.ErrStopping)) {
				err = fmt.Errorf("%w, and then: %w", ErrOutcomeUnknown, err)
			}
			return err
		}
		maybeDone = maybeDone || errors.Is(err, ErrOutcomeUnknown)
		failures++
		pause := c.pause(failures)
		if h.Probe().Perhaps(PointRetryNow) {
			pause = 0
		}
		if failures >= c.AttemptsMax || h.Probe().Perhaps(PointGiveUpNow) || !rest(h, g, s, pause) {
			if maybeDone && !errors.Is(err, ErrOutcomeUnknown) {
				err = fmt.Errorf("%w, and then: %w", ErrOutcomeUnknown, err)
			}
			return err
		}
	}
}

// rest waits before another attempt. False: there will be none, since the scope or the group ends first.
func rest(h host.Host, g host.Group, s *host.Scope, pause time.Duration) bool {
	if s.Err(h.Elapsed()) != nil {
		return false
	}
	if s != nil && s.Deadline != 0 && s.Deadline-h.Elapsed() < pause {
		g.Sleep(s.Deadline - h.Elapsed())
		return false
	}
	return g.Sleep(pause)
}

// untilLook is how long to wait on a condition before looking at the scope again, whose group does not wake it.
func untilLook(h host.Host, s *host.Scope) time.Duration {
	const atMost = time.Second
	if s == nil || s.Deadline == 0 {
		return atMost
	}
	return min(atMost, s.Deadline-h.Elapsed())
}
