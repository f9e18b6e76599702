package faults

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Weight says how often a kind is drawn, relative to the others.
type Weight struct {
	Kind   Kind
	Weight int
}

// Mix is the weights of kinds. A kind that is not listed is never drawn.
type Mix []Weight

// ParseMix makes a mix of the names and weights of a scenario file.
func ParseMix(weights map[string]int) (Mix, error) {
	var mix Mix
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		kind, err := ParseKind(name)
		if err != nil {
			return nil, fmt.Errorf("fault mix: %w", err)
		}
		if weights[name] < 0 {
			return nil, fmt.Errorf("fault mix: %s has the weight %d: %w", name, weights[name], ErrInvalid)
		}
		mix = append(mix, Weight{kind, weights[name]})
	}
	return mix, nil
}

// EveryKind is the mix in which all kinds are equally likely.
func EveryKind() Mix {
	var mix Mix
	for _, kind := range Kinds() {
		mix = append(mix, Weight{kind, 1})
	}
	return mix
}

// Defaults for what a Shape leaves zero.
const (
	elementsMinDefault   = 6
	elementsMaxDefault   = 25
	visitsMaxDefault     = 64
	operationsMaxDefault = 1000
)

// Shape is what a plan is drawn for: how long the world lasts, and what there is to break.
type Shape struct {
	Duration  time.Duration
	Nodes     []NodeShape
	Peers     []string // further nodes that are only the far end of links
	Allowance Allowance

	ElementsMin, ElementsMax int   // how many elements. Zero: 6 and 25
	OperationsMax            int64 // the latest operation of a kind that triggers. Zero: 1000

	Aims         []Aim
	AimedPercent int // how many elements of a hundred follow an aim, if the plan has a kind for one
}

// NodeShape is a node that faults may strike.
type NodeShape struct {
	Name    string
	Volumes []string
	Points  []PointShape
	Weight  int      // how often it is struck, relative to other nodes. Zero: one
	Peers   []string // the nodes that it has links with. Nil: all others
}

// PointShape is a point of a node that may trigger.
type PointShape struct {
	Point     string
	Weight    int   // relative to the node's other points. Zero: one
	VisitsMax int64 // the latest visit that triggers; early ones are likelier. Zero: 64
	Asks      bool  // the node asks Probe.Perhaps here, so a plan can answer
}

func (s Shape) withDefaults() Shape {
	if s.ElementsMin <= 0 && s.ElementsMax <= 0 {
		s.ElementsMin, s.ElementsMax = elementsMinDefault, elementsMaxDefault
	}
	s.ElementsMax = max(s.ElementsMax, s.ElementsMin)
	if s.OperationsMax <= 0 {
		s.OperationsMax = operationsMaxDefault
	}
	s.Duration = max(s.Duration, time.Millisecond)
	return s
}

// targets returns the nodes that a kind can strike.
func (s *Shape) targets(kind Kind) []NodeShape {
	t := traitOf(kind)
	var nodes []NodeShape
	for _, n := range s.Nodes {
		able := false
		switch t.aim {
		case atNode:
			able = s.Allowance.Permits(Element{Kind: kind, Target: Target{Node: n.Name}})
		case atVolume:
			able = len(n.Volumes) > 0 && s.Allowance.Permits(Element{Kind: kind, Target: Target{Node: n.Name}})
		case atLink:
			able = len(s.peersOf(n.Name)) > 0
		case atPoint:
			able = len(n.asking()) > 0
		case atWorld:
			able = len(s.Nodes) > 1
		}
		if able {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// peersOf returns the nodes that a node has links with.
func (s *Shape) peersOf(node string) []string {
	for _, n := range s.Nodes {
		if n.Name == node && n.Peers != nil {
			return n.Peers
		}
	}
	var peers []string
	for _, n := range s.Nodes {
		if n.Name != node {
			peers = append(peers, n.Name)
		}
	}
	for _, name := range s.Peers {
		if name != node {
			peers = append(peers, name)
		}
	}
	return peers
}

func (n *NodeShape) asking() []PointShape {
	var points []PointShape
	for _, p := range n.Points {
		if p.Asks {
			points = append(points, p)
		}
	}
	return points
}
