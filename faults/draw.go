package faults

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"lakebed/sim"
	"lakebed/sim/disk"
)

// Draw draws a plan: a swarm of some kinds, in a number of elements. It takes one number from rng; the number of
// elements, the choice of kinds and each element draw from streams of their own, keyed by that number. So a plan with
// fewer elements is the beginning of one with more, and each is what it is whatever becomes of the others.
func Draw(rng *rand.Rand, mix Mix, shape Shape) Plan {
	seed := rng.Uint64()
	shape = shape.withDefaults()
	weights := swarm(seed, possible(mix, &shape))
	if len(weights) == 0 {
		return Plan{}
	}
	number := dice{sim.Stream(seed, "number")}
	count := shape.ElementsMin + int(number.pick(int64(shape.ElementsMax-shape.ElementsMin+1), "number"))
	var plan Plan
	for i := range count {
		name := fmt.Sprintf("e%02d", i+1)
		d := drawing{chooser: dice{sim.Stream(seed, "element/"+name)}, shape: &shape}
		plan.Elements = append(plan.Elements, d.element(name, weights))
	}
	return plan
}

// possible is the part of the mix for which the shape has a target.
func possible(mix Mix, shape *Shape) Mix {
	var left Mix
	for _, w := range mix {
		if w.Weight > 0 && traitOf(w.Kind) != nil && len(shape.targets(w.Kind)) > 0 {
			left = append(left, w)
		}
	}
	return left
}

// swarm turns each kind off by a coin of its own: a run with few kinds of faults goes deeper than one with all (ISSTA
// 2012). If nothing is left, everything is.
func swarm(seed uint64, mix Mix) Mix {
	var left Mix
	for _, w := range mix {
		if sim.Stream(seed, "swarm/"+string(w.Kind)).IntN(2) == 0 {
			left = append(left, w)
		}
	}
	if len(left) == 0 {
		return mix
	}
	return left
}

// chooser makes the decisions of a drawing: a random stream, or a property test that shrinks. Zero is the simplest choice.
type chooser interface {
	// pick returns a number in [0, n). n must be positive.
	pick(n int64, what string) int64
}

type dice struct{ rng *rand.Rand }

func (d dice) pick(n int64, _ string) int64 { return d.rng.Int64N(n) }

// drawing draws one element.
type drawing struct {
	chooser
	shape *Shape
}

// element draws an element. Its ID ends in its kind, for readers.
func (d drawing) element(name string, weights Mix) Element {
	if e, aimed := d.aimed(name, weights); aimed {
		return e
	}
	kind := d.kind(weights)
	nodes := d.shape.targets(kind)
	node := d.node(nodes)
	e := Element{ID: name + "-" + string(kind), Kind: kind}
	if kind == Perhaps {
		e.Trigger = d.visit(node, node.asking())
		return e
	}
	if traitOf(kind).aim != atWorld {
		e.Target = d.target(kind, node)
	}
	e.Trigger = d.trigger(d.witness(node))
	e.Params = d.params(kind)
	return e
}

func (d drawing) kind(weights Mix) Kind {
	total := int64(0)
	for _, w := range weights {
		total += int64(w.Weight)
	}
	left := d.pick(total, "kind")
	for _, w := range weights {
		if left -= int64(w.Weight); left < 0 {
			return w.Kind
		}
	}
	return weights[0].Kind
}

func (d drawing) node(nodes []NodeShape) *NodeShape {
	total := int64(0)
	for i := range nodes {
		total += int64(max(nodes[i].Weight, 1))
	}
	left := d.pick(total, "node")
	for i := range nodes {
		if left -= int64(max(nodes[i].Weight, 1)); left < 0 {
			return &nodes[i]
		}
	}
	return &nodes[0]
}

// witness is the node whose visits and operations trigger: mostly the target itself, since a crash in the middle of what
// the node does is worth more than one beside it. One time in six it is any node, so that a node also breaks in the middle
// of what another does with it.
func (d drawing) witness(target *NodeShape) *NodeShape {
	if len(d.shape.Nodes) == 1 || d.pick(6, "witness") < 5 {
		return target
	}
	return d.node(d.shape.Nodes)
}

// trigger draws a time in half of all cases, a visit in three of ten and an operation in two.
func (d drawing) trigger(node *NodeShape) Trigger {
	roll := d.pick(10, "trigger")
	switch {
	case roll >= 8 && len(node.Volumes) > 0:
		return d.operation(node)
	case roll >= 5 && len(node.Points) > 0:
		return d.visit(node, node.Points)
	}
	return Trigger{At: time.Duration(d.pick(int64(d.shape.Duration), "at"))}
}

func (d drawing) visit(node *NodeShape, points []PointShape) Trigger {
	total := int64(0)
	for _, p := range points {
		total += int64(max(p.Weight, 1))
	}
	left := d.pick(total, "point")
	chosen := points[0]
	for _, p := range points {
		if left -= int64(max(p.Weight, 1)); left < 0 {
			chosen = p
			break
		}
	}
	last := chosen.VisitsMax
	if last <= 0 {
		last = visitsMaxDefault
	}
	return Trigger{Visit: &Visit{Node: node.Name, Point: chosen.Point, Nth: d.upTo(last, "visit")}}
}

// triggering are the operations that trigger, those that change the disk first.
var triggering = []sim.DiskKind{
	sim.DiskWrite, sim.DiskSync, sim.DiskSyncDir, sim.DiskCreate, sim.DiskRename, sim.DiskRemove, sim.DiskTruncate, sim.DiskAllocate,
	sim.DiskRead,
}

func (d drawing) operation(node *NodeShape) Trigger {
	o := &Operation{
		Node: node.Name, Volume: d.volume(node), Kind: triggering[d.pick(int64(len(triggering)), "operation")],
		Nth: d.upTo(d.shape.OperationsMax, "operation number"),
	}
	switch o.Kind {
	case sim.DiskSyncDir, sim.DiskCreate, sim.DiskRename, sim.DiskRemove, sim.DiskTruncate, sim.DiskAllocate:
		o.Nth = (o.Nth + 9) / 10 // these are rare
	}
	return Trigger{Operation: o}
}

func (d drawing) volume(node *NodeShape) string {
	return node.Volumes[d.pick(int64(len(node.Volumes)), "volume")]
}

func (d drawing) target(kind Kind, node *NodeShape) Target {
	t := Target{Node: node.Name}
	switch traitOf(kind).aim {
	case atVolume:
		t.Volume = d.volume(node)
		t.Operation = d.limit(kind)
	case atLink:
		peers := d.shape.peersOf(node.Name)
		// One in four takes all links of the node at once.
		if d.pick(4, "all peers") < 3 {
			t.Peer = peers[d.pick(int64(len(peers)), "peer")]
		}
	}
	return t
}

// limit sometimes limits a fault to one kind of operation: a disk that is slow in syncs alone, a name that cannot be made.
func (d drawing) limit(kind Kind) string {
	_, able := struck(kind)
	if able == 0 || d.pick(4, "limited") < 3 {
		return ""
	}
	var kinds []sim.DiskKind
	for k := sim.DiskRead; k <= lastDiskKind; k++ {
		if able.has(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds[d.pick(int64(len(kinds)), "limit")].String()
}

// upTo draws a number from 1 to n whose order of magnitude is uniform, so that small ones are likely.
func (d drawing) upTo(n int64, what string) int64 {
	if n <= 1 {
		return 1
	}
	magnitude := d.pick(int64(bits.Len64(uint64(n))), what+" magnitude")
	low := int64(1) << magnitude
	high := min(low, n-low+1)
	return low + d.pick(high, what)
}

// length draws a duration from a tenth of a millisecond to a part of the world's, with a uniform order of magnitude.
func (d drawing) length(part int64, what string) time.Duration {
	const unit = 100 * time.Microsecond
	return time.Duration(d.upTo(max(int64(d.shape.Duration)/part/int64(unit), 1), what)) * unit
}

// between draws a number from low to high.
func (d drawing) between(low, high int64, what string) int64 { return low + d.pick(high-low+1, what) }

// survivals are weighted: what tears finds more than what is clean.
var survivals = []disk.Survival{
	disk.Keep, disk.Drop, disk.Drop, disk.RandomPages, disk.RandomPages, disk.Torn, disk.Torn, disk.Torn, disk.Mixed, disk.Mixed, disk.Mixed,
}
