package oshost_test

import (
	"testing"
	"time"

	"lakebed/engine/host"
)

// TestASignalThatMeetsATimeoutIsNotLost: waiters with tiny limits stand in line before one that waits without. Each
// gives a signal that it got to the next. A signal that goes to a waiter just timing out must be reported as one, or
// the last in line sleeps for ever.
func TestASignalThatMeetsATimeoutIsNotLost(t *testing.T) {
	const rounds, impatient = 3000, 3
	h := newHost(t, configIn(t.TempDir()))
	g := h.Root().New("waiters")
	m := h.NewMutex("line")
	line, taken := g.NewCond(m), g.NewCond(m)
	full, ended := false, false

	for i := range impatient {
		g.Go("impatient", func() {
			m.Lock()
			defer m.Unlock()
			for !ended {
				if line.WaitFor(time.Duration(i+1)*5*time.Microsecond) == host.Signalled {
					line.Signal()
				}
			}
		})
	}
	g.Go("patient", func() {
		m.Lock()
		defer m.Unlock()
		for {
			for !full {
				if !line.Wait() {
					return
				}
			}
			full = false
			taken.Signal()
		}
	})

	lost := false
	m.Lock()
	for round := 0; round < rounds && !lost; round++ {
		full = true
		line.Signal()
		for full && !lost {
			lost = taken.WaitFor(10*time.Second) == host.TimedOut
		}
	}
	ended = true
	m.Unlock()
	g.Stop()
	g.Wait()
	if lost {
		t.Error("a signal got lost between a timeout and the next in line")
	}
}
