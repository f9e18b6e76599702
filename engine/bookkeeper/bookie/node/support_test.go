package node_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const (
	storeAddr  = "metadata:2181"
	bookieAddr = "bookie-0:3181"
	bookieKey  = "/ledgers/available/" + bookieAddr
	readerKey  = "/ledgers/available/readonly/" + bookieAddr
)

// small is a bookie that is quick to start.
func small() node.Config {
	c := node.DefaultConfig()
	c.Store.BookieID, c.Initialize = bookieAddr, true
	c.Store.Journal.FileBytes, c.Store.Journal.GroupBytesMax = 256<<10, 16<<10
	c.Store.EntryLog.LogBytesMax, c.Store.EntryLog.ItemsMax, c.Store.EntryLog.GroupBytes = 96<<10, 10_000, 8<<10
	c.Store.EntryLog.IndexCacheBytesMax, c.Store.EntryLog.ReadCacheBytesMax = 32<<10, 32<<10
	c.Store.EntryLog.ReadAheadBytesMax = 8 << 10
	c.Store.WriteCacheBytesMax, c.Store.ChunkBytes = 64<<10, 4<<10
	c.Store.EntryBytesMax, c.Store.BatchBytesMax = 16<<10, 32<<10
	c.Server.InputBufferBytes, c.Server.OutputBytes = 4<<10, 1<<10
	c.Server.BatchesMax, c.Server.BatchEntriesMax, c.Server.BatchBytesMax = 4, 16, 8<<10
	c.DiskCheckInterval = time.Second
	return c
}

// cluster is a world with a metadata server, a bookie, and whoever looks at both.
type cluster struct {
	t        *testing.T
	w        *sim.World
	metadata *sim.Node
	bookie   *sim.Node
	config   node.Config
	marks    map[host.Point]int
	starts   int
	exits    int
	end      error // of the bookie's last process that was not crashed
	onMark   func(host.Event)

	storeDelay time.Duration // until the metadata server starts
}

func newCluster(t *testing.T, seed uint64) *cluster {
	w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed%3) * 100})
	c := &cluster{t: t, w: w, metadata: w.NewNode("metadata"), bookie: w.NewNode("bookie-0"), config: small(), marks: map[host.Point]int{}}
	c.metadata.SetDaemon(true)
	c.bookie.OnExit(func(err error, crashed bool) {
		c.exits++
		if !crashed {
			c.end = err
		}
	})
	w.OnMark(func(n *sim.Node, e host.Event) {
		c.marks[e.Name]++
		if c.onMark != nil && n == c.bookie {
			c.onMark(e)
		}
	})
	return c
}

func (c *cluster) startStore() {
	c.metadata.Start(func(h host.Host) error {
		listener, err := h.Net().Listen(storeAddr)
		if err != nil {
			return err
		}
		s, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
		if err != nil {
			return err
		}
		host.AwaitStop(h.Root())
		s.Close()
		return nil
	})
}

// startBookie starts another process of the bookie. prepare, if any, finds the disks before the bookie does.
func (c *cluster) startBookie(prepare func(h host.Host) error) {
	c.starts++
	c.bookie.Start(func(h host.Host) error {
		if prepare != nil {
			if err := prepare(h); err != nil {
				return err
			}
		}
		return withStore(h, storeAddr, func(store metadata.Store) error { return node.Run(h, store, c.config) })
	})
}

// withStore runs f with a session, and checks that no memory is left in use.
func withStore(h host.Host, address string, f func(metadata.Store) error) error {
	config := service.DefaultClientConfig(address)
	config.SessionTimeout = 4 * time.Second
	store, err := service.Connect(h, h.Root(), config)
	if err != nil {
		return err
	}
	err = errors.Join(f(store), store.Close())
	if used := h.Memory().InUse(); used != 0 {
		err = errors.Join(err, fmt.Errorf("%d bytes are left in use", used))
	}
	return err
}

// run runs a test's steps on a node of their own, and fails the test unless they and the world end well.
func (c *cluster) run(steps func(h host.Host, store metadata.Store) error) {
	c.t.Helper()
	c.w.At(c.storeDelay, c.startStore)
	n := c.w.NewNode("client-0")
	n.Start(func(h host.Host) error {
		return withStore(h, storeAddr, func(store metadata.Store) error { return steps(h, store) })
	})
	n.OnExit(func(error, bool) {
		c.bookie.Stop()
		c.metadata.Stop()
	})
	if v := c.w.Run(24 * time.Hour); v.Failed() {
		c.t.Fatalf("seed %d: %s", c.w.Seed(), v.String())
	}
	if err := n.BootErr(); err != nil {
		c.t.Fatalf("seed %d: %v", c.w.Seed(), err)
	}
}

// until waits for a condition, for at most a minute.
func until(h host.Host, what string, holds func() bool) error {
	for range 6000 {
		if holds() {
			return nil
		}
		h.Root().Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("in vain: wait until %s", what)
}

// has reports whether a key is there.
func has(store metadata.Store, key string) bool {
	if store.Sync(nil) != nil {
		return false
	}
	_, err := store.Get(key, nil)
	return err == nil
}

// registered waits until the bookie is there for writes.
func registered(h host.Host, store metadata.Store) error {
	return until(h, "the bookie is registered", func() bool { return has(store, bookieKey) })
}

// ended waits for the end of the bookie's process and checks its outcome.
func (c *cluster) ended(h host.Host, want error) error {
	if err := until(h, "the bookie's process ends", func() bool { return c.exits == c.starts }); err != nil {
		return err
	}
	if !errors.Is(c.end, want) {
		return fmt.Errorf("the bookie ended with %v, want %v", c.end, want)
	}
	return nil
}

// stop stops the bookie in good order.
func (c *cluster) stop(h host.Host) error {
	c.bookie.Stop()
	return c.ended(h, nil)
}

// stored is an entry whose bytes can be recomputed.
func stored(id ledger.ID, entry ledger.EntryID) []byte {
	p := make([]byte, ledger.HeaderBytes+100)
	ledger.PutHeader(p, id, entry, entry-1, 100*int64(entry+1))
	for i := ledger.HeaderBytes; i < len(p); i++ {
		p[i] = byte(int(id)*31 + int(entry)*7 + i)
	}
	return p
}

// add has the bookie store an entry.
func add(h host.Host, address string, id ledger.ID, entry ledger.EntryID) error {
	ch, err := channel.Dial(h, h.Root(), address, nil, channel.DefaultConfig())
	if err != nil {
		return err
	}
	defer ch.Close()
	return ch.AddEntry(channel.Add{MasterKey: ledger.MasterKeyOf(nil), Body: stored(id, entry)}, 0)
}

// survival is how the disks come through a power cut, by seed.
func survival(seed uint64) sim.How {
	modes := []disk.Survival{disk.Drop, disk.RandomPages, disk.Torn, disk.Mixed, disk.Keep}
	return sim.PowerCut(modes[seed%uint64(len(modes))])
}

// volumes are the bookie's disks.
func volumes() []string { return []string{bookie.JournalVolume, bookie.LedgerVolume} }
