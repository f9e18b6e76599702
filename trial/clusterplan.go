package trial

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/sim/disk"
)

// Nodes of a cluster's world.
const (
	metadataNode    = "metadata"
	metadataAddress = metadataNode + ":2181"
	verifierNode    = "verifier"
)

func bookieName(i int) string      { return fmt.Sprintf("bookie-%d", i) }
func bookieAddressOf(i int) string { return bookieName(i) + ":3181" }
func clientName(i int) string      { return fmt.Sprintf("client-%d", i) }

// How often nodes are struck: holders of data are what the promises are about.
const (
	bookieWeight   = 4
	clientWeight   = 2
	metadataWeight = 2
)

// clusterShape is what there is to break in a cluster: every node, the links that carry anything, and the moments in
// which a crash is likely to find something.
func clusterShape(s *Scenario, bookies int, allowance faults.Allowance) faults.Shape {
	shape := faults.Shape{
		Duration: s.work(), ElementsMin: s.FaultsMin, ElementsMax: s.FaultsMax, OperationsMax: 200, Allowance: allowance,
		Aims: clusterAims(), AimedPercent: s.Cluster.AimedPercent,
	}
	var holders, clients []string
	for i := range bookies {
		holders = append(holders, bookieName(i))
	}
	for i := range s.Clients {
		clients = append(clients, clientName(i))
	}
	shape.Nodes = append(shape.Nodes, faults.NodeShape{
		Name: metadataNode, Weight: metadataWeight, Peers: slices.Concat(clients, holders),
	})
	for _, name := range holders {
		shape.Nodes = append(shape.Nodes, faults.NodeShape{
			Name: name, Weight: bookieWeight, Volumes: []string{bookie.JournalVolume, bookie.LedgerVolume}, Points: bookiePoints(),
			Peers: slices.Concat(clients, []string{metadataNode}),
		})
	}
	for _, name := range clients {
		shape.Nodes = append(shape.Nodes, faults.NodeShape{
			Name: name, Weight: clientWeight, Points: clientPoints(), Peers: slices.Concat(holders, []string{metadataNode}),
		})
	}
	return shape
}

// drawClusterPlan draws what breaks in a cluster.
func drawClusterPlan(s *Scenario, shape faults.Shape, r *rand.Rand) faults.Plan {
	mix, err := s.mix()
	if err != nil {
		panic(err) // ParseScenario has looked at it
	}
	plan := faults.Draw(r, mix, shape)
	for i := range plan.Elements {
		if e := &plan.Elements[i]; e.Kind.Damages() && e.Target.Volume != "" {
			s.aimAtMedia(e, func(volume string) string { return damagePath(volume, r) })
			if a := &shape.Allowance; a.Ask && !a.Fragile[e.Target.Node] {
				e.Target.Volume, e.Target.Path = bookie.LedgerVolume, "*.log" // the atlas grants nothing else
			}
		}
	}
	if s.Cluster.BlackoutOneIn > 0 && r.IntN(s.Cluster.BlackoutOneIn) == 0 {
		plan.Elements = append(plan.Elements, drawBlackout(s, shape, r)...)
	}
	return plan
}

// drawBlackout cuts the power of most or all bookies at one moment, as when a building loses it. Nothing that was synced
// is lost, so every promise holds; but all holders of an entry come back in doubt about their last bytes, and nobody is
// left who could say what is absent.
func drawBlackout(s *Scenario, shape faults.Shape, r *rand.Rand) []faults.Element {
	moment := faults.Trigger{At: s.work()/5 + time.Duration(r.Int64N(int64(s.work()/2)))}
	if r.IntN(4) > 0 { // in the middle of a bookie's commit, while others that got the same entries are at it too
		witness := shape.Nodes[1+r.IntN(len(shape.Nodes)-1-s.Clients)]
		moment = faults.Trigger{Visit: &faults.Visit{Node: witness.Name, Point: string(journal.PointGroupWritten), Nth: 5 + r.Int64N(80)}}
	}
	spared := r.IntN(2) * r.IntN(8)
	var cuts []faults.Element
	for i, n := range shape.Nodes {
		if len(n.Volumes) == 0 || i == spared {
			continue
		}
		cuts = append(cuts, faults.Element{
			ID: "blackout-" + n.Name, Kind: faults.PowerCut, Trigger: moment, Target: faults.Target{Node: n.Name},
			Params: faults.Params{Survival: disk.Torn, RestartAfter: time.Duration(r.Int64N(int64(blackoutMax)))},
		})
	}
	return cuts
}

// blackoutMax is until when the bookies are up again.
const blackoutMax = 60 * time.Millisecond

// bookiePoints are those of a lone bookie, with those at which another node waits for its answer.
func bookiePoints() []faults.PointShape {
	all := append(points(), askedPoints(serverQuestions())...)
	return append(all,
		faults.PointShape{Point: string(server.PointFenceRead), Weight: 6, VisitsMax: 24},
		faults.PointShape{Point: string(bookie.PointRefusedFenced), Weight: 3, VisitsMax: 6},
		faults.PointShape{Point: string(journal.PointUndecided), Weight: 1, VisitsMax: 3},
	)
}

// clientPoints are the moments in which a ledger's fate is decided.
func clientPoints() []faults.PointShape {
	rare := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 8}
	}
	return append([]faults.PointShape{
		{Point: string(client.PointAcked), Weight: 4, VisitsMax: 100},
		rare(client.PointClosed, 4), rare(client.PointEnsembleChanged, 5), rare(client.PointRecoveryEnsemble, 3),
		rare(client.PointRecoveryStarted, 6), {Point: string(client.PointRecoveryReadd), Weight: 5, VisitsMax: 24},
		{Point: string(client.PointResent), Weight: 3, VisitsMax: 24},
		rare(client.PointFenced, 2), rare(client.PointCASUnknown, 2), rare(client.PointCASConflict, 2),
		rare(client.PointReadFailover, 1), rare(channel.PointTimedOut, 1),
	}, askedPoints(clientQuestions())...)
}
