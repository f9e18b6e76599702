package trial

import (
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/sim"
	"lakebed/workloads"
)

// drawWorld draws how the world schedules.
func drawWorld(seed uint64, r *rand.Rand) sim.Config {
	c := sim.Config{Seed: seed}
	c.LockYieldPermille = []int{0, 0, 10, 100}[r.IntN(4)]
	c.Policy = []sim.Policy{sim.Random, sim.Random, sim.FIFO, sim.PCT}[r.IntN(4)]
	c.PCTDepth, c.PCTSteps = 1+r.IntN(4), 30_000
	if r.IntN(3) == 0 {
		c.DelayPermille, c.DelayMax = 1+r.IntN(20), time.Duration(1+r.IntN(5))*time.Millisecond
	}
	c.MaxEvents = 3_000_000
	return c
}

// drawBookie draws a configuration in which files roll, caches fill and logs close within some hundred operations.
func drawBookie(s *Scenario, r *rand.Rand) bookie.Config {
	c := bookie.DefaultConfig()
	c.BookieID = bookieNode + ":3181"
	c.EntryBytesMax, c.BatchBytesMax = 4<<10, 8<<10
	c.Journal.GroupBytesMax = int64(2+r.IntN(14)) << 10
	c.Journal.FileBytes = int64(96+8*r.IntN(12)) << 10
	c.Journal.Sync, c.Journal.SparesMax = journal.SyncGroup, r.IntN(4)
	if r.IntN(5) == 0 {
		c.Journal.Sync = journal.SyncAlways
	}
	if s.Sync != "" {
		c.Journal.Sync = journal.SyncMode(s.Sync)
	}
	c.ChunkBytes = (1 + r.IntN(4)) << 10
	c.WriteCacheBytesMax = int64(16+8*r.IntN(12)) << 10
	c.SlowestDelay = time.Duration(1+r.IntN(20)) * time.Millisecond
	c.EntryLog.LogBytesMax = int64(24+8*r.IntN(10)) << 10
	c.EntryLog.ItemsMax = 50 + r.IntN(600)
	c.EntryLog.GroupBytes = (1 + r.IntN(8)) << 10
	c.EntryLog.IndexCacheBytesMax = int64(4+4*r.IntN(4)) << 10
	c.EntryLog.ReadCacheBytesMax = int64(r.IntN(3)) * 8 << 10
	c.EntryLog.ReadAheadEntries = r.IntN(30)
	c.EntryLog.ReadAheadBytesMax = (1 + r.IntN(8)) << 10
	c.CheckpointInterval = time.Duration(50+r.IntN(500)) * time.Millisecond
	c.RetryPause = time.Duration(10+r.IntN(100)) * time.Millisecond
	return c
}

// drawGroupWait has groups of the journal wait for more batches: a batch that comes alone is acknowledged as late as the wait's end, and a
// crash meets more that is not. It draws from a stream of its own, and nothing where the scenario does not ask for it.
func drawGroupWait(s *Scenario, c *bookie.Config, r *rand.Rand) {
	if s.GroupWaits {
		c.Journal.GroupWait = []time.Duration{0, time.Millisecond, 4 * time.Millisecond, 10 * time.Millisecond}[r.IntN(4)]
	}
}

// generationsAtOnce is how many halves of the write cache may be in hand at once: one that fills, one that is flushed, and those
// that a slow journal or a slow reader holds on to.
const generationsAtOnce = 8

// handsBytes is what clients and connections have in hand of one bookie beside its caches: answers, batches, and ranges.
const handsBytes = 256 << 10

// memoryAllowed is how many bytes of buffers a bookie of these settings may have in hand. It is generous: what breaks a bound of
// the settings passes it, since nothing else stops it.
func memoryAllowed(c *bookie.Config) int64 {
	return generationsAtOnce*c.WriteCacheBytesMax/2 + c.EntryLog.IndexCacheBytesMax + c.EntryLog.ReadCacheBytesMax + handsBytes
}

// bookieMemoryAllowed is the same for a bookie of a cluster: its store, what as many connections as it takes may hold, and what
// has been read for all of them. It is some times what any sound bookie was seen to hold.
func bookieMemoryAllowed(c *node.Config) int64 {
	s := &c.Server
	connection := int64(s.InputBufferBytes+c.Store.EntryBytesMax+s.OutputBytes) + int64(s.BatchesMax)*s.BatchBytesMax
	return memoryAllowed(&c.Store) + int64(s.ConnectionsMax)*connection + 2*s.AnswersBytesMax
}

// drawScrub draws a scrubber that reads everything several times in a trial. Where media are damaged there always is one.
func drawScrub(s *Scenario, r *rand.Rand) bookie.ScrubConfig {
	millis := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low+1)) * time.Millisecond }
	c := bookie.DefaultScrubConfig()
	c.Period, c.FirstAfter, c.YieldMax = millis(10, 150), millis(0, 50), millis(0, 20)
	c.BytesPerSecond, c.FlawsMax = int64(1+r.IntN(16))<<20, 1+r.IntN(40)
	if !s.Damage && r.IntN(3) > 0 {
		c.Period = 0
	}
	return c
}

// drawMix draws the clients' sizes, and takes some kinds of work away: a rare state needs a workload that is not
// average.
func drawMix(s *Scenario, r *rand.Rand) workloads.Mix {
	m := s.Work.workMix()
	for _, weight := range []*int{&m.AddBatch, &m.Recover, &m.Retry, &m.ReadRange, &m.Fence, &m.Delete, &m.Flush} {
		if r.IntN(5) == 0 {
			*weight = 0
		}
	}
	m.PayloadBytesMax = []int{50, 400, 1500, 3900}[r.IntN(4)]
	m.BatchMax = 1 + r.IntN(12)
	for m.BatchMax*(m.PayloadBytesMax+64) > 8<<10 {
		m.BatchMax--
	}
	m.LedgerEntries = []int{5, 30, 200}[r.IntN(3)]
	m.Stride = 1 + r.IntN(3)
	m.RetryFirst = !s.Damage
	return m
}
