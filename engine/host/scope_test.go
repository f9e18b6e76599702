package host_test

import (
	"testing"
	"time"

	"lakebed/engine/host"
)

// TestAScopeEndsByDeadlineOrStop, exactly at its deadline, and a stop is told before a timeout.
func TestAScopeEndsByDeadlineOrStop(t *testing.T) {
	h := newHost(t)
	running, stopped := h.Root().New("running"), h.Root().New("stopped")
	stopped.Stop()
	for _, c := range []struct {
		name    string
		scope   *host.Scope
		elapsed time.Duration
		want    error
	}{
		{"nil", nil, time.Hour, nil},
		{"unbounded", &host.Scope{}, time.Hour, nil},
		{"before the deadline", &host.Scope{Deadline: 100}, 99, nil},
		{"at the deadline", &host.Scope{Deadline: 100}, 100, host.ErrTimeout},
		{"after the deadline", &host.Scope{Deadline: 100}, 101, host.ErrTimeout},
		{"running group", &host.Scope{Group: running}, 101, nil},
		{"stopped group", &host.Scope{Group: stopped}, 0, host.ErrStopping},
		{"both ended", &host.Scope{Deadline: 100, Group: stopped}, 101, host.ErrStopping},
		{"running past its deadline", &host.Scope{Deadline: 100, Group: running}, 101, host.ErrTimeout},
	} {
		if got := c.scope.Err(c.elapsed); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestWithinCountsFromNow(t *testing.T) {
	h := newHost(t)
	before := h.Elapsed()
	s := host.Within(h, h.Root(), time.Minute)
	if early, late := before+time.Minute, h.Elapsed()+time.Minute; s.Deadline < early || s.Deadline > late {
		t.Errorf("deadline %v is not between %v and %v", s.Deadline, early, late)
	}
	if s.Group != h.Root() {
		t.Error("the scope has another group")
	}
}
