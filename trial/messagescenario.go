package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/faults"
	"lakebed/workloads/messages"
)

const brokerNode = "broker"

// CommitLog makes a scenario one of a single commit log.
type CommitLog struct {
	// Flush is the flush mode; empty: as the seed says.
	Flush string `toml:"flush"`
	// Promise is the flush mode that is promised; empty: Flush. A canary promises more than it does.
	Promise string      `toml:"promise"`
	Work    MessageWork `toml:"work"`
}

// MessageWork is what clients do, by weight.
type MessageWork struct {
	Send    int `toml:"send"`
	SendTo  int `toml:"send_to"`
	Pull    int `toml:"pull"`
	PullTag int `toml:"pull_tag"`
	Tail    int `toml:"tail"`
	Query   int `toml:"query"`
	Time    int `toml:"time"`
	Clean   int `toml:"clean"`
}

func (s *Scenario) checkCommitLog() error {
	w := &s.CommitLog.Work
	switch {
	case s.Cluster != nil || s.Segments != nil || s.Doubt || s.Lifted || s.Work != (Work{}):
		return fmt.Errorf("scenario %s: cluster, segments, doubt, lifted and work are not those of a commit log", s.Name)
	case min(w.Pull, w.PullTag, w.Tail, w.Query, w.Time, w.Clean) < 0 || w.Send < 1 || w.SendTo < 1:
		return fmt.Errorf("scenario %s: no weight may be negative, and somebody must send", s.Name)
	}
	for _, mode := range []string{s.CommitLog.Flush, s.CommitLog.Promise} {
		c := commitlog.DefaultConfig()
		if c.Flush = commitlog.FlushMode(mode); mode != "" && c.Validate() != nil {
			return fmt.Errorf("scenario %s: flush mode %q", s.Name, mode)
		}
	}
	return nil
}

// drawCommitLog draws a configuration in which files roll and go within some hundred operations.
func drawCommitLog(s *Scenario, r *rand.Rand) commitlog.Config {
	c := commitlog.DefaultConfig()
	pick := func(n int) int { return r.IntN(n) }
	c.BodyBytesMax, c.PropertiesMax = 2<<10, 256
	c.FileBytes = int64(4+4*pick(10)) << 10
	c.Preallocation = []series.Preallocation{series.Sparse, series.Fallocated, series.ZeroFilled, series.Recycled}[pick(4)]
	c.SparesMax, c.RetryPause = pick(4), time.Duration(5+pick(50))*time.Millisecond
	c.Flush = []commitlog.FlushMode{commitlog.FlushGroup, commitlog.FlushGroup, commitlog.FlushAlways, commitlog.FlushInterval, commitlog.FlushNever}[pick(5)]
	if s.Remote > 0 && c.Flush != commitlog.FlushAlways {
		c.Flush = commitlog.FlushGroup // what a power cut may take back is told by calls, and those of others last through one
	}
	if s.CommitLog.Flush != "" {
		c.Flush = commitlog.FlushMode(s.CommitLog.Flush)
	}
	c.FlushInterval = time.Duration(2+pick(100)) * time.Millisecond
	c.GroupBytesMax = int64(1+pick(8)) << 10
	c.QueuesPerTopic = int32(1 + pick(4))
	c.QueueFileUnits = int64([]int{5, 16, 150, 300}[pick(4)])
	c.AckAfterDispatch = pick(2) == 0
	c.DispatchBytes = 1 << (9 + pick(6))
	c.CheckpointInterval = time.Duration(20+pick(300)) * time.Millisecond
	c.CheckpointBytes, c.PendingUnitsMax = int64(4+pick(60))<<10, int64(5+pick(300))
	c.OpenFilesMax = 1 + pick(8)
	c.PullBytesMax, c.PullCountMax, c.ScanUnitsMax = int64(200+pick(8000)), 1+pick(32), 1+pick(100)
	c.ReadAheadMin, c.ReadAheadMax = int64(pick(2000)), int64([]int{0, 1000, 20_000}[pick(3)])
	c.SuspendedMax = []int{1, 100}[pick(2)]
	c.IndexSlots, c.IndexEntries = int32(1+pick(40)), int32([]int{10, 60, 300}[pick(3)])
	c.Retention.Interval = time.Duration(20+pick(500)) * time.Millisecond
	c.Retention.Age = time.Duration(50+pick(3000)) * time.Millisecond
	c.Retention.DeleteHours = nil
	if pick(3) > 0 {
		for hour := range 24 {
			c.Retention.DeleteHours = append(c.Retention.DeleteHours, hour)
		}
	}
	if pick(5) == 0 { // a start has much to read, and retention must wait for checkpoints
		c.CheckpointInterval, c.CheckpointBytes, c.PendingUnitsMax = 10*time.Second, 1<<20, 10_000
	}
	c.ZeroAheadBytes = []int64{0, 4 << 10, 64 << 10}[pick(3)]
	c.GroupWait = []time.Duration{0, 0, 0, time.Millisecond, 10 * time.Millisecond}[pick(5)]
	c.DispatchPause = []time.Duration{0, time.Millisecond, 20 * time.Millisecond}[pick(3)]
	c.IndexSnapshotEntries = int32(1 + pick(40))
	if pick(3) == 0 {
		c.UncheckedBytesMax = c.CheckpointBytes + c.GroupBytesMax + int64(pick(8<<10))
	}
	return c
}

// drawSpace gives some stores a disk that their messages fill, and the levels at which they must have it emptied. Zero: there
// is room for all.
func drawSpace(c *commitlog.Config, r *rand.Rand) (capacity int64) {
	if r.IntN(4) > 0 {
		return 0
	}
	c.CheckpointInterval, c.CheckpointBytes = min(c.CheckpointInterval, 300*time.Millisecond), min(c.CheckpointBytes, 64<<10) // a start copies so much
	c.Retention.DiskMaxUsed, c.Retention.DiskForcibly, c.Retention.DiskWarning = 0.5, 0.6, 0.75
	return 512<<10 + 16*c.FileBytes
}

// drawMessageMix draws the clients' sizes.
func drawMessageMix(s *Scenario, config *commitlog.Config, r *rand.Rand) messages.Mix {
	w := &s.CommitLog.Work
	return messages.Mix{
		Send: w.Send, SendTo: w.SendTo, Pull: w.Pull, PullTag: w.PullTag, Tail: w.Tail, Query: w.Query, Time: w.Time, Clean: w.Clean,
		Topics: 1 + r.IntN(4), Queues: config.QueuesPerTopic, BodyMax: []int{1, 100, 600, 1900}[r.IntN(4)], TailMillis: r.IntN(80),
	}
}

// messageShape is what there is to break.
func (s *Scenario) messageShape() faults.Shape {
	shape := faults.Shape{
		Duration: s.work(), ElementsMin: s.FaultsMin, ElementsMax: s.FaultsMax, OperationsMax: 600, Allowance: s.damageOf(brokerNode),
		Nodes: []faults.NodeShape{{Name: brokerNode, Volumes: []string{commitlog.StoreVolume}, Points: messagePoints()}},
	}
	if s.Remote > 0 {
		shape.Nodes[0].Points = append(shape.Nodes[0].Points, serverPoints()...)
	}
	for i := range s.Remote {
		shape.Peers = append(shape.Peers, remoteNode(i))
	}
	return shape
}

// messagePoints are those of a commit log, with how likely a crash is to find something there.
func messagePoints() []faults.PointShape {
	often := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 300}
	}
	rare := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 6}
	}
	return append([]faults.PointShape{
		often(commitlog.PointWritten, 4), often(commitlog.PointSynced, 4), often(commitlog.PointDispatched, 3),
		rare(commitlog.PointRolled, 3), rare(commitlog.PointCheckpointed, 3), rare(commitlog.PointRecovered, 3),
		rare(commitlog.PointTornTail, 2), rare(commitlog.PointRewritten, 3), rare(commitlog.PointFailed, 1),
		rare(commitlog.PointRefused, 1), rare(commitlog.PointClosed, 1), rare(commitlog.PointSuspended, 1),
		rare(series.PointPrepared, 2), rare(series.PointRecycled, 2), rare(series.PointRemoved, 3), rare(series.PointCut, 3),
		rare(consumequeue.PointWritten, 3), rare(consumequeue.PointSynced, 3), rare(consumequeue.PointRemoved, 2),
		rare(keyindex.PointClosed, 2),
	}, askedPoints(messageQuestions())...)
}

// messageMarks are the rare states that trials of commit logs exist for, and that twenty of them reach surely.
func messageMarks() []host.Point {
	return []host.Point{
		commitlog.PointRolled, commitlog.PointTornTail, commitlog.PointRewritten, commitlog.PointFailed,
		commitlog.PointClosed, commitlog.PointSuspended, commitlog.PointWoken, commitlog.PointRefused,
		series.PointPrepared, series.PointCut, consumequeue.PointSynced, keyindex.PointClosed,
	}
}
