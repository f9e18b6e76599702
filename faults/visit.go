package faults

import (
	"fmt"
	"math/rand/v2"

	"lakebed/sim"
)

// Chance lets the probe's questions be answered with yes at random. The seed arms points, not nodes: a rare branch that
// all nodes take now and then meets itself. Zero value: no chance.
type Chance struct {
	// ArmedPermille is the share of points that this seed arms. Each armed point has a rate of its own, between one in
	// two and one in 1024, so that both eager and patient places are covered.
	ArmedPermille int
	// TimesMax bounds how often chance answers yes at one point of one node: each yes becomes an element of the plan.
	TimesMax int
}

// SwarmChance is the usual chance: a quarter of the points is armed.
func SwarmChance() Chance { return Chance{ArmedPermille: 250, TimesMax: 32} }

// rateBitsMax bounds the rates of armed points: one in two to the so manieth.
const rateBitsMax = 10

// UseChance turns chance on or off, for the questions to come.
func (d *Driver) UseChance(c Chance) { d.chance = c }

// place is a point on a node.
type place struct{ node, point string }

// spot is what the driver knows about a place.
type spot struct {
	visits  int64
	waiting []*countdown

	drawn bool       // whether chance knows this place: only places that ask have a part in it
	oneIn int64      // zero: not armed
	dice  *rand.Rand // one draw a question
	times int        // yes answers of chance so far
}

func (d *Driver) spot(node, point string) *spot {
	s := d.spots[place{node, point}]
	if s == nil {
		s = &spot{}
		d.spots[place{node, point}] = s
	}
	return s
}

// OnMark takes a visit of a point by way of a mark. The trial calls it from its World.OnMark hook, for every mark, with
// the name of the event and whom it names.
func (d *Driver) OnMark(n *sim.Node, point, extra string) {
	d.visitPlaces(n, point, extra)
}

// visitPlaces counts a visit for the node and for all nodes together, and reports whether an element says yes.
func (d *Driver) visitPlaces(n *sim.Node, point, extra string) bool {
	before := d.moment
	d.moment = moment{n, extra}
	yes := d.visit(d.spot(n.Name(), point))
	if any := d.spots[place{AnyNode, point}]; any != nil {
		yes = d.visit(any) || yes
	}
	d.moment = before
	return yes
}

// Perhaps answers a question of the probe. The trial calls it from its World.SetPerhaps hook, for every question. An
// element that waits for this visit may be of any kind; those of kind perhaps make the answer yes.
func (d *Driver) Perhaps(n *sim.Node, point string) bool {
	s := d.spot(n.Name(), point)
	if d.visitPlaces(n, point, "") {
		return true
	}
	if d.healed || !d.roll(s, n.Name(), point) {
		return false
	}
	s.times++
	e := Element{
		ID: fmt.Sprintf("perhaps/%s/%s/%d", n.Name(), point, s.visits), Kind: Perhaps,
		Trigger: Trigger{Visit: &Visit{Node: n.Name(), Point: point, Nth: s.visits}},
	}
	d.byChance = append(d.byChance, e)
	d.fire(&e)
	return true
}

// visit counts a visit, triggers the elements that wait for it, and reports whether one of them says yes.
func (d *Driver) visit(s *spot) bool {
	s.visits++
	yes := false
	for _, c := range s.waiting {
		e := c.element
		if c.left == 0 || d.world.Elapsed() < e.Trigger.Visit.After {
			continue
		}
		if c.left--; c.left > 0 || d.healed {
			continue
		}
		d.fire(e)
		yes = yes || e.Kind == Perhaps
	}
	return yes
}

// roll lets chance decide. Arming draws from a stream of the point, each visit from one of the place, so that places do
// not shift each other.
func (d *Driver) roll(s *spot, node, point string) bool {
	if d.chance.ArmedPermille <= 0 || s.times >= d.chance.TimesMax {
		return false
	}
	if !s.drawn {
		s.drawn = true
		arming := d.world.Stream("perhaps point/" + point)
		if arming.IntN(1000) < d.chance.ArmedPermille {
			s.oneIn = 1 << (1 + arming.IntN(rateBitsMax))
		}
		s.dice = d.world.Stream("perhaps place/" + node + "/" + point)
	}
	return s.oneIn > 0 && s.dice.Int64N(s.oneIn) == 0
}
