package bench

import (
	"errors"
	"fmt"
	"time"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial/oracle"
)

// The worlds of clusters: a metadata store, bookies, clients, each on a node of its own.
const (
	ClusterWorld    WorldKind = "cluster"    // trials of the scenario, faults and checkers included
	SteadyWorld     WorldKind = "steady"     // one writer with many appends under way, and no fault
	SequentialWorld WorldKind = "sequential" // one writer with one append under way, always, and no fault
)

const (
	clusterScenario     = "cluster"
	steadyWindow        = 64
	steadyAppends       = 20_000 // of one world
	sequentialAppends   = 4_000
	steadyPayloadBytes  = 100
	steadyBookies       = 6 // one more than the ensemble
	steadyCacheBytes    = 4 << 20
	steadyBookieAddress = "bookie-%d:3181"
)

// steadyQuorum is the shape that goals are set for.
var steadyQuorum = ledger.Quorum{Ensemble: 5, Write: 3, Ack: 2}

// steadyNode is a bookie's process with bounds that keep its disk's content and its memory small.
func steadyNode(i int) bookienode.Config {
	c := bookienode.DefaultConfig()
	c.Initialize = true
	s := &c.Store
	s.BookieID = fmt.Sprintf(steadyBookieAddress, i)
	s.EntryBytesMax, s.BatchBytesMax = 16<<10, 64<<10
	s.Journal.FileBytes, s.Journal.GroupBytesMax = 1<<20, 64<<10
	s.WriteCacheBytesMax, s.ChunkBytes = steadyCacheBytes, 64<<10
	s.EntryLog.LogBytesMax, s.EntryLog.GroupBytes = 8<<20, 64<<10
	s.EntryLog.IndexCacheBytesMax, s.EntryLog.ReadCacheBytesMax = 256<<10, 256<<10
	c.Server.InputBufferBytes, c.Server.BatchBytesMax = 16<<10, 32<<10
	c.Server.ReadTasks, c.Server.FenceTasks = 2, 2
	return c
}

func steadyClient() client.Config {
	c := client.DefaultConfig()
	c.WindowEntries = steadyWindow
	c.Pool.Channel.InputBufferBytes = 16 << 10
	return c
}

// steady is one world with one writer.
type steady struct {
	world   *sim.World
	window  int
	appends int

	acked  int64
	begun  time.Duration // virtual time of the first append
	took   time.Duration // of all appends, virtual
	failed error
}

// runSteady runs a writer that keeps so many appends under way until it has made so many.
func runSteady(seed uint64, window, appends int, f *WorldFigures) {
	s := &steady{world: sim.New(sim.Config{Seed: seed}), window: window, appends: appends}
	defer s.world.Release()
	store := s.world.NewNode("metadata")
	store.SetDaemon(true)
	store.Start(oracle.New(s.world.Stream("oracle"), oracle.Tame()).Boot)
	for i := range steadyBookies {
		n := s.world.NewNode(fmt.Sprintf("bookie-%d", i))
		n.SetDaemon(true)
		n.Start(func(h host.Host) error { return s.bookie(h, i) })
	}
	writer := s.world.NewNode("client-0")
	writer.Start(s.client)
	writer.OnExit(func(err error, _ bool) {
		s.failed = err
		s.world.Stop()
	})
	verdict := s.world.Run(simulatedUnlimited)
	if verdict.Failed() || s.failed != nil || s.acked != int64(appends) {
		f.Failed++
	}
	f.Events += s.world.Events()
	f.Operations += int64(appends)
	f.Acked += s.acked
	f.SimulatedSeconds += s.took.Seconds()
}

func (s *steady) bookie(h host.Host, i int) error {
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
	if err != nil {
		return err
	}
	return errors.Join(bookienode.Run(h, store, steadyNode(i)), store.Close())
}

func (s *steady) client(h host.Host) error {
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
	if err != nil {
		return err
	}
	c, err := client.New(h, h.Root(), store, steadyClient())
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = s.write(h, c)
	c.Close()
	return errors.Join(err, store.Close())
}

// createPause is how long a client waits until there may be enough bookies.
const createPause = 20 * time.Millisecond

func (s *steady) write(h host.Host, c *client.Client) error {
	o := client.DefaultCreateOptions()
	o.Quorum = steadyQuorum
	w, err := c.Create(o)
	for errors.Is(err, client.ErrNotEnoughBookies) && h.Root().Sleep(createPause) {
		w, err = c.Create(o)
	}
	if err != nil {
		return err
	}
	flow := newFlow(h, s.window)
	s.begun = h.Elapsed()
	err = flow.run(w, s.appends)
	s.acked, s.took = flow.acked, h.Elapsed()-s.begun
	return errors.Join(err, w.Close())
}

// flow keeps a number of appends under way: each is made again as soon as it is back.
type flow struct {
	back    *host.Queue[*client.Op]
	ops     []client.Op
	payload []byte
	acked   int64
	err     error // the first append that failed
}

func newFlow(h host.Host, window int) *flow {
	f := &flow{
		back: host.NewQueue[*client.Op](h, h.Root(), "appended", window), ops: make([]client.Op, window),
		payload: make([]byte, steadyPayloadBytes),
	}
	for i := range f.ops {
		f.ops[i].Done = f
		f.back.Offer(&f.ops[i])
	}
	return f
}

// Appended takes an append back.
func (f *flow) Appended(op *client.Op) {
	if op.Err == nil {
		f.acked++
	} else if f.err == nil {
		f.err = op.Err
	}
	f.back.Offer(op)
}

func (f *flow) run(w *client.Writer, appends int) error {
	var free []*client.Op
	for made, home := 0, 0; ; {
		var ok bool
		if free, ok = f.back.Take(free); !ok {
			return host.ErrStopping
		}
		home += len(free)
		for _, op := range free {
			if made == appends || f.err != nil {
				continue
			}
			if err := w.Append(f.payload, op); err != nil {
				return err
			}
			made++
			home--
		}
		if home == len(f.ops) {
			return f.err
		}
	}
}

// ackedAnswer is what recorders call an append that was acknowledged.
const ackedAnswer = "append ok"

// scenarioOf is the scenario of the worlds that are trials.
func scenarioOf(kind WorldKind) string {
	if kind == ClusterWorld {
		return clusterScenario
	}
	return worldScenario
}

// clusterWorldOf returns what runs one world of a kind that is no trial, or nil.
func clusterWorldOf(kind WorldKind) func(seed uint64, f *WorldFigures) {
	switch kind {
	case SteadyWorld:
		return func(seed uint64, f *WorldFigures) { runSteady(seed, steadyWindow, steadyAppends, f) }
	case SequentialWorld:
		return func(seed uint64, f *WorldFigures) { runSteady(seed, 1, sequentialAppends, f) }
	}
	return nil
}
