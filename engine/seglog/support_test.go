package seglog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const topic = "access.log"

// smallConfig is a store of three directories whose bounds are reached soon.
func smallConfig() seglog.Config {
	c := seglog.DefaultConfig()
	c.Partition.PadBytes = 0 // these tests count bytes; trials draw it
	c.Volumes = []string{"disk0", "disk1", "disk2"}
	c.Partition.GroupBytesMax, c.Partition.BatchBytesMax, c.Partition.MessageBytesMax = 2000, 4000, 1000
	c.Partition.SegmentBytes, c.Partition.IndexBytes, c.Partition.IndexItemsMax = 8000, 500, 200
	c.Partition.UnsealedMax, c.Partition.CheckpointBytes, c.Partition.CheckpointBytesMin = 1, 4000, 500
	c.FilesMax = 8
	c.TimeUnit, c.FutureMax = time.Millisecond, time.Hour
	c.LookInterval, c.WatchInterval, c.CommitPatience = 10*time.Second, 200*time.Millisecond, time.Second
	c.ReadmitPause, c.ReadmitMax, c.FreeBytesMin = 500*time.Millisecond, 4*time.Second, 1<<20
	return c
}

// payload is a list of one group with this time.
func payload(at seglog.Time, text string) []byte {
	return message.Append(nil, []message.Group{{Time: at, Source: []byte("test"), Payload: []byte(text)}})
}

// now is the time of a message that is sent now.
func now(h host.Host) seglog.Time { return seglog.Time(int64(h.Now()) / int64(time.Millisecond)) }

// bench is a world with a node that has the store's disks.
type bench struct {
	t      *testing.T
	world  *sim.World
	node   *sim.Node
	config seglog.Config
	faults map[string]func(op *sim.DiskOp) sim.DiskEffect // by volume
	before map[int]func()                                 // a life, counted from 1
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, world: sim.New(sim.Config{Seed: 7}), config: smallConfig(), faults: map[string]func(*sim.DiskOp) sim.DiskEffect{}, before: map[int]func(){}}
	b.node = b.world.NewNode("node")
	for _, v := range b.config.Volumes {
		b.node.Disk(v).Format(disk.Config{Capacity: 64 << 20, SparesSynced: true})
		b.node.Disk(v).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if f := b.faults[v]; f != nil {
				return f(op)
			}
			return sim.DiskEffect{}
		})
	}
	return b
}

// lives runs one life after the other, each with a store, and ends each cleanly.
func (b *bench) lives(lives ...func(h host.Host, s *seglog.Store) error) {
	b.t.Helper()
	next := 0
	start := func() {
		life := lives[next]
		next++
		if f := b.before[next]; f != nil {
			f()
		}
		b.node.Start(func(h host.Host) error {
			s, err := seglog.Open(h, h.Root(), b.config)
			if err != nil {
				return err
			}
			err = errors.Join(life(h, s), s.Close())
			if n := h.Memory().InUse(); err == nil && n != 0 {
				err = fmt.Errorf("%d bytes of buffers are left", n)
			}
			return err
		})
	}
	b.node.OnExit(func(err error, crashed bool) {
		if err != nil {
			b.t.Errorf("life %d: %v", next, err)
		}
		if next < len(lives) {
			b.world.At(time.Millisecond, start)
		}
	})
	start()
	if v := b.world.Run(24 * time.Hour); v.Failed() {
		b.t.Fatal(v.String())
	}
}

// all reads a partition from its first message on.
func all(s *seglog.Store, number int) (first seglog.Cursor, texts []string, err error) {
	first, next, err := s.Bounds(topic, number)
	for c := first; err == nil && c < next; {
		var batch seglog.Batch
		if batch, err = s.Read(topic, number, c, seglog.Limits{Messages: 10, Bytes: 1000}); err != nil {
			break
		}
		for _, e := range batch.Entries {
			groups, parsed := message.Parse(e.Payload)
			if parsed != nil {
				return first, nil, parsed
			}
			texts = append(texts, string(groups[0].Payload))
		}
		c = batch.Next
		batch.Release()
	}
	return first, texts, err
}

// fill appends so many messages to partitions that the store chooses, and counts them.
func fill(h host.Host, s *seglog.Store, count int) (byPartition map[int]int, err error) {
	byPartition = map[int]int{}
	for i := range count {
		placed, err := s.Append(topic, seglog.Balanced, payload(now(h), fmt.Sprint("filled ", i)))
		if err != nil {
			return byPartition, err
		}
		byPartition[placed.Partition]++
	}
	return byPartition, nil
}

// awaitService waits until so many directories are ejected.
func awaitService(h host.Host, s *seglog.Store, ejected int) error {
	for end := h.Elapsed() + time.Minute; len(s.Ejected()) != ejected; h.Root().Sleep(50 * time.Millisecond) {
		if h.Elapsed() > end {
			return fmt.Errorf("%d directories are ejected, want %d: %v", len(s.Ejected()), ejected, s.Ejected())
		}
	}
	return nil
}
