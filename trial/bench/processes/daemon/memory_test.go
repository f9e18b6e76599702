package daemon_test

import (
	"math"
	"runtime/debug"
	"testing"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/trial/bench/bounds"
	"lakebed/trial/bench/processes/daemon"
)

// TestTheCollectorIsToldTheSumOfTheBounds, unless GOMEMLIMIT has told it something else.
func TestTheCollectorIsToldTheSumOfTheBounds(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	c := node.DefaultConfig()
	t.Setenv("GOMEMLIMIT", "1GiB")
	daemon.LimitMemory(c, quiet())
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with GOMEMLIMIT the limit became %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	daemon.LimitMemory(c, quiet())
	if got, want := debug.SetMemoryLimit(-1), bounds.Sum(bounds.Bookie(&c))+bounds.Slack; got != want {
		t.Errorf("the limit is %d, want %d", got, want)
	}
}
