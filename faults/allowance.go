package faults

import "math/rand/v2"

// Allowance keeps a plan within what the promise under check must survive. Faults that pass (crashes, partitions, full
// disks) are always allowed; permanent damage of synced bytes only where the scenario can stand it: on nodes drawn
// fragile, so few that every acknowledged entry has a sound holder left, and where the trial keeps account of every entry
// (Ask), at single places of any node. The zero value allows no damage at all.
type Allowance struct {
	Fragile map[string]bool // nodes that may suffer permanent damage
	Damage  bool            // whether any may
	Ask     bool            // other nodes may lose single places too, where the trial grants it at that moment
}

// DrawFragile draws an allowance for a world that replicates: of the nodes, as many as bear it may suffer permanent
// damage, and no other does. How many are drawn, from none to most, is a draw too, so that a world that loses nothing
// for good is among those that are tried. With an ack quorum of Qa, most is Qa-1: every acknowledged entry then has a
// holder whose media are sound.
func DrawFragile(r *rand.Rand, nodes []string, most int) Allowance {
	count := min(r.IntN(max(most, 0)+1), len(nodes))
	a := Allowance{Damage: count > 0, Fragile: map[string]bool{}}
	for _, i := range r.Perm(len(nodes))[:count] {
		a.Fragile[nodes[i]] = true
	}
	return a
}

// Permits reports whether the element is within the allowance. Of a target that only the moment knows, the driver's
// Actions.Allow decides.
func (a Allowance) Permits(e Element) bool {
	return !e.Kind.Damages() || a.Damage && (a.Fragile[e.Target.Node] || resolved(e.Target.Node) || a.Ask && e.Kind.single())
}

// single reports whether elements of this kind destroy places that are known one by one before they go.
func (k Kind) single() bool { return k == BitRot || k == Latent }

// Filter returns the plan without what the allowance forbids.
func (a Allowance) Filter(plan Plan) Plan {
	return plan.keep(func(e *Element) bool { return a.Permits(*e) })
}
