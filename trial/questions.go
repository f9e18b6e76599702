package trial

import (
	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/faults"
	"lakebed/model"
	"lakebed/sim"
)

// What follows are all points at which the engine asks the world whether to take a rare branch (host.Probe.Perhaps). A yes
// is a mark of the point's name, so that a campaign tells which branches nobody ever took.

// storageQuestions are those of a bookie's storage.
func storageQuestions() []host.Point {
	return []host.Point{
		bookie.PointCheckpointNow, bookie.PointHoldNow, bookie.PointSlowNow, bookie.PointReplayFlushNow, bookie.PointLookUpFew,
		journal.PointSealNow, journal.PointRollNow, journal.PointDropSpare,
		entrylog.PointCloseNow, entrylog.PointGroupNow, entrylog.PointReadPastAhead, entrylog.PointReadPastBlocks,
		entrylog.PointReadAheadLess, entrylog.PointReadLess, ledgertable.PointSnapshotNow,
	}
}

// serverQuestions are those of a bookie's connections.
func serverQuestions() []host.Point {
	return []host.Point{server.PointSubmitNow, server.PointFlushNow, server.PointBatchOfOne}
}

// clientQuestions are those of a client of ledgers.
func clientQuestions() []host.Point {
	return []host.Point{
		client.PointSettleNow, client.PointPostNow, client.PointSpeculateNow, client.PointBatchLess, client.PointReadBesides,
		client.PointRefreshNow, pool.PointParkNow, pool.PointAvoidNow, channel.PointSweepNow,
		metadata.PointRetryNow, metadata.PointGiveUpNow, metadata.PointBlockNow,
	}
}

// segmentsQuestions are those of a segment log.
func segmentsQuestions() []host.Point {
	return []host.Point{partition.PointSealNow, partition.PointReadLess}
}

// messageQuestions are those of a commit log.
func messageQuestions() []host.Point {
	return []host.Point{
		commitlog.PointCheckpointNow, commitlog.PointRollNow, commitlog.PointDispatchLess, commitlog.PointPullLess,
	}
}

// seldomAsked are questions that a node asks a few times in a trial: a plan that answers the fourth is too late.
func seldomAsked(p host.Point) bool {
	return p == metadata.PointRetryNow || p == metadata.PointGiveUpNow
}

// perhaps has the plan answer a question, and marks a yes.
func perhaps(d *faults.Driver, marks *model.Marks, n *sim.Node, p host.Point) bool {
	yes := d.Perhaps(n, string(p))
	if yes {
		marks.Hit(string(p))
	}
	return yes
}

// askedPoints makes points of questions. A plan may answer them, or crash the node there.
func askedPoints(questions []host.Point) []faults.PointShape {
	var shapes []faults.PointShape
	for _, p := range questions {
		shape := faults.PointShape{Point: string(p), Weight: 1, VisitsMax: 400, Asks: true}
		if seldomAsked(p) {
			shape.Weight, shape.VisitsMax = 4, 3
		}
		shapes = append(shapes, shape)
	}
	return shapes
}
