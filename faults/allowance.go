package faults

// Allowance keeps a plan within what the promise under check must survive. Faults that pass (crashes, partitions, full
// disks) are always allowed; permanent damage of synced bytes only where the scenario can stand it: on nodes drawn
// fragile, so few that every acknowledged entry has a sound holder left. The zero value allows no damage at all.
type Allowance struct {
	Fragile map[string]bool // nodes that may suffer permanent damage
	Damage  bool            // whether any may
}

// Permits reports whether the element is within the allowance.
func (a Allowance) Permits(e Element) bool {
	return !e.Kind.Damages() || a.Damage && a.Fragile[e.Target.Node]
}

// Filter returns the plan without what the allowance forbids.
func (a Allowance) Filter(plan Plan) Plan {
	return plan.keep(func(e *Element) bool { return a.Permits(*e) })
}
