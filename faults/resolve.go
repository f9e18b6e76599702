package faults

import (
	"strings"

	"lakebed/sim"
)

// moment is the visit that is under way: whose it is, and whom the mark names.
type moment struct {
	visitor *sim.Node
	extra   string
}

// resolved reports whether a name in a target stands for a node that only the moment knows.
func resolved(name string) bool { return name == Visitor || name == Named }

// resolve returns the element with the nodes that its target stands for. False: the moment has none.
func (d *Driver) resolve(e *Element) (*Element, bool) {
	if !resolved(e.Target.Node) && !resolved(e.Target.Peer) {
		return e, true
	}
	here := *e
	here.Target.Node = d.whom(e, e.Target.Node)
	here.Target.Peer = d.whom(e, e.Target.Peer)
	missing := here.Target.Node == "" || here.Target.Peer == "" && e.Target.Peer != ""
	return &here, !missing && here.Target.Node != here.Target.Peer
}

func (d *Driver) whom(e *Element, name string) string {
	switch name {
	case Visitor:
		return d.moment.visitor.Name()
	case Named:
		var nodes []string
		for address := range strings.SplitSeq(d.moment.extra, ",") {
			node, _, _ := strings.Cut(address, ":")
			if node != "" && d.world.Node(node) != nil {
				nodes = append(nodes, node)
			}
		}
		if len(nodes) == 0 {
			return ""
		}
		return nodes[d.world.Stream("aim/"+e.ID).IntN(len(nodes))]
	}
	return name
}
