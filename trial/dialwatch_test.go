package trial

import (
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestADialThatDoesNotWaitIsNoticed: a broken connection and one dial may come together, the third failure must wait; other
// bookies, and other marks, do not count.
func TestADialThatDoesNotWaitIsNoticed(t *testing.T) {
	world := sim.New(sim.Config{Seed: 1})
	n := world.NewNode("client")
	const pause = 10 * time.Millisecond
	failed := func(bookie string) *host.Event { return &host.Event{Name: pool.PointDialFailed, Extra: bookie} }
	w := newDialWatch(&pool.Config{BackoffMin: 2 * pause})
	for i, c := range []struct {
		event *host.Event
		at    time.Duration
		wrong bool
	}{
		{failed("a"), 0, false},
		{failed("a"), 0, false},
		{failed("b"), 1, false},
		{&host.Event{Name: pool.PointReplaced, Extra: "a"}, 1, false},
		{failed("a"), pause, false},
		{failed("a"), 2 * pause, false},
		{failed("a"), 2*pause + 1, false},
		{failed("a"), 2*pause + 2, true},
		{failed("a"), 2*pause + 3, false}, // told once
	} {
		if text := w.see(n, c.event, c.at); (text != "") != c.wrong {
			t.Errorf("event %d at %v: %q", i, c.at, text)
		}
	}
}
