package client

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// AwaitBookies returns once the metadata store lists n bookies that take writes. Who starts together with the cluster
// calls it before Create, which does not wait. It looks again after Config.PollMin, and then ever more rarely, down to
// Config.PollMax. A listed bookie may be gone: its session outlives it for a while.
//
// ErrInvalid for a number below zero, ErrClientClosed when the client is closed. When the scope ends first it is
// host.ErrTimeout or host.ErrStopping, and besides ErrNotEnoughBookies if the last look found too few, ErrUnavailable if the
// store did not answer it. A scope's deadline is kept; its stop is noticed after the look under way, which takes at most
// Config.MetadataTimeout. Without a scope there is no bound but the client's end.
func (c *Client) AwaitBookies(n int, s *host.Scope) error {
	if n < 0 {
		return fmt.Errorf("wait for %d bookies: %w", n, ErrInvalid)
	}
	if err := c.begin(); err != nil {
		return fmt.Errorf("wait for %d bookies: %w", n, err)
	}
	defer c.end()
	found := fmt.Errorf("no look at the list of bookies: %w", ErrUnavailable)
	for pause := c.config.PollMin; ; pause = min(2*pause, c.config.PollMax) {
		if ended := s.Err(c.h.Elapsed()); ended != nil {
			return fmt.Errorf("wait for %d bookies: %w: %w", n, ended, found)
		}
		if found = c.lists(n, s); found == nil {
			return nil
		}
		if !c.waits.Sleep(c.untilLook(pause, s)) {
			return fmt.Errorf("wait for %d bookies: %w: %w", n, ErrClientClosed, found)
		}
	}
}

// lists looks whether n bookies take writes.
func (c *Client) lists(n int, s *host.Scope) error {
	scope := c.scope()
	if s != nil && s.Deadline != 0 {
		scope.Deadline = min(scope.Deadline, s.Deadline)
	}
	writable, err := c.writable(scope)
	if err != nil {
		return classed(ErrUnavailable, err)
	}
	if len(writable) < n {
		return fmt.Errorf("%d writable bookies: %w", len(writable), ErrNotEnoughBookies)
	}
	return nil
}

// untilLook is a pause that does not pass the scope's deadline.
func (c *Client) untilLook(pause time.Duration, s *host.Scope) time.Duration {
	if s == nil || s.Deadline == 0 {
		return pause
	}
	return min(pause, s.Deadline-c.h.Elapsed())
}

// chooseError is why no ensemble was found for a new ledger.
func chooseError(err error) error {
	if errors.Is(err, metadata.ErrNotEnoughBookies) {
		return fmt.Errorf("create a ledger: %w", classed(ErrNotEnoughBookies, err))
	}
	return fmt.Errorf("create a ledger: %w", classed(ErrUnavailable, err))
}
