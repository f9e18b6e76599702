package bench

import (
	"math"
	"testing"
	"time"
)

func TestOnlyTimeOfOthersCountsAsTheirs(t *testing.T) {
	start := time.Now()
	before := machineUsage{at: start, busy: 100 * time.Second, own: 10 * time.Second}
	for _, c := range []struct {
		busy, own time.Duration // used in one second
		want      float64       // of two processors
	}{
		{2 * time.Second, 2 * time.Second, 0},
		{2 * time.Second, time.Second, 0.5},
		{time.Second, 0, 0.5},
		{time.Second, 1010 * time.Millisecond, 0}, // the clocks are read one after the other
	} {
		after := machineUsage{at: start.Add(time.Second), busy: before.busy + c.busy, own: before.own + c.own}
		if got := othersShare(before, after, 2); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("busy %v, own %v: others have %v, want %v", c.busy, c.own, got, c.want)
		}
	}
	if got := othersShare(before, before, 2); got != 0 {
		t.Errorf("in no time others have %v", got)
	}
}

// TestIdleAndWaitingTimeIsNotBusy; time that the hypervisor took is.
func TestIdleAndWaitingTimeIsNotBusy(t *testing.T) {
	if got := busyTime("cpu  1 2 4 1000 1000 8 16 32 64 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"); got != 630*time.Millisecond {
		t.Errorf("busy for %v", got)
	}
	if got := busyTime("no such line"); got != 0 {
		t.Errorf("busy for %v", got)
	}
	if now := machineUsageNow(); now.busy <= 0 || now.own <= 0 {
		t.Errorf("this machine gives %+v", now)
	}
}
