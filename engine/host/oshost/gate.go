package oshost

import "sync/atomic"

// gate is a channel that is closed once.
type gate struct {
	group  *group
	open   chan struct{}
	opened atomic.Bool
}

func (g *gate) Open() {
	if g.opened.CompareAndSwap(false, true) {
		close(g.open)
	}
}

func (g *gate) Wait() bool {
	if g.opened.Load() {
		return true
	}
	select {
	case <-g.open:
		return true
	case <-g.group.stop:
		// select takes either of two ready cases; an open gate must win.
		return g.opened.Load()
	}
}
