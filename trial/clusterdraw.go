package trial

import (
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/faults"
	"lakebed/sim"
	"lakebed/trial/oracle"
	"lakebed/workloads/replicated"
)

// clusterDraw is everything that a seed decides about a cluster, before anything happens in it.
type clusterDraw struct {
	quorum    ledger.Quorum
	bookies   int
	world     sim.Config
	disk      sim.DiskProfile
	nodes     []node.Config // of the bookies
	client    client.Config
	sessions  int // in each client
	store     service.ClientConfig
	oracle    oracle.Config
	mix       replicated.Mix
	plan      faults.Plan
	allowance faults.Allowance
}

func drawCluster(o *Options) clusterDraw {
	s, seed := &o.Scenario, o.Seed
	draw := func(name string) *rand.Rand { return sim.Stream(seed, "trial/"+name) }
	var d clusterDraw
	d.drawShape(s, draw("shape"))
	o.Reduction.shape(&d)
	d.world = drawWorld(seed, draw("world"))
	d.world.Net = drawNet(draw("net"))
	d.disk = drawDisk(draw("disk"))
	for i := range d.bookies {
		d.nodes = append(d.nodes, drawNode(s, bookieAddressOf(i), draw(bookieName(i))))
		d.nodes[i].Store.Scrub = drawScrub(s, draw(bookieName(i)+"/scrub"))
		drawGroupWait(s, &d.nodes[i].Store, draw(bookieName(i)+"/group-wait"))
	}
	d.client = drawClient(draw("client"))
	d.store = drawStoreClient(draw("store"))
	d.oracle = drawOracle(draw("oracle"))
	d.mix = d.drawSessions(s, draw("mix"))
	d.sessions = s.Cluster.Sessions
	d.drawCrowd(draw("crowd"))
	o.Reduction.cluster(s, &d)
	d.plan = drawClusterPlan(s, clusterShape(s, d.bookies, d.allowance), draw("plan"))
	return d
}

// drawShape draws the quorums, the spare bookies, and those of them that may lose what they hold.
func (d *clusterDraw) drawShape(s *Scenario, r *rand.Rand) {
	q, err := parseQuorum(s.Cluster.Shapes[r.IntN(len(s.Cluster.Shapes))])
	if err != nil {
		panic(err) // ParseScenario has looked at it
	}
	d.quorum, d.bookies = q, q.Ensemble+1+r.IntN(s.Cluster.SparesMax)
	if !s.Cluster.Fragile {
		return
	}
	var nodes []string
	for i := range d.bookies {
		nodes = append(nodes, bookieName(i))
	}
	d.allowance = faults.DrawFragile(r, nodes, d.awayMax())
	if s.Cluster.PerEntry && d.quorum.Ack > 1 {
		d.allowance.Damage, d.allowance.Ask = true, true
	}
}

// awayMax is how many bookies recovery can do without. Qa-1: among the others of a write set every acknowledged entry has a
// holder, and they are enough to prove that an entry was never acknowledged. To write the tail again, the others must
// be an ensemble, or else every write set must keep an ack quorum.
func (d *clusterDraw) awayMax() int {
	return min(d.quorum.Ack-1, max(d.bookies-d.quorum.Ensemble, d.quorum.Write-d.quorum.Ack))
}

// drawNet draws how long the ways are. On a fast network an entry is on all bookies at about the same time; over long or
// uneven ways it is on some of them while others fence, and that is where the protocol earns its keep.
func drawNet(r *rand.Rand) sim.NetProfile {
	p := sim.LAN()
	switch r.IntN(4) {
	case 0:
		p.LatencyMean = time.Duration(1+r.IntN(4)) * time.Millisecond
	case 1, 2:
		p.TailPermille, p.TailMax = 20+r.IntN(200), time.Duration(2+r.IntN(30))*time.Millisecond
	}
	return p
}

// drawDisk draws how fast the bookies' disks are: a flush of an SSD, or one that takes as long as a rotating disk's.
func drawDisk(r *rand.Rand) sim.DiskProfile {
	p := sim.SSD()
	if r.IntN(3) == 0 {
		p.Sync = time.Duration(1+r.IntN(8)) * time.Millisecond
	}
	return p
}

// drawNode draws a bookie's process.
func drawNode(s *Scenario, address string, r *rand.Rand) node.Config {
	millis := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low+1)) * time.Millisecond }
	c := node.DefaultConfig()
	c.Store = drawBookie(s, r)
	c.Store.BookieID, c.Initialize = address, true
	c.Server = serverConfig(&c.Store)
	c.Server.ConnectionsMax, c.Server.FenceTasks, c.Server.ReadTasks = 32, 1+r.IntN(2), 1+r.IntN(3)
	c.Retry.PauseMin, c.Retry.PauseMax = millis(5, 30), millis(30, 200)
	c.Registration.PauseMin, c.Registration.PauseMax = millis(5, 30), millis(30, 200)
	c.Registration.Look, c.Registration.Timeout = millis(300, 3000), millis(150, 600)
	c.StartTimeout, c.CloseTimeout = millis(150, 600), millis(50, 200)
	c.SettleTimeout = millis(100, 1000)
	return c
}

// drawClient draws a client whose bounds are reached by a handful of appends, and whose timeouts end within the trial.
func drawClient(r *rand.Rand) client.Config {
	millis := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low+1)) * time.Millisecond }
	c := client.DefaultConfig()
	c.AddTimeout, c.ReadTimeout, c.MetadataTimeout = millis(40, 250), millis(40, 250), millis(150, 800)
	c.WindowEntries, c.WindowBytes = 1+r.IntN(16), int64(4+r.IntN(60))<<10
	c.ReadsInFlight, c.ReadEntriesMax = 1+r.IntN(8), 256
	c.BatchReads, c.BatchPause = r.IntN(8) > 0, millis(20, 400)
	c.RecoveryReads = 1 + r.IntN(8)
	c.Ledgers.Retry.AttemptsMax = 3 + r.IntN(8)
	c.Ledgers.Retry.PauseMin = millis(5, 30)
	c.Ledgers.Retry.PauseMax = c.Ledgers.Retry.PauseMin * time.Duration(1+r.IntN(8))
	c.Ledgers.IDBlock = 1 + r.IntN(4)
	c.RetryPauseMin = millis(5, 50)
	c.RetryPauseMax = c.RetryPauseMin * time.Duration(1+r.IntN(8))
	c.PollMin, c.PollMax = millis(100, 150), millis(150, 400)
	c.SpeculativeReadTimeout, c.BatchesInFlight = millis(1, 60), 1+r.IntN(4)

	p := &c.Pool
	p.ConnectTimeout, p.BackoffMin = millis(30, 300), millis(5, 50)
	p.BackoffMax = p.BackoffMin * time.Duration(1+r.IntN(6))
	p.StableAfter, p.SuspectPause = millis(0, 500), millis(0, 400)
	p.ParkedMax, p.ParkedBytesMax, p.BookiesMax = 4+r.IntN(64), int64(8+r.IntN(64))<<10, 16
	p.Channel = channelConfig()
	p.Channel.RequestsMax, p.Channel.OutputBytesMax = 8+r.IntN(64), int64(4+r.IntN(32))<<10
	return c
}

// crowdOneIn is how many seeds share one in which writers crowd, and crowdSessions how many sessions more each client then has.
const (
	crowdOneIn    = 4
	crowdSessions = 3
)

// drawCrowd draws many writers in each client, whose lines to bookies hold less than one of their windows: a line that is
// full says nothing about its bookie.
func (d *clusterDraw) drawCrowd(r *rand.Rand) {
	if r.IntN(crowdOneIn) > 0 {
		return
	}
	p := &d.client.Pool
	p.ParkedMax, p.ParkedBytesMax = 2+r.IntN(6), int64(4+r.IntN(8))<<10
	p.Channel.RequestsMax, p.Channel.OutputBytesMax = 2+r.IntN(3), int64(1+r.IntN(4))<<10
	d.client.WindowEntries = max(d.client.WindowEntries, 4)
	d.mix.Window = max(d.mix.Window, 4)
	d.mix.Write *= 2
	d.sessions += crowdSessions
}

func drawStoreClient(r *rand.Rand) service.ClientConfig {
	millis := func(low, high int) time.Duration { return time.Duration(low+r.IntN(high-low+1)) * time.Millisecond }
	c := service.DefaultClientConfig(metadataAddress)
	c.SessionTimeout = []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second}[r.IntN(3)]
	c.ConnectTimeout, c.WriteStall = millis(50, 300), millis(100, 500)
	c.ReconnectMin = millis(5, 40)
	c.ReconnectMax = c.ReconnectMin * time.Duration(1+r.IntN(8))
	c.RequestsMax, c.CloseTimeout = 1+r.IntN(16), millis(50, 300)
	return c
}

// drawSessions draws the sizes of what sessions do, and takes some kinds of work away: a rare state needs a workload that
// is not average.
func (d *clusterDraw) drawSessions(s *Scenario, r *rand.Rand) replicated.Mix {
	w := s.Cluster.Work
	m := replicated.Mix{
		Write: w.Write, Tail: w.Tail, CatchUp: w.CatchUp, TakeOver: w.TakeOver, Delete: w.Delete, Foreign: w.Foreign,
		Quorum: d.quorum,
	}
	for _, weight := range []*int{&m.Tail, &m.CatchUp, &m.TakeOver, &m.Delete, &m.Delete} {
		if r.IntN(6) == 0 {
			*weight = 0
		}
	}
	m.Digests = []ledger.DigestType{ledger.CRC32C}
	switch r.IntN(4) {
	case 0:
		m.Digests = []ledger.DigestType{ledger.CRC32, ledger.MAC}
	case 1:
		m.Digests = append(m.Digests, ledger.Dummy)
	}
	m.EntriesMax = []int{4, s.Cluster.Entries / 2, s.Cluster.Entries}[r.IntN(3)]
	m.EntriesMax = max(m.EntriesMax, 1)
	m.EntriesMin = 1 + r.IntN(m.EntriesMax)
	m.Window = []int{1, 4, 16}[r.IntN(3)]
	m.PayloadBytesMax = []int{50, 400, 1500, 3000}[r.IntN(4)]
	m.BatchCountMax, m.BatchBytesMax = 1+r.IntN(20), 200+r.IntN(8000)
	m.TailPolls = 2 + r.IntN(10)
	m.LedgersMax = s.Cluster.Ledgers * s.Cluster.Entries / max((m.EntriesMin+m.EntriesMax)/2, 1)
	m.LedgersMax = min(m.LedgersMax, 5*s.Cluster.Ledgers)
	m.Writer.DelayEnsembleChange = r.IntN(2) == 0
	m.Writer.RetryReplacementAfter = 1 + r.IntN(32)
	m.Writer.AckBeforeMetadata = s.Cluster.AckBeforeMetadata
	m.Writer.LACRule = lacRules[s.Cluster.LACRule]
	m.Recovery.ReadsDoNotFence = s.Cluster.UnfencedRecovery
	return m
}
