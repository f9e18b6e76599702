package faults

import (
	"lakebed/sim"
)

// volume is what the driver does to one disk. Its hook is in the way of every operation there.
type volume struct {
	driver  *Driver
	sim     *sim.Volume
	node    string
	name    string
	waiting []*countdown
	active  []*diskFault // in the order in which they began
}

// countdown is an element that waits for visits or operations.
type countdown struct {
	element *Element
	left    int64
}

func (d *Driver) volume(nodeName, name string) *volume {
	for _, v := range d.volumes {
		if v.node == nodeName && v.name == name {
			return v
		}
	}
	v := &volume{driver: d, sim: d.world.Node(nodeName).Disk(name), node: nodeName, name: name}
	v.sim.SetFaults(v.decide)
	d.volumes = append(d.volumes, v)
	return v
}

// decide is the hook of the volume. The operation that triggers an element is the first that the element can hit.
func (v *volume) decide(op *sim.DiskOp) sim.DiskEffect {
	for _, c := range v.waiting {
		o := c.element.Trigger.Operation
		if c.left == 0 || o.Kind != op.Kind || !matches(o.Path, op.Path) || v.driver.world.Elapsed() < o.After {
			continue
		}
		if c.left--; c.left == 0 {
			v.driver.fire(c.element)
		}
	}
	var effect sim.DiskEffect
	if len(v.active) == 0 {
		return effect
	}
	v.dropEnded()
	for _, f := range v.active {
		if f.concerns(op) && !(f.fails() && v.opens(op)) && f.hits(&effect) {
			f.apply(op, &effect)
		}
	}
	return effect
}

// opens reports whether a create is none: a directory that is there already is opened by the same operation.
func (v *volume) opens(op *sim.DiskOp) bool {
	return op.Kind == sim.DiskCreate && isDirectory(v.sim.Model(), op.Path)
}

func (v *volume) dropEnded() {
	now := v.driver.world.Elapsed()
	kept := v.active[:0]
	for _, f := range v.active {
		if (f.until == 0 || now < f.until) && (!f.counts() || f.left > 0) {
			kept = append(kept, f)
		}
	}
	clear(v.active[len(kept):])
	v.active = kept
}

// heal ends all that goes on and lets stuck operations go on.
func (v *volume) heal() {
	v.active, v.waiting = nil, nil
	v.sim.Unstick()
}

// strikeVolume begins a disk fault, or does its damage at once.
func (d *Driver) strikeVolume(e *Element) {
	v := d.volume(e.Target.Node, e.Target.Volume)
	switch e.Kind {
	case BitRot, Latent:
		d.damage(v, e)
		return
	case LyingSync:
		if !d.wound(Wound{ID: e.ID, Node: v.node, Volume: v.name}) {
			return
		}
	}
	f := &diskFault{Element: e, volume: v, left: e.Params.Times, dice: d.stream(e)}
	if e.Kind == LostWrite || e.Kind == MisdirectedWrite {
		f.left = max(f.left, 1)
	}
	if e.Params.For > 0 {
		f.until = d.world.Elapsed() + e.Params.For
	}
	v.active = append(v.active, f)
	if e.Kind == StuckDisk {
		d.world.At(e.Params.For, v.unstick)
	}
}

// unstick lets stuck operations go on, unless another fault holds the disk still.
func (v *volume) unstick() {
	v.dropEnded()
	for _, f := range v.active {
		if f.Kind == StuckDisk {
			return
		}
	}
	v.sim.Unstick()
}
