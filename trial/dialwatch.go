package trial

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/host"
	"lakebed/sim"
)

// dialsAtOnce is how many failures to reach one bookie may come closer together than its pause: a connection that did not
// last, and the dial that follows it at once. The next one must wait.
const dialsAtOnce = 2

// dialWatch looks that clients pause between their attempts to reach a bookie.
type dialWatch struct {
	pause  time.Duration // the shortest that the clients' settings allow
	failed map[dialed][]time.Duration
	told   bool
}

// dialed is a bookie, as one process of a client sees it.
type dialed struct {
	node, bookie string
	epoch        int
}

func newDialWatch(p *pool.Config) dialWatch {
	return dialWatch{pause: p.BackoffMin / 2, failed: make(map[dialed][]time.Duration)}
}

// see takes a mark of a client's process, and returns what is wrong, once.
func (w *dialWatch) see(n *sim.Node, e *host.Event, now time.Duration) (text string) {
	if e.Name != pool.PointDialFailed || w.told {
		return ""
	}
	key := dialed{n.Name(), e.Extra, n.Epoch()}
	last := append(w.failed[key], now)
	if len(last) <= dialsAtOnce {
		w.failed[key] = last
		return ""
	}
	w.failed[key] = last[1:]
	if took := now - last[0]; took < w.pause {
		w.told = true
		return fmt.Sprintf("%s failed to reach %s %d times within %v, and its pause is %v at least", key.node, key.bookie, len(last), took, w.pause)
	}
	return ""
}
