package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

const storeAddr = "metadata:2181"

// smallStore makes every file roll and every cache fill within a few hundred entries.
func smallStore() bookie.Config {
	c := bookie.DefaultConfig()
	c.Journal.FileBytes, c.Journal.GroupBytesMax = 256<<10, 16<<10
	c.EntryLog.LogBytesMax, c.EntryLog.ItemsMax, c.EntryLog.GroupBytes = 96<<10, 10_000, 8<<10
	c.EntryLog.IndexCacheBytesMax, c.EntryLog.ReadCacheBytesMax = 32<<10, 32<<10
	c.EntryLog.ReadAheadBytesMax = 8 << 10
	c.WriteCacheBytesMax, c.ChunkBytes = 64<<10, 4<<10
	c.EntryBytesMax, c.BatchBytesMax = 16<<10, 32<<10
	c.CheckpointInterval = 500 * time.Millisecond
	return c
}

func smallServer() server.Config {
	c := server.DefaultConfig()
	c.InputBufferBytes, c.OutputBytes = 4<<10, 1<<10
	c.BatchesMax, c.BatchEntriesMax, c.BatchBytesMax = 4, 16, 8<<10
	c.ReadsMax, c.ReadTasks, c.FenceTasks = 16, 2, 2
	c.AnswerBytesMax, c.AnswersBytesMax = 8<<10, 64<<10
	c.BatchReadMax, c.GatheredFrameMin = 64, 1<<10
	c.Idle, c.FrameStall, c.WriteStall, c.DrainMax = time.Minute, 2*time.Second, 2*time.Second, time.Second
	return c
}

func smallClient() client.Config {
	c := client.DefaultConfig()
	c.Pool.Channel.InputBufferBytes, c.Pool.Channel.RequestsMax, c.Pool.Channel.OutputBytesMax = 4<<10, 64, 16<<10
	c.Pool.Channel.Patience, c.Pool.Channel.WriteStall = 2*time.Second, 2*time.Second
	c.Pool.ConnectTimeout, c.Pool.BackoffMax = time.Second, 2*time.Second
	c.AddTimeout, c.ReadTimeout, c.MetadataTimeout = time.Second, time.Second, 20*time.Second
	c.WindowEntries, c.WindowBytes, c.AppendBytesMax = 16, 8<<10, 6<<10
	c.ReadsInFlight, c.RecoveryReads = 8, 4
	c.SpeculativeReadTimeout = 200 * time.Millisecond
	return c
}

func bookieAddr(i int) ledger.BookieID { return ledger.BookieID(fmt.Sprintf("bookie-%d:3181", i)) }

// cluster is a world with a metadata server, bookies, and clients that a test starts.
type cluster struct {
	t       *testing.T
	world   *sim.World
	store   *sim.Node
	bookies []*sim.Node
	config  client.Config // of clients
	memory  int64         // limit of a client's node
	clients int
	running int
}

func newCluster(t *testing.T, seed uint64, profile sim.NetProfile, bookies int) *cluster {
	w := sim.New(sim.Config{Seed: seed, Net: profile, LockYieldPermille: int(seed%3) * 100})
	c := &cluster{t: t, world: w, store: w.NewNode("metadata"), config: smallClient(), memory: 32 << 20}
	c.store.SetDaemon(true)
	c.store.Start(serveStore)
	for i := range bookies {
		c.bookies = append(c.bookies, w.NewNode(fmt.Sprintf("bookie-%d", i)))
		c.bookies[i].SetDaemon(true)
		c.bookies[i].SetMemoryLimit(64 << 20)
		c.start(i)
	}
	return c
}

func serveStore(h host.Host) error {
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
}

// start starts a bookie, again if need be.
func (c *cluster) start(i int) {
	c.bookies[i].Start(func(h host.Host) error { return runBookie(h, bookieAddr(i), smallStore(), smallServer()) })
}

// runBookie is a bookie that is registered as long as it runs.
func runBookie(h host.Host, id ledger.BookieID, storage bookie.Config, serving server.Config) error {
	store, err := bookie.Open(h, h.Root(), storage)
	if err != nil {
		return err
	}
	listener, err := h.Net().Listen(string(id))
	if err != nil {
		return err
	}
	s := server.Serve(h, h.Root(), store, listener, serving)
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
	if err != nil {
		return err
	}
	key := metadata.Layout{Root: metadata.DefaultRoot}.WritableKey(id)
	for !h.Root().Stopping() {
		_, err := session.Create(key, nil, metadata.Ephemeral, host.Within(h, h.Root(), 5*time.Second))
		if err == nil || !h.Root().Sleep(200*time.Millisecond) {
			break // ErrExist: the key of the last process, whose session has not ended yet
		}
	}
	ended := store.AwaitEnd(h.Root())
	_ = session.Close()
	s.Close()
	if err := store.Close(); ended == nil {
		ended = err
	}
	return ended
}

// run runs clients, each on a node of its own, and fails the test unless all end well and leave no memory in use.
func (c *cluster) run(clients ...func(h host.Host, c *client.Client) error) {
	c.t.Helper()
	c.running = len(clients)
	for _, f := range clients {
		n := c.world.NewNode(fmt.Sprintf("client-%d", c.clients))
		c.clients++
		n.SetMemoryLimit(c.memory)
		n.Start(func(h host.Host) error { return withClient(h, c.config, len(c.bookies), f) })
		n.OnExit(func(err error, crashed bool) {
			if err != nil {
				c.t.Errorf("seed %d, %s: %v", c.world.Seed(), n.Name(), err)
			}
			if c.running--; c.running == 0 {
				c.world.Stop()
			}
		})
	}
	if v := c.world.Run(2 * time.Hour); v.Failed() {
		c.t.Fatalf("seed %d\n%s", c.world.Seed(), v.String())
	}
}

func withClient(h host.Host, config client.Config, bookies int, f func(host.Host, *client.Client) error) error {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
	if err != nil {
		return err
	}
	if err := awaitBookies(h, session, bookies); err != nil {
		return err
	}
	c, err := client.New(h, h.Root(), session, config)
	if err != nil {
		return err
	}
	err = f(h, c)
	c.Close()
	err = errors.Join(err, session.Close())
	if used := h.Memory().InUse(); used != 0 {
		err = errors.Join(err, fmt.Errorf("the client leaves %d bytes in use", used))
	}
	return err
}

func awaitBookies(h host.Host, store metadata.Store, count int) error {
	for range 1000 {
		if err := store.Sync(nil); err != nil {
			return err
		}
		names, err := store.List(metadata.Layout{Root: metadata.DefaultRoot}.WritableRoot(), nil)
		if err != nil {
			return err
		}
		if len(names) >= count {
			return nil
		}
		h.Root().Sleep(100 * time.Millisecond)
	}
	return errors.New("the bookies do not come")
}

// payload is the content of an entry, which can be told from its id.
func payload(e ledger.EntryID) []byte {
	p := make([]byte, 20+int(e)*37%300)
	for i := range p {
		p[i] = byte(int(e)*7 + i)
	}
	return p
}

// write appends count entries one after the other.
func write(w *client.Writer, first ledger.EntryID, count int) error {
	for i := range ledger.EntryID(count) {
		got, err := w.AppendOne(payload(first + i))
		if err != nil {
			return err
		}
		if got != first+i {
			return fmt.Errorf("entry %d got the id %d", first+i, got)
		}
	}
	return nil
}

// holds checks that entries are first to last, and releases them.
func holds(entries *client.Entries, err error, first, last ledger.EntryID) error {
	if err != nil {
		return err
	}
	defer entries.Release()
	if len(entries.List) != int(last-first)+1 {
		return fmt.Errorf("%d entries, want %d to %d", len(entries.List), first, last)
	}
	for i, e := range entries.List {
		if want := first + ledger.EntryID(i); e.ID != want || string(e.Payload) != string(payload(want)) {
			return fmt.Errorf("entry %d differs", want)
		}
	}
	return nil
}

func options(e, qw, qa int) client.CreateOptions {
	o := client.DefaultCreateOptions()
	o.Quorum = ledger.Quorum{Ensemble: e, Write: qw, Ack: qa}
	o.Password = []byte("secret")
	return o
}

var open = client.OpenOptions{Password: []byte("secret")}

func is(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: got %v, want %v", what, err, want)
	}
	return nil
}

// visits is how often a point was visited on all nodes.
func (c *cluster) visits(p host.Point) int64 {
	var n int64
	for _, node := range c.world.Nodes() {
		n += node.Visits(p)
	}
	return n
}

// nodeOf is the node of a bookie.
func (c *cluster) nodeOf(id ledger.BookieID) *sim.Node {
	for i, n := range c.bookies {
		if bookieAddr(i) == id {
			return n
		}
	}
	return nil
}
