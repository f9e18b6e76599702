package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/host"
	"lakebed/faults"
)

// mix is the scenario's weights of fault kinds.
func (s *Scenario) mix() (faults.Mix, error) {
	mix, err := faults.ParseMix(s.Faults)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return mix, nil
}

// drawPlan draws what breaks.
func drawPlan(s *Scenario, r *rand.Rand) faults.Plan {
	mix, err := s.mix()
	if err != nil {
		panic(err) // ParseScenario has looked at it
	}
	plan := faults.Draw(r, mix, s.shape())
	if s.Damage {
		return s.aimDamage(plan, r)
	}
	return plan
}

// aimDamage gives each element that damages media the files to strike; see aimAtMedia. A scenario of doubt strikes the journal in the very moment in which
// the bookie is killed, while its newest group is one of few.
func (s *Scenario) aimDamage(plan faults.Plan, r *rand.Rand) faults.Plan {
	var aimed faults.Plan
	for _, e := range plan.Elements {
		if !e.Kind.Damages() || e.Target.Volume == "" {
			aimed.Elements = append(aimed.Elements, e)
			continue
		}
		s.aimAtMedia(&e, func(volume string) string { return damagePath(volume, r) })
		if !s.Doubt {
			aimed.Elements = append(aimed.Elements, e)
			continue
		}
		e.Target.Volume, e.Target.Path, e.Params.Times = bookie.JournalVolume, "*.journal", 1
		visit := faults.Visit{Node: bookieNode, Point: string(bookie.PointAccepted), Nth: 1 + r.Int64N(s.acceptedMax())}
		e.Trigger = faults.Trigger{Visit: &visit}
		aimed.Elements = append(aimed.Elements, e, faults.Element{
			ID: e.ID + "-kill", Kind: faults.Kill, Trigger: e.Trigger, Target: faults.Target{Node: bookieNode},
			Params: faults.Params{RestartAfter: time.Millisecond},
		})
	}
	return aimed
}

// acceptedMax is about how many adds the bookie accepts in a trial.
func (s *Scenario) acceptedMax() int64 {
	return max(int64(s.Clients+s.Remote)*int64(s.work()/s.pace())/3, 1)
}

// damagePath draws a pattern of files of a volume. Empty: any file.
func damagePath(volume string, r *rand.Rand) string {
	patterns := []string{"*.log", "*.log", "*.log", "*.log", "*.log", "*.log", "*.table", ""}
	if volume == bookie.JournalVolume {
		patterns = []string{"*.journal", "*.journal", "*.journal", "*.journal", "*.journal", "*.journal", "*.journal", ""}
	}
	return patterns[r.IntN(len(patterns))]
}

// shape is what there is to break. Points at which a crash is likely to find something are likely to be drawn.
func (s *Scenario) shape() faults.Shape {
	shape := faults.Shape{
		Duration:    s.work(),
		ElementsMin: s.FaultsMin, ElementsMax: s.FaultsMax, OperationsMax: 600, Allowance: s.damageOf(bookieNode),
		Nodes: []faults.NodeShape{{
			Name: bookieNode, Volumes: []string{bookie.JournalVolume, bookie.LedgerVolume}, Points: points(),
		}},
	}
	for i := range s.Remote {
		shape.Peers = append(shape.Peers, remoteNode(i))
	}
	return shape
}

// damageOf allows damage of the only node there is, where the scenario has any. It is part of each shape, and not only of
// the drawing of plans: a plan that was written out is checked against the same allowance.
func (s *Scenario) damageOf(node string) faults.Allowance {
	if !s.Damage {
		return faults.Allowance{}
	}
	return faults.Allowance{Damage: true, Fragile: map[string]bool{node: true}}
}

func points() []faults.PointShape {
	often := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 400}
	}
	rare := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 6}
	}
	return append([]faults.PointShape{
		often(journal.PointGroupWritten, 4), often(journal.PointGroupSynced, 4), often(bookie.PointAccepted, 2),
		rare(journal.PointRolled, 2), rare(journal.PointPrepared, 1), rare(journal.PointTrimmed, 2),
		rare(journal.PointReplayedGroup, 3), rare(journal.PointTornTail, 2), rare(journal.PointSyncFailed, 1),
		rare(entrylog.PointBytesWritten, 3), rare(entrylog.PointBytesSynced, 3), rare(entrylog.PointClosed, 2),
		rare(entrylog.PointRemoved, 2), rare(entrylog.PointRescanned, 2), rare(entrylog.PointOrphan, 1),
		rare(entrylog.PointAbandoned, 1),
		rare(ledgertable.PointWritten, 3), rare(ledgertable.PointSynced, 2), rare(ledgertable.PointSnapshot, 2),
		rare(lastmark.PointWritten, 3),
		rare(bookie.PointSwapped, 2), rare(bookie.PointPublished, 3), rare(bookie.PointTableWritten, 3),
		rare(bookie.PointCheckpointed, 2), rare(bookie.PointReplayed, 3), rare(bookie.PointReplayFlush, 2),
		rare(bookie.PointLimbo, 1), rare(bookie.PointFenceAccepted, 3), rare(bookie.PointFenceDurable, 3),
		rare(bookie.PointDeleted, 2), rare(bookie.PointServing, 1), rare(bookie.PointClosed, 1),
	}, askedPoints(storageQuestions())...)
}

func remoteNode(i int) string { return fmt.Sprintf("client-%d", i+1) }
