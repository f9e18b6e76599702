package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// signalsKept is how many signals wait while one is passed on.
const signalsKept = 4

// orInterrupted returns what work returns, or context.Canceled as soon as somebody interrupts. The work then goes on
// until this process ends: it is for work that cannot be stopped from outside, such as one trial.
func orInterrupted[T any](ctx context.Context, work func() (T, error)) (T, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// sayInterrupted replaces an error that an interrupt has caused: a process that a signal has ended tells nothing of it.
func sayInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// runForwarding runs a command that answers interrupts itself, and passes each on to it. The command gets a process group
// of its own: a terminal would tell it a second time, and the second interrupt means more than the first. Interrupted is
// not nil if there was one.
func runForwarding(c *exec.Cmd) (interrupted, err error) {
	signals := make(chan os.Signal, signalsKept)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	for {
		select {
		case err := <-done:
			return interrupted, err
		case s := <-signals:
			interrupted = context.Canceled
			_ = c.Process.Signal(s) // it may have ended just now
		}
	}
}
