package experiments

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/trial/oracle"
)

const (
	virtualLimit    = time.Hour // of virtual time: no experiment takes as long
	virtualMetadata = "metadata"
	virtualClient   = "client"
	createPause     = 10 * time.Millisecond // between two looks whether there are enough bookies
)

func virtualBookie(i int) string { return fmt.Sprintf("bookie-%d", i) }

func virtualAddress(i int) ledger.BookieID { return ledger.BookieID(virtualBookie(i) + ":3181") }

// virtualOptions say what cluster of the simulator to make.
type virtualOptions struct {
	seed    uint64
	bookies int
	client  client.Config
	journal func(bookie int) sim.DiskProfile // nil: an SSD
	onMark  func(*sim.Node, host.Event)      // nil: nobody looks
	onSend  func(*sim.Send)
}

// virtual is a cluster of the simulator: a metadata store that uses none of its freedoms, bookies, and one client, which
// lives in a course. Nothing breaks but what the course breaks.
type virtual struct {
	world   *sim.World
	oracle  *oracle.Oracle
	bookies []*sim.Node
	client  *sim.Node
}

// course is what the client of an experiment does. It may break nodes through v.
type course func(v *virtual, h host.Host, c *client.Client) error

// inVirtual runs a course in a cluster of its own, to its end. An error of the course, and a world that ends in another way,
// are errors.
func inVirtual(o virtualOptions, run course) error {
	v := &virtual{world: sim.New(sim.Config{Seed: o.seed})}
	defer v.world.Release()
	v.oracle = oracle.New(v.world.Stream("oracle"), oracle.Tame())
	store := v.world.NewNode(virtualMetadata)
	store.SetDaemon(true)
	store.Start(v.oracle.Boot)
	for i := range o.bookies {
		n := v.world.NewNode(virtualBookie(i))
		n.SetDaemon(true)
		if o.journal != nil {
			n.Disk(bookie.JournalVolume).SetProfile(o.journal(i))
		}
		v.bookies = append(v.bookies, n)
		v.start(i)
	}
	if o.onMark != nil {
		v.world.OnMark(o.onMark)
	}
	if o.onSend != nil {
		v.world.Net().OnSend(o.onSend)
	}
	v.client = v.world.NewNode(virtualClient)
	v.client.Start(func(h host.Host) error { return v.boot(h, &o, run) })
	failed := host.ErrStopping
	v.client.OnExit(func(err error, _ bool) {
		failed = err
		v.world.Stop()
	})
	verdict := v.world.Run(virtualLimit)
	if verdict.Failed() {
		failed = errors.Join(failed, errors.New(verdict.Summary()))
	}
	if failed != nil {
		return fmt.Errorf("world of seed %d: %w", o.seed, failed)
	}
	return nil
}

// start boots a bookie.
func (v *virtual) start(i int) {
	v.bookies[i].Start(func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
		if err != nil {
			return err
		}
		return errors.Join(bookienode.Run(h, store, virtualNode(i)), store.Close())
	})
}

// boot is the client's process.
func (v *virtual) boot(h host.Host, o *virtualOptions, run course) error {
	return withClient(h, o.client, func(c *client.Client) error {
		if err := c.AwaitBookies(o.bookies, host.Within(h, h.Root(), time.Minute)); err != nil {
			return err
		}
		return run(v, h, c)
	})
}

// withClient runs f with a client that has no connections yet.
func withClient(h host.Host, config client.Config, f func(*client.Client) error) error {
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(oracle.Address))
	if err != nil {
		return err
	}
	c, err := client.New(h, h.Root(), store, config)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = f(c)
	c.Close()
	return errors.Join(err, store.Close())
}

// later has f run between tasks, d from now: courses break nodes so.
func (v *virtual) later(d time.Duration, f func()) { v.world.At(d, f) }

// number is which bookie has an address; -1 for none.
func (v *virtual) number(id ledger.BookieID) int {
	for i := range v.bookies {
		if virtualAddress(i) == id {
			return i
		}
	}
	return -1
}

// virtualNode is a bookie's process with bounds that keep worlds small. Its batches and caches are large enough for none
// of the loads here to wait for them.
func virtualNode(i int) bookienode.Config {
	c := bookienode.DefaultConfig()
	c.Initialize = true
	s := &c.Store
	s.BookieID = string(virtualAddress(i))
	s.EntryBytesMax, s.BatchBytesMax = 32<<10, 256<<10
	s.Journal.FileBytes, s.Journal.GroupBytesMax = 64<<20, 1<<20
	s.WriteCacheBytesMax, s.ChunkBytes = 16<<20, 64<<10
	s.EntryLog.LogBytesMax, s.EntryLog.GroupBytes = 32<<20, 256<<10
	s.EntryLog.IndexCacheBytesMax, s.EntryLog.ReadCacheBytesMax = 256<<10, 1<<20
	c.Server.InputBufferBytes, c.Server.BatchBytesMax = 64<<10, 128<<10
	return c
}

// virtualClientConfig is the default one, with buffers that keep worlds small.
func virtualClientConfig() client.Config {
	c := client.DefaultConfig()
	c.Pool.Channel.InputBufferBytes = 64 << 10
	return c
}

// slowedJournals makes the journals' devices sync so many times as slowly, of the bookies for which slowed is true.
func slowedJournals(factor int, slowed func(bookie int) bool) func(int) sim.DiskProfile {
	return func(i int) sim.DiskProfile {
		p := sim.SSD()
		if slowed(i) {
			p.Sync *= time.Duration(factor)
		}
		return p
	}
}
