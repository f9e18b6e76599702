package faults

import (
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// How often the driver looks whether a node that was told to stop has ended: each time twice as late, within bounds.
const (
	stopLookMin = 10 * time.Millisecond
	stopLookMax = 10 * time.Second
)

// node is what the driver does to a node of the world.
type node struct {
	sim *sim.Node

	down  bool     // taken down by the plan, and not started again since
	order int      // counts the take-downs; a restart that belongs to an earlier one is void
	epoch int      // the process that was taken down
	wipe  *Element // its disks are to be emptied before it starts again

	pausedEpoch int // the process that is paused, and until when
	pausedUntil time.Duration
	refuses     bool // dials, now or earlier

	drift        int64 // of its clock, in ppm, by the plan
	clogs        int   // that hold it now
	slowReceives bool  // now or earlier
}

func (d *Driver) node(name string) *node {
	n := d.nodes[name]
	if n == nil {
		n = &node{sim: d.world.Node(name)}
		d.nodes[name] = n
	}
	return n
}

func (d *Driver) strikeNode(e *Element) {
	n := d.node(e.Target.Node)
	switch e.Kind {
	case Kill, PowerCut, Stop, Wipe:
		d.takeDown(n, e)
	case Pause:
		d.pause(n, e.Params.For)
	case ClockJump:
		n.sim.JumpClock(e.Params.Jump)
	case Refuse:
		n.refuses = true
		d.links.net.RefuseDials(n.sim.Name(), e.Params.For)
	case ClockDrift:
		d.drift(n, e)
	case MemoryPressure:
		n.sim.PressMemory(e.Params.For)
	case SlowReceiver:
		n.slowReceives = true
		d.links.net.SlowReceiver(n.sim.Name(), e.Params.Delay, e.Params.For)
	case Clog:
		d.clog(n, e.Params.For)
	}
}

// takeDown ends a node and orders its restart. A node that is down by the plan may be hit again: by a power cut, which
// takes what a kill left in the page cache, or by a wipe, and the later order of restart counts. One that is down for
// reasons of its own stays so.
func (d *Driver) takeDown(n *node, e *Element) {
	running := n.sim.Running()
	n.down = n.down && n.epoch == n.sim.Epoch() // others may have started it since
	switch e.Kind {
	case Kill:
		n.sim.Crash(sim.KillProcess())
	case PowerCut:
		n.sim.Crash(sim.PowerCut(e.Params.Survival))
	case Stop:
		n.sim.Stop()
	case Wipe:
		n.sim.Crash(sim.PowerCut(disk.Drop))
	}
	if !running && (!n.down || e.Kind == Kill || e.Kind == Stop) {
		return
	}
	if e.Kind == Wipe {
		n.wipe = e
	}
	n.down, n.epoch = true, n.sim.Epoch()
	n.order++
	if !e.Params.StaysDown {
		d.restartAfter(n, e.Params.RestartAfter, stopLookMin)
	}
}

// restartAfter starts the node again once it has ended and this much time has passed. It must not start a node whose
// tasks still unwind, so even an immediate restart is left to a callback. A node that was told to stop ends when it
// likes; nobody tells the driver, so it looks again.
func (d *Driver) restartAfter(n *node, after, look time.Duration) {
	order := n.order
	d.world.At(after, func() {
		switch {
		case order != n.order:
			// Taken down again since: that order counts.
		case n.sim.Epoch() != n.epoch:
			n.down, n.wipe = false, nil // somebody else was faster
		case n.sim.Running():
			d.restartAfter(n, look, min(2*look, stopLookMax))
		default:
			n.down = false
			d.emptyDisks(n)
			d.actions.Restart(n.sim.Name())
		}
	})
}

// emptyDisks does what a wipe ordered. It waits for the restart, because disks are not replaced under a process whose
// tasks still unwind.
func (d *Driver) emptyDisks(n *node) {
	if n.wipe == nil {
		return
	}
	allowed := d.wound(Wound{ID: n.wipe.ID, Node: n.sim.Name()})
	n.wipe = nil
	if allowed {
		d.actions.Wipe(n.sim.Name())
	}
}

// drift lets the node's clock run at another rate for a time. Drifts that overlap add up, within the bounds of one.
func (d *Driver) drift(n *node, e *Element) {
	change := func(ppm int64) {
		n.drift += ppm
		n.sim.DriftClock(min(max(n.drift, -clockDriftMax), clockDriftMax))
	}
	change(e.Params.PPM)
	d.world.At(e.Params.For, func() {
		if !d.healed {
			change(-e.Params.PPM)
		}
	})
}

// clog stops a node's traffic for a time. Of clogs that overlap, the one that ends last counts.
func (d *Driver) clog(n *node, length time.Duration) {
	n.clogs++
	d.links.net.Clog(n.sim.Name())
	d.world.At(length, func() {
		if n.clogs--; n.clogs == 0 && !d.healed {
			d.links.net.Unclog(n.sim.Name())
		}
	})
}

// swizzle clogs each node by a coin of its own, from a moment in the first half of the time to one in the second: nodes
// come and go in unrelated orders (FoundationDB's swizzle-clogging).
func (d *Driver) swizzle(e *Element) {
	rng, half := d.stream(e), max(int64(e.Params.For/2), 1)
	for _, one := range d.world.Nodes() {
		from, to := time.Duration(rng.Int64N(half)), e.Params.For/2+time.Duration(rng.Int64N(half))
		if rng.IntN(2) == 0 {
			continue
		}
		n := d.node(one.Name())
		d.world.At(from, func() {
			if !d.healed {
				d.clog(n, to-from)
			}
		})
	}
}

// pause holds the node. Of pauses that overlap, the one that ends last counts, but only for the process it held.
func (d *Driver) pause(n *node, length time.Duration) {
	if !n.sim.Running() {
		return
	}
	if n.pausedEpoch != n.sim.Epoch() {
		n.pausedEpoch, n.pausedUntil = n.sim.Epoch(), 0
	}
	n.pausedUntil = max(n.pausedUntil, d.world.Elapsed()+length)
	n.sim.Pause()
	d.world.At(length, func() {
		if n.pausedEpoch == n.sim.Epoch() && d.world.Elapsed() >= n.pausedUntil {
			n.sim.Resume()
		}
	})
}

// healNode ends what goes on with a node. One that is down comes back at once.
func (d *Driver) healNode(n *node) {
	n.sim.Resume()
	if n.drift != 0 {
		n.sim.DriftClock(0)
	}
	if n.slowReceives {
		d.links.net.SlowReceiver(n.sim.Name(), 0, 0)
	}
	d.links.net.Unclog(n.sim.Name())
	if n.refuses {
		d.links.net.RefuseDials(n.sim.Name(), 0)
	}
	if n.down {
		n.order++
		d.restartAfter(n, 0, stopLookMin)
	}
}
