package server_test

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

const bookieAddr = "bookie:3181"

var (
	key      = ledger.MasterKey(sha1.Sum([]byte("ledger")))
	otherKey = ledger.MasterKey(sha1.Sum([]byte("ledgerother")))
)

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

// smallServer has bounds that a handful of requests reach.
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

func smallChannel() channel.Config {
	c := channel.DefaultConfig()
	c.InputBufferBytes, c.RequestsMax, c.OutputBytesMax = 4<<10, 64, 16<<10
	c.Timeout, c.Patience, c.WriteStall = time.Second, 2*time.Second, 2*time.Second
	return c
}

// stored is a stored entry whose payload can be recomputed from its ids.
func stored(id ledger.ID, entry ledger.EntryID, size int) []byte {
	p := make([]byte, ledger.HeaderBytes+size)
	ledger.PutHeader(p, id, entry, entry-1, int64(size))
	for i := range size {
		p[ledger.HeaderBytes+i] = byte(int(id)*31 + int(entry)*7 + i)
	}
	return p
}

func add(id ledger.ID, entry ledger.EntryID, size int) channel.Add {
	return channel.Add{MasterKey: key, Body: stored(id, entry, size)}
}

// serving boots a bookie with a server, and checks that a clean stop leaves no memory in use.
func (c *cluster) serving(t *testing.T, storeConfig bookie.Config, config server.Config) func(h host.Host) error {
	return func(h host.Host) error {
		store, err := bookie.Open(h, h.Root(), storeConfig)
		if err != nil {
			return err
		}
		listener, err := h.Net().Listen(bookieAddr)
		if err != nil {
			return err
		}
		s := server.Serve(h, h.Root(), store, listener, config)
		c.server = s
		ended := store.AwaitEnd(h.Root())
		s.Close()
		if s.Connections() != 0 {
			t.Errorf("%d connections are left", s.Connections())
		}
		if err := store.Close(); ended == nil {
			ended = err
		}
		if used := h.Memory().InUse(); used != 0 {
			t.Errorf("the bookie leaves %d bytes in use", used)
		}
		return ended
	}
}

// cluster is a world with one bookie and one client.
type cluster struct {
	t      *testing.T
	world  *sim.World
	bookie *sim.Node
	server *server.Server // of the process that runs
	fails  error          // with which the bookie must end; nil: in good order
}

func newCluster(t *testing.T, seed uint64, profile sim.NetProfile, config server.Config) *cluster {
	w := sim.New(sim.Config{Seed: seed, Net: profile, LockYieldPermille: int(seed%3) * 100})
	c := &cluster{t: t, world: w, bookie: w.NewNode("bookie")}
	c.bookie.SetMemoryLimit(64 << 20)
	c.bookie.Start(c.serving(t, smallStore(), config))
	return c
}

// run runs the client, stops the bookie in good order, and fails the test unless everything ended well. The client
// leaves no memory in use either.
func (c *cluster) run(client func(h host.Host) error) {
	c.t.Helper()
	n := c.world.NewNode("client")
	n.Start(func(h host.Host) error {
		err := client(h)
		if used := h.Memory().InUse(); used != 0 {
			err = errors.Join(err, fmt.Errorf("the client leaves %d bytes in use", used))
		}
		return err
	})
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			c.t.Errorf("seed %d, client: %v", c.world.Seed(), err)
		}
		c.bookie.Stop()
	})
	v := c.world.Run(time.Hour)
	if v.Failed() || !errors.Is(c.bookie.BootErr(), c.fails) {
		c.t.Fatalf("bookie: %v\n%s", c.bookie.BootErr(), v.String())
	}
}

// dial connects, as often as it takes the bookie to come up.
func dial(h host.Host, config channel.Config) (*channel.Channel, error) {
	for {
		c, err := channel.Dial(h, h.Root(), bookieAddr, host.Within(h, h.Root(), time.Second), config)
		if err == nil || !errors.Is(err, host.ErrRefused) && !errors.Is(err, host.ErrTimeout) || !h.Root().Sleep(10*time.Millisecond) {
			return c, err
		}
	}
}

// dialRaw connects without a channel, for what no client does.
func dialRaw(h host.Host) (host.Conn, error) {
	for {
		c, err := h.Net().Dial(bookieAddr, nil)
		if err == nil || !errors.Is(err, host.ErrRefused) || !h.Root().Sleep(10*time.Millisecond) {
			return c, err
		}
	}
}

// onChannel is a client with one channel.
func onChannel(f func(h host.Host, c *channel.Channel) error) func(h host.Host) error {
	return func(h host.Host) error {
		c, err := dial(h, smallChannel())
		if err != nil {
			return err
		}
		defer c.Close()
		return f(h, c)
	}
}

// holds checks that a read returned this entry, and releases it.
func holds(r *channel.Request, err error, id ledger.ID, entry ledger.EntryID, size int) error {
	if err != nil {
		return err
	}
	defer r.Release()
	if len(r.Entries) != 1 || string(r.Entries[0]) != string(stored(id, entry, size)) {
		return fmt.Errorf("entry %d of ledger %d differs", entry, id)
	}
	return nil
}

// fails checks the class of an error.
func fails(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: got %v, want %v", what, err, want)
	}
	return nil
}

// rawResponse reads one response from a connection that is used by hand. The body is a copy.
func rawResponse(h host.Host, c host.Conn, in *wire.Input) (wire.Response, error) {
	var r wire.Response
	for {
		packet, err := in.Next()
		if err != nil {
			return r, err
		}
		if packet != nil {
			err := r.Decode(append([]byte(nil), packet...))
			return r, err
		}
		if err := in.Fill(c); err != nil {
			return r, err
		}
	}
}

// readEnd reads until the connection ends.
func readEnd(c host.Conn) error {
	var b [100]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			return err
		}
	}
}

// ended reports whether a read says that the peer has closed the connection.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, host.ErrReset) }

// powerCut crashes the bookie and loses what was not synced, in a way that depends on the seed.
func (c *cluster) powerCut() {
	modes := []disk.Survival{disk.Drop, disk.RandomPages, disk.Torn, disk.Mixed, disk.Keep}
	c.bookie.Crash(sim.PowerCut(modes[c.world.Seed()%uint64(len(modes))]))
}
