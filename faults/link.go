package faults

import (
	"time"

	"lakebed/sim"
)

// links is what the driver does to the network.
type links struct {
	net    *sim.Network
	cuts   []*cut
	stalls []stall
	slowed []pair // now or earlier
}

// pair is two nodes by name.
type pair struct{ from, to string }

// cut is a partition that is going on, between a node and one other.
type cut struct {
	pair
	oneWay bool
}

// stall is a link that stands still, now or earlier.
type stall struct {
	pair
	until time.Duration
}

func (c *cut) between(a, b string) bool {
	return c.from == a && c.to == b || c.from == b && c.to == a
}

// strikeLinks does to the target's link what the kind says, or to its links to all other nodes.
func (d *Driver) strikeLinks(e *Element) {
	for _, peer := range d.peers(e) {
		p := pair{e.Target.Node, peer}
		switch e.Kind {
		case Partition, OneWayPartition:
			d.partition(&cut{pair: p, oneWay: e.Kind == OneWayPartition}, e.Params.For)
		case Reset:
			d.links.net.Reset(p.from, p.to)
		case Stall:
			d.links.stalls = append(d.links.stalls, stall{p, d.world.Elapsed() + e.Params.For})
			d.links.net.Stall(p.from, p.to, e.Params.For)
		case SlowLink:
			d.links.slowed = append(d.links.slowed, p)
			d.links.net.SlowLink(p.from, p.to, e.Params.Factor, e.Params.For)
		}
	}
}

func (d *Driver) peers(e *Element) []string {
	if e.Target.Peer != "" {
		return []string{e.Target.Peer}
	}
	var others []string
	for _, n := range d.world.Nodes() {
		if n.Name() != e.Target.Node {
			others = append(others, n.Name())
		}
	}
	return others
}

func (d *Driver) partition(c *cut, length time.Duration) {
	d.links.cuts = append(d.links.cuts, c)
	d.links.apply(c)
	d.world.At(length, func() { d.links.end(c) })
}

func (l *links) apply(c *cut) { l.net.Partition(c.from, c.to, c.oneWay) }

// end takes a partition away. The network heals both directions of a link at once and knows nothing of partitions that
// overlap, so what is left on the link is cut again, before a byte could pass.
func (l *links) end(over *cut) {
	kept := l.cuts[:0]
	found := false
	for _, c := range l.cuts {
		if c == over {
			found = true
		} else {
			kept = append(kept, c)
		}
	}
	clear(l.cuts[len(kept):])
	l.cuts = kept
	if !found {
		return // healed before
	}
	l.net.Heal(over.from, over.to)
	for _, c := range l.cuts {
		if c.between(over.from, over.to) {
			l.apply(c)
		}
	}
}

// heal ends everything. Bytes that met a stall wait for its old end even if the stall is over; a partition that heals at
// once sends them again.
func (l *links) heal(now time.Duration) {
	for _, p := range l.slowed {
		l.net.SlowLink(p.from, p.to, 1, 0)
	}
	for _, s := range l.stalls {
		if now < s.until {
			l.net.Stall(s.from, s.to, 0)
			l.net.Partition(s.from, s.to, false)
		}
	}
	l.net.HealAll()
	l.cuts, l.stalls, l.slowed = nil, nil, nil
}
