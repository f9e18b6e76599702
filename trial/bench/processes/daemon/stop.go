package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// ErrStopOverdue is the end of a daemon that was asked to stop and did not in time. Tasks of it still run, so all that is
// left to do is to end the process. Nothing that was acknowledged is lost by it: the next start replays the journal.
var ErrStopOverdue = errors.New("the stop takes too long")

// runBounded is oshost.Run with a bound on the time from the end of ctx to the end of boot: a task that waits in the
// kernel for a disk which does not answer can neither be told to stop nor be joined.
func runBounded(ctx context.Context, config oshost.Config, stopMax time.Duration, boot func(host.Host) error) error {
	booted := make(chan *oshost.Host, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- oshost.Run(ctx, config, func(h host.Host) error {
			booted <- h.(*oshost.Host)
			return boot(h)
		})
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	overdue := time.NewTimer(stopMax)
	defer overdue.Stop()
	select {
	case err := <-ended:
		return err
	case <-overdue.C:
		return errors.Join(fmt.Errorf("%w: longer than %v", ErrStopOverdue, stopMax), leftOver(booted))
	}
}

// leftOver names the tasks that still run.
func leftOver(booted <-chan *oshost.Host) error {
	select {
	case h := <-booted:
		return h.Close()
	default:
		return nil
	}
}
