package faults

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/internal/invariant"
	"lakebed/sim"
)

// Actions are what the driver cannot do by itself.
type Actions struct {
	// Restart starts the node again. It is called between tasks, and the node has no process.
	Restart func(node string)
	// Wipe puts empty disks in the place of the node's. It is called between tasks, while the node has no process, and
	// only for plans with elements of kind wipe.
	Wipe func(node string)
	// Allow is asked before synced bytes are destroyed, whether the place may be lost. It has the last word: a plan does
	// not know what lies where when it strikes. Nil: every place may be.
	Allow func(place Wound) bool
}

// Firing says that an element was triggered.
type Firing struct {
	ID string
	At time.Duration
}

// Driver carries a plan out in a world.
type Driver struct {
	world   *sim.World
	actions Actions
	plan    Plan
	healed  bool
	firings []Firing

	chance   Chance
	byChance []Element        // questions that chance answered with yes
	spots    map[place]*spot  // points that were visited or are waited for
	nodes    map[string]*node // those that the plan names
	volumes  []*volume        // in order of first mention
	links    links
	wounds   []Wound
	moment   moment
}

// NewDriver prepares the world for a plan. The plan must be valid and fit the world: see Validate and Plan.Fits. Call it
// before the world runs, or visits and operations are missed.
func NewDriver(w *sim.World, plan Plan, actions Actions) *Driver {
	err := plan.check()
	if err == nil {
		err = plan.Fits(w)
	}
	invariant.Checkf(err == nil, "a driver gets a valid plan: %v", err)
	plan.Elements = slices.Clone(plan.Elements) // they are pointed to, and the caller may go on editing
	d := &Driver{world: w, actions: actions, plan: plan, spots: map[place]*spot{}, nodes: map[string]*node{}}
	d.links.net = w.Net()
	for i := range plan.Elements {
		d.arm(&plan.Elements[i])
	}
	return d
}

// arm makes the driver wait for an element's trigger, and prepares its target.
func (d *Driver) arm(e *Element) {
	if e.Target.Volume != "" && !resolved(e.Target.Node) {
		d.volume(e.Target.Node, e.Target.Volume)
	}
	switch t := &e.Trigger; {
	case t.Visit != nil:
		s := d.spot(t.Visit.Node, t.Visit.Point)
		s.waiting = append(s.waiting, &countdown{element: e, left: t.Visit.Nth})
	case t.Operation != nil:
		v := d.volume(t.Operation.Node, t.Operation.Volume)
		v.waiting = append(v.waiting, &countdown{element: e, left: t.Operation.Nth})
	default:
		d.world.At(t.At-d.world.Elapsed(), func() { d.fire(e) })
	}
}

// Firings tells which elements were triggered and when, in that order.
func (d *Driver) Firings() []Firing { return slices.Clone(d.firings) }

// Visited tells how often each node came to each of its points, sorted by node and point.
func (d *Driver) Visited() []Visit {
	var all []Visit
	for p, s := range d.spots {
		if s.visits > 0 {
			all = append(all, Visit{Node: p.node, Point: p.point, Nth: s.visits})
		}
	}
	slices.SortFunc(all, func(a, b Visit) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Point, b.Point)) })
	return all
}

// Fired returns the explicit plan: the driver's own with the yes answers of chance added. A world that is driven by it
// with chance off has the same trace. Elements that never triggered are part of it, since even waiting leaves its mark on
// the schedule.
func (d *Driver) Fired() Plan {
	return Plan{Elements: slices.Concat(d.plan.Elements, d.byChance)}
}

// stream is the random stream of an element, and of nothing else.
func (d *Driver) stream(e *Element) *rand.Rand { return d.world.Stream("fault/" + e.ID) }

// fire lets an element do its work.
func (d *Driver) fire(e *Element) {
	if d.healed {
		return
	}
	d.firings = append(d.firings, Firing{ID: e.ID, At: d.world.Elapsed()})
	e, found := d.resolve(e)
	if !found {
		return
	}
	switch traitOf(e.Kind).aim {
	case atNode:
		d.strikeNode(e)
	case atVolume:
		d.strikeVolume(e)
	case atLink:
		d.strikeLinks(e)
	case atWorld:
		d.swizzle(e)
	case atPoint:
		// Whoever asked looks at the elements that fired.
	}
}

// Heal ends everything that the plan does to the world, and all it still would do: disks and links work, nodes run,
// questions are answered with no. What is damaged stays damaged, and clocks stay where they are.
func (d *Driver) Heal() {
	if d.healed {
		return
	}
	d.healed = true
	for _, v := range d.volumes {
		v.heal()
	}
	d.links.heal(d.world.Elapsed())
	for _, n := range d.world.Nodes() {
		if broken := d.nodes[n.Name()]; broken != nil {
			d.healNode(broken)
		}
	}
}
