package faults

// Aim is a moment worth striking at, which a plan cannot name by node and time: the bookie that has just joined an
// ensemble, the writer that has just been answered.
type Aim struct {
	Name      string // for people; part of the element's ID
	Point     string // the mark, at whichever node
	VisitsMax int64  // the latest of all nodes' visits that triggers; early ones are likelier. Zero: 64
	Target    Target // Node, and perhaps Peer, is Visitor or Named
	Volumes   []string
	Kinds     []Kind // those that make sense here
	Weight    int    // relative to other aims. Zero: one
}

// aimed draws whether the element follows an aim, and the element. The kind is still the plan's: of those that the swarm
// has left, one that an aim asks for.
func (d drawing) aimed(name string, weights Mix) (Element, bool) {
	if d.shape.AimedPercent <= 0 || d.pick(100, "aimed") < int64(100-d.shape.AimedPercent) {
		return Element{}, false
	}
	type choice struct {
		aim   *Aim
		kinds Mix
	}
	var choices []choice
	total := int64(0)
	for i := range d.shape.Aims {
		a := &d.shape.Aims[i]
		if kinds := a.among(weights); len(kinds) > 0 {
			choices = append(choices, choice{a, kinds})
			total += int64(max(a.Weight, 1))
		}
	}
	if len(choices) == 0 {
		return Element{}, false
	}
	chosen := choices[0]
	left := d.pick(total, "aim")
	for _, c := range choices {
		if left -= int64(max(c.aim.Weight, 1)); left < 0 {
			chosen = c
			break
		}
	}
	return d.follow(name, chosen.aim, d.kind(chosen.kinds)), true
}

func (d drawing) follow(name string, a *Aim, kind Kind) Element {
	e := Element{ID: name + "-" + a.Name + "-" + string(kind), Kind: kind, Target: a.Target}
	t := traitOf(kind)
	if t.aim == atVolume {
		e.Target.Volume = a.Volumes[d.pick(int64(len(a.Volumes)), "volume")]
	}
	if t.aim != atLink {
		e.Target.Peer = ""
	}
	last := a.VisitsMax
	if last <= 0 {
		last = visitsMaxDefault
	}
	e.Trigger.Visit = &Visit{Node: AnyNode, Point: a.Point, Nth: d.upTo(last, "visit")}
	e.Params = d.params(kind)
	return e
}

// among is the part of a mix that the aim has a use for.
func (a *Aim) among(weights Mix) Mix {
	var kinds Mix
	for _, w := range weights {
		for _, k := range a.Kinds {
			if k == w.Kind && (traitOf(k).aim != atVolume || len(a.Volumes) > 0) {
				kinds = append(kinds, w)
			}
		}
	}
	return kinds
}
