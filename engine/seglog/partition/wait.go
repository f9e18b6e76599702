package partition

import (
	"slices"
	"time"

	"lakebed/engine/host"
)

// Await waits until there is a message at this cursor, for so long at most, or until a group stops, and reports whether there is; not
// when the partition stops. Nil is the partition's own group. How many wait at once is for the callers to bound.
func (p *Partition) Await(g host.Group, c Cursor, patience time.Duration) bool {
	if g == nil {
		g = p.group
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if c < p.visible {
		return true
	}
	grown := g.NewCond(p.mutex) // its own: who waits for one client ends with that
	p.waiting = append(p.waiting, grown)
	defer func() {
		p.waiting = slices.DeleteFunc(p.waiting, func(w host.Cond) bool { return w == grown })
	}()
	for end := p.h.Elapsed() + patience; c >= p.visible; {
		left := end - p.h.Elapsed()
		if p.state == closed || left <= 0 || grown.WaitFor(left) != host.Signalled {
			return c < p.visible
		}
	}
	return true
}

// wakeWaiting has all that wait look again. The mutex is held.
func (p *Partition) wakeWaiting() {
	for _, w := range p.waiting {
		w.Signal()
	}
}
