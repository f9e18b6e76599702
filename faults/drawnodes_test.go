package faults

import (
	"slices"
	"testing"
	"time"
)

// manyNodes is a world of a store, three holders that matter more, and two callers that know only the holders.
func manyNodes() Shape {
	holder := func(name string) NodeShape {
		return NodeShape{Name: name, Weight: 4, Volumes: []string{testVolume}, Points: []PointShape{{Point: "held." + name}}}
	}
	caller := func(name string) NodeShape {
		return NodeShape{Name: name, Points: []PointShape{{Point: "called"}}, Peers: []string{"h1", "h2", "h3", "store"}}
	}
	return Shape{
		Duration: time.Second, ElementsMin: 40, ElementsMax: 40,
		Nodes: []NodeShape{{Name: "store"}, holder("h1"), holder("h2"), holder("h3"), caller("c1"), caller("c2")},
	}
}

// TestNodesAreStruckByWeight: a heavy node several times as often as a light one, and every node at some time.
func TestNodesAreStruckByWeight(t *testing.T) {
	struck := map[string]int{}
	for seed := uint64(1); seed <= 400; seed++ {
		for _, e := range draw(seed, manyNodes()).Elements {
			if e.Kind == Kill || e.Kind == Pause {
				struck[e.Target.Node]++
			}
		}
	}
	for _, light := range []string{"store", "c1", "c2"} {
		for _, heavy := range []string{"h1", "h2", "h3"} {
			if ratio := float64(struck[heavy]) / float64(max(struck[light], 1)); ratio < 2.5 || ratio > 6 {
				t.Errorf("%s was struck %.1f times as often as %s: %v", heavy, ratio, light, struck)
			}
		}
	}
}

// TestLinksAreThoseThatThereAre: two callers never talk to each other, so no element breaks a link between them.
func TestLinksAreThoseThatThereAre(t *testing.T) {
	links := 0
	for seed := uint64(1); seed <= 100; seed++ {
		for _, e := range draw(seed, manyNodes()).Elements {
			if e.Target.Peer == "" {
				continue
			}
			links++
			if e.Target.Node[0] == 'c' && e.Target.Peer[0] == 'c' {
				t.Fatalf("seed %d breaks the link from %s to %s", seed, e.Target.Node, e.Target.Peer)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d elements at links", links)
	}
}

// TestANodeAlsoBreaksInTheMiddleOfWhatAnotherDoes: some elements, not most, wait for a visit of another node than the
// one they strike.
func TestANodeAlsoBreaksInTheMiddleOfWhatAnotherDoes(t *testing.T) {
	own, foreign := 0, 0
	for seed := uint64(1); seed <= 100; seed++ {
		for _, e := range draw(seed, manyNodes()).Elements {
			if e.Trigger.Visit == nil || e.Target.Node == "" {
				continue
			}
			if e.Trigger.Visit.Node == e.Target.Node {
				own++
			} else {
				foreign++
			}
		}
	}
	if foreign == 0 || own < 3*foreign {
		t.Errorf("%d elements wait for their own node, %d for another", own, foreign)
	}
	single := testShape(time.Second)
	single.Nodes = slices.Clip(single.Nodes[:1])
	for seed := uint64(1); seed <= 30; seed++ {
		for _, e := range draw(seed, single).Elements {
			if e.Trigger.Visit != nil && e.Trigger.Visit.Node != "a" {
				t.Errorf("seed %d waits for node %s, which is not there", seed, e.Trigger.Visit.Node)
			}
		}
	}
}
