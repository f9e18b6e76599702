package host_test

import (
	"errors"
	"testing"

	"lakebed/engine/host"
)

// TestAFutureKeepsItsFirstOutcome, value and error together.
func TestAFutureKeepsItsFirstOutcome(t *testing.T) {
	h := newHost(t)
	own := errors.New("own")
	f := host.NewFuture[string](h, h.Root(), "future")
	if !f.Set("first", own) || f.Set("second", nil) {
		t.Error("Set does not tell the first from the second")
	}
	for range 2 {
		if value, err := f.Wait(); value != "first" || err != own {
			t.Errorf("got %q, %v", value, err)
		}
	}
}

// TestAnOutcomeWinsOverAStop that came before or after it.
func TestAnOutcomeWinsOverAStop(t *testing.T) {
	h := newHost(t)
	for range 100 {
		g := h.Root().New("group")
		f := host.NewFuture[int](h, g, "future")
		g.Stop()
		f.Set(7, nil)
		if value, err := f.Wait(); value != 7 || err != nil {
			t.Fatalf("got %d, %v", value, err)
		}
	}
}

// TestAFutureWithoutOutcomeEndsWithItsGroup and may still be set for those who ask later.
func TestAFutureWithoutOutcomeEndsWithItsGroup(t *testing.T) {
	h := newHost(t)
	g, waiters := h.Root().New("group"), h.Root().New("waiters")
	f := host.NewFuture[int](h, g, "future")
	var err error
	waiters.Go("waiter", func() { _, err = f.Wait() })
	g.Stop()
	waiters.Wait()
	if err != host.ErrStopping {
		t.Errorf("got %v", err)
	}
	f.Set(1, nil)
	if value, err := f.Wait(); value != 1 || err != nil {
		t.Errorf("after a late Set: %d, %v", value, err)
	}
}
