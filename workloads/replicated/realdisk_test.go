package replicated_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/model"
	"lakebed/workloads/agenda"
	"lakebed/workloads/replicated"
)

// realCluster is a metadata service, bookies and clients on this machine: goroutines, files, TCP.
type realCluster struct {
	t        *testing.T
	lab      *replicated.Lab
	metadata string
	dirs     string
	bookies  []string // addresses
}

// run runs a node until the context ends.
func (c *realCluster) run(ctx context.Context, name string, volumes map[string]string, boot func(host.Host) error) {
	config := oshost.Config{Volumes: volumes, Seed: uint64(len(name)), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := oshost.Run(ctx, config, boot); err != nil {
		c.t.Errorf("%s: %v", name, err)
	}
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *realCluster) serveMetadata(h host.Host) error {
	listener, err := h.Net().Listen(c.metadata)
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

func (c *realCluster) runBookie(ctx context.Context, address string) {
	volumes := map[string]string{}
	for _, v := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		volumes[v] = filepath.Join(c.dirs, address, v)
		if err := os.MkdirAll(volumes[v], 0o755); err != nil {
			c.t.Error(err)
			return
		}
	}
	c.run(ctx, "bookie "+address, volumes, func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(c.metadata))
		if err != nil {
			return err
		}
		defer store.Close()
		config := node.DefaultConfig()
		config.Store.BookieID, config.Initialize = address, true
		b := &config.Store
		b.Journal.FileBytes, b.Journal.GroupBytesMax = 1<<20, 64<<10
		b.EntryLog.LogBytesMax, b.EntryLog.GroupBytes = 512<<10, 32<<10
		b.WriteCacheBytesMax, b.ChunkBytes, b.EntryBytesMax, b.BatchBytesMax = 512<<10, 16<<10, 8<<10, 64<<10
		b.CheckpointInterval = 200 * time.Millisecond
		config.Server.BatchBytesMax = b.BatchBytesMax / 2
		return node.Run(h, store, config)
	})
}

// withClient runs f with a client on a host of its own.
func (c *realCluster) withClient(ctx context.Context, name string, f func(h host.Host, engine *client.Client, store metadata.Store)) {
	c.run(ctx, name, nil, func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(c.metadata))
		if err != nil {
			return err
		}
		config := client.DefaultConfig()
		config.WindowEntries = 32
		engine, err := client.New(h, h.Root(), store, config)
		if err != nil {
			return err
		}
		f(h, engine, store)
		engine.Close()
		return store.Close()
	})
}

func (c *realCluster) work(ctx context.Context, number, sessions int) {
	c.withClient(ctx, fmt.Sprintf("client %d", number), func(h host.Host, engine *client.Client, store metadata.Store) {
		tasks := h.Root().New("sessions")
		for i := range sessions {
			id := model.ClientID(100*number + i)
			s := replicated.NewSession(h, h.Root(), c.lab, engine, id, 200*time.Microsecond)
			s.UseBare(replicated.Bare{Store: store, Channel: channel.DefaultConfig()})
			tasks.Go("session", s.Run)
		}
		tasks.Wait()
	})
}

// TestClusterHistoriesFromRealDisksAndSocketsAreRight runs the campaign's sessions on goroutines, files and TCP, while
// bookies stop and come back, and asks the same checkers. Under -race it looks for what the simulator cannot see.
// LAKEBED_RACE_SECONDS makes it longer.
func TestClusterHistoriesFromRealDisksAndSocketsAreRight(t *testing.T) {
	total := 3 * time.Second
	if text := os.Getenv("LAKEBED_RACE_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("LAKEBED_RACE_SECONDS=%q: %v", text, err)
		}
		total = time.Duration(seconds) * time.Second
	}
	c := &realCluster{t: t, dirs: t.TempDir(), metadata: freeAddress(t)}
	c.lab = replicated.NewLab(replicated.Mix{
		Write: 10, Tail: 4, CatchUp: 5, TakeOver: 3, Delete: 1, Foreign: 2, Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2},
		Digests: []ledger.DigestType{ledger.CRC32C, ledger.MAC}, EntriesMin: 20, EntriesMax: 200, Window: 16,
		PayloadBytesMax: 3000, BatchCountMax: 20, BatchBytesMax: 20000, TailPolls: 10, LedgersMax: 1 << 20,
	}, agenda.New(1))
	var servers, bookies, clients sync.WaitGroup
	stopServers := start(&servers, func(ctx context.Context) { c.run(ctx, "metadata", nil, c.serveMetadata) })
	stops := map[string]func(){}
	for range 4 {
		address := freeAddress(t)
		c.bookies = append(c.bookies, address)
		stops[address] = start(&bookies, func(ctx context.Context) { c.runBookie(ctx, address) })
	}
	for number := range 2 {
		start(&clients, func(ctx context.Context) { c.work(ctx, number, 3) })
	}
	for round := 0; round < 3; round++ {
		time.Sleep(total / 4)
		address := c.bookies[round%len(c.bookies)]
		stops[address]()
		stops[address] = start(&bookies, func(ctx context.Context) { c.runBookie(ctx, address) })
	}
	time.Sleep(total / 4)
	c.lab.Finish()
	clients.Wait()
	c.verify()
	for _, address := range c.bookies {
		stops[address]()
	}
	bookies.Wait()
	stopServers()
	servers.Wait()
	for _, v := range model.CheckCluster(c.lab.Recorder.History()) {
		t.Errorf("%s: %s\n%s", v.Checker, v.Signature, v.Explanation)
	}
	if answers := c.lab.Recorder.Answers(); answers["append ok"] == 0 || answers["recover-open ok"] == 0 {
		t.Errorf("nothing much happened: %v", answers)
	}
	t.Logf("%d operations: %v", c.lab.Recorder.Operations(), c.lab.Recorder.Answers())
}

func (c *realCluster) verify() {
	c.withClient(c.t.Context(), "verifier", func(h host.Host, engine *client.Client, _ metadata.Store) {
		stuck, ok := replicated.NewSession(h, h.Root(), c.lab, engine, 900, time.Microsecond).Verify()
		if len(stuck) > 0 || !ok {
			c.t.Errorf("the verifier was stopped: %v; it could not open %v", !ok, stuck)
		}
	})
}

// start runs f on a goroutine; stop ends its context and waits for it.
func start(all *sync.WaitGroup, f func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	all.Go(func() {
		defer close(done)
		f(ctx)
	})
	return func() {
		cancel()
		<-done
	}
}
