package trial

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/faults"
	"lakebed/sim/disk"
	"lakebed/workloads/segments"
)

// Segments makes a scenario one of a single segment log over several volumes, with its clients in its process.
type Segments struct {
	VolumesMax    int `toml:"volumes_max"`    // each seed draws how many there are
	PartitionsMax int `toml:"partitions_max"` // and so with partitions
	// Placement fixes who chooses the partition of an append: PlaceNamed or PlaceBalanced. Empty: each seed draws it.
	Placement string `toml:"placement"`

	Work SegmentsWork `toml:"work"`
}

// The values of Segments.Placement.
const (
	PlaceNamed    = "named"
	PlaceBalanced = "balanced"
)

// SegmentsWork is what clients do, by weight.
type SegmentsWork struct {
	Append int `toml:"append"`
	Read   int `toml:"read"`
	Tail   int `toml:"tail"`
	Seek   int `toml:"seek"`
	Bounds int `toml:"bounds"`
	Look   int `toml:"look"` // of retention
}

func (s *Scenario) checkSegments() error {
	g := s.Segments
	w := g.Work
	switch {
	case g.VolumesMax < 1 || g.PartitionsMax < 1:
		return fmt.Errorf("scenario %s: volumes_max and partitions_max must be positive", s.Name)
	case g.Placement != "" && g.Placement != PlaceNamed && g.Placement != PlaceBalanced:
		return fmt.Errorf("scenario %s: placement %q: want named or balanced, or none", s.Name, g.Placement)
	case min(w.Read, w.Tail, w.Seek, w.Bounds, w.Look) < 0 || w.Append < 1:
		return fmt.Errorf("scenario %s: no weight may be negative, and somebody must append", s.Name)
	case s.Doubt || s.Lifted || s.Remote > 0 || s.Work != (Work{}) || s.Cluster != nil:
		return fmt.Errorf("scenario %s: doubt, lifted, remote_clients, work and cluster are those of bookies", s.Name)
	}
	return nil
}

// segmentsNode is the node of the store, and timeUnit the unit of its messages' times.
const (
	segmentsNode = "store"
	timeUnit     = time.Millisecond
)

// segmentsDraw is everything that a seed decides about a segment log before anything happens.
type segmentsDraw struct {
	config     seglog.Config
	topic      seglog.TopicConfig
	mix        segments.Mix
	device     disk.Config
	durable    bool // what is acknowledged survives, or is said to
	partitions int
}

// drawSegments draws a store whose segments roll and whose files are closed within some hundred operations.
func drawSegments(s *Scenario, r *rand.Rand) segmentsDraw {
	d := segmentsDraw{config: seglog.DefaultConfig(), durable: true}
	c := &d.config
	c.Volumes = nil
	for i := range 1 + r.IntN(s.Segments.VolumesMax) {
		c.Volumes = append(c.Volumes, fmt.Sprintf("disk%d", i))
	}
	d.partitions = 1 + r.IntN(s.Segments.PartitionsMax)
	d.drawPartition(s, r)
	c.FilesMax = 2 + r.IntN(12)
	c.SyncInterval = time.Duration(20+r.IntN(80)) * time.Millisecond
	c.LookInterval = time.Duration(50+r.IntN(400)) * time.Millisecond
	c.TimeUnit, c.FutureMax = timeUnit, 3*time.Hour
	c.CommitPatience = time.Duration(50+r.IntN(500)) * time.Millisecond
	c.WatchInterval = 50 * time.Millisecond
	c.ReadmitPause = time.Duration(10+r.IntN(100)) * time.Millisecond
	c.ReadmitMax = c.ReadmitPause * 8
	c.FreeBytesMin = 1 << 20
	d.topic = seglog.TopicConfig{Partitions: d.partitions, Retention: seglog.Retention{Period: 1000 * time.Hour}}
	switch r.IntN(4) {
	case 0:
		d.topic.Retention.Period = time.Duration(100+r.IntN(900)) * time.Millisecond
	case 1:
		d.topic.Retention.BytesMax = c.Partition.SegmentBytes * int64(1+r.IntN(4))
	case 2:
		d.topic.Retention.Period = time.Duration(100+r.IntN(900)) * time.Millisecond
		d.topic.Retention.BytesMax = c.Partition.SegmentBytes * int64(1+r.IntN(4))
	}
	d.drawWork(s, r)
	c.Partition.Committer = []partition.Committer{partition.CommitterDefault, partition.ByAppender, partition.ByTask}[r.IntN(3)]
	c.Partition.ZeroAheadBytes = []int64{0, 8 << 10, 64 << 10}[r.IntN(3)]
	return d
}

// drawPartition draws the settings of segments, and the device for which they are right.
func (d *segmentsDraw) drawPartition(s *Scenario, r *rand.Rand) {
	p := &d.config.Partition
	p.Sync = []partition.SyncMode{
		partition.SyncGroup, partition.SyncGroup, partition.SyncGroup, partition.SyncAlways, partition.SyncInterval, partition.SyncNever,
	}[r.IntN(6)]
	if s.Sync != "" { // and the promise is that of a store that syncs
		p.Sync = partition.SyncMode(s.Sync)
	} else {
		d.durable = p.Sync == partition.SyncGroup || p.Sync == partition.SyncAlways
	}
	p.PadBytes = []int64{0, 512, 4096}[r.IntN(3)]
	d.device = disk.Config{Capacity: 1 << 30, SparesSynced: p.PadBytes == 0}
	p.MessageBytesMax = 1200
	p.BatchBytesMax = 3 << 10
	p.GroupBytesMax = int64(1+r.IntN(4)) << 10
	p.SegmentBytes = p.GroupBytesMax + p.BatchBytesMax + 2*p.PadBytes + int64(1+r.IntN(12))<<10
	p.SegmentAge = time.Duration(100+r.IntN(1500)) * time.Millisecond
	p.IndexBytes = []int64{1, 200, 1000, 4000}[r.IntN(4)]
	group := p.GroupBytesMax + p.BatchBytesMax + 2*p.PadBytes + message.HeaderBytes
	p.IndexItemsMax = int(group/max(p.IndexBytes, message.HeaderBytes)) + 1 + r.IntN(60) // full before the log is, sometimes
	p.ReadChunkBytes = 256 << r.IntN(5)
	p.UnsealedMax = 1 + r.IntN(2)
	p.CheckpointBytesMin = 256 << r.IntN(4)
	p.CheckpointBytes = p.CheckpointBytesMin << r.IntN(5)
	p.GroupWait = []time.Duration{0, 0, 0, time.Millisecond, 10 * time.Millisecond}[r.IntN(5)]
}

func (d *segmentsDraw) drawWork(s *Scenario, r *rand.Rand) {
	w := s.Segments.Work
	d.mix = segments.Mix{
		Append: w.Append, Read: w.Read, Tail: w.Tail, Seek: w.Seek, Bounds: w.Bounds, Look: w.Look,
		PayloadBytesMax: []int{40, 300, 700}[r.IntN(3)], BatchMax: 1 + r.IntN(3), GroupsMax: 1 + r.IntN(3),
		SkewMax: []int{0, 5, 300}[r.IntN(3)], NamedOneIn: r.IntN(4),
	}
	switch s.Segments.Placement { // after it was drawn: other draws stay what they are
	case PlaceNamed:
		d.mix.NamedOneIn = 1
	case PlaceBalanced:
		d.mix.NamedOneIn = 0
	}
	for _, weight := range []*int{&d.mix.Tail, &d.mix.Look, &d.mix.Seek} {
		if r.IntN(5) == 0 {
			*weight = 0
		}
	}
}

// segmentsShape is what there is to break.
func (s *Scenario) segmentsShape(volumes []string) faults.Shape {
	often := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 300}
	}
	rare := func(p host.Point, weight int) faults.PointShape {
		return faults.PointShape{Point: string(p), Weight: weight, VisitsMax: 8}
	}
	return faults.Shape{
		Duration: s.work(), ElementsMin: s.FaultsMin, ElementsMax: s.FaultsMax, OperationsMax: 400, Allowance: s.damageOf(segmentsNode),
		Nodes: []faults.NodeShape{{Name: segmentsNode, Volumes: volumes, Points: append([]faults.PointShape{
			often(partition.PointWritten, 4), often(partition.PointSynced, 4), often(partition.PointAcknowledged, 2),
			rare(partition.PointSealing, 3), rare(partition.PointIndexWritten, 3), rare(partition.PointSealed, 3),
			rare(partition.PointCheckpointing, 3), rare(partition.PointCheckpointed, 3), rare(partition.PointCheckpointUsed, 3),
			rare(partition.PointMissingIndex, 3), rare(partition.PointUnsealedWait, 1),
			rare(partition.PointCreated, 3), rare(partition.PointFailed, 2), rare(partition.PointRestored, 3),
			rare(partition.PointSalvaging, 4), rare(partition.PointSalvaged, 3), rare(partition.PointTornTail, 2),
			rare(partition.PointAdopted, 2), rare(partition.PointRemoving, 3), rare(partition.PointRemoved, 3),
			rare(partition.PointSyncAtOnce, 2), rare(seglog.PointEjected, 2), rare(seglog.PointReadmitted, 3),
			rare(seglog.PointTopicMade, 1), rare(openfiles.PointEvicted, 1), rare(openfiles.PointEvictedDirty, 2),
			rare(partition.PointZeroed, 2), rare(partition.PointZerosFound, 2),
		}, askedPoints(segmentsQuestions())...)}},
	}
}

// segmentsMarks are the rare states that trials of segment logs exist for.
func segmentsMarks() []host.Point {
	return []host.Point{
		partition.PointSealed, partition.PointCheckpointed, partition.PointCheckpointUsed, partition.PointMissingIndex,
		partition.PointFailed, partition.PointRestored, partition.PointSalvaged, partition.PointTornTail,
		partition.PointAdopted, partition.PointRemoved, partition.PointSyncAtOnce, partition.PointOutOfOrder,
		partition.PointZeroed, partition.PointZerosFound,
		seglog.PointEjected, seglog.PointReadmitted, seglog.PointProbeFailed,
		openfiles.PointEvicted, openfiles.PointEvictedDirty,
	}
}
