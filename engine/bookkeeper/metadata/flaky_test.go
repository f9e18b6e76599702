package metadata_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

const storeAddr = "metadata:2181"

// flaky uses the freedom that the contract gives for writes: it loses requests and answers, does writes late, and says
// that the session expired. One task calls it.
type flaky struct {
	metadata.Store
	random   *rand.Rand
	permille int      // of writes that meet a fault
	late     []func() // writes to do later
	lost     int      // answers
}

var errLost = fmt.Errorf("planted: %w", metadata.ErrOutcomeUnknown)

// meet decides what becomes of a write. It does late ones first, in part.
func (f *flaky) meet(write func() error) error {
	for len(f.late) > 0 && f.random.IntN(3) == 0 {
		f.late[0]()
		f.late = f.late[1:]
	}
	if f.random.IntN(1000) >= f.permille {
		return write()
	}
	switch f.random.IntN(4) {
	case 0: // the request is lost
		f.lost++
		return errLost
	case 1: // the answer is
		f.lost++
		_ = write()
		return errLost
	case 2: // it is on its way for long
		f.lost++
		f.late = append(f.late, func() { _ = write() })
		return errLost
	}
	return fmt.Errorf("planted: %w", metadata.ErrSessionExpired)
}

func (f *flaky) Create(key string, data []byte, kind metadata.Kind, s *host.Scope) (version metadata.Version, err error) {
	err = f.meet(func() (err error) {
		version, err = f.Store.Create(key, data, kind, s)
		return err
	})
	return version, err
}

func (f *flaky) Put(key string, data []byte, expected metadata.Version, s *host.Scope) (version metadata.Version, err error) {
	err = f.meet(func() (err error) {
		version, err = f.Store.Put(key, data, expected, s)
		return err
	})
	return version, err
}

func (f *flaky) Delete(key string, expected metadata.Version, s *host.Scope) error {
	return f.meet(func() error { return f.Store.Delete(key, expected, s) })
}

// settle does all that is late.
func (f *flaky) settle() {
	for _, write := range f.late {
		write()
	}
	f.late = nil
}

// serveStore is the boot of a metadata node.
func serveStore(h host.Host, address string) error {
	listener, err := h.Net().Listen(address)
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

// client is what a test does on one node of a world, with a session of its own.
type client func(h host.Host, store metadata.Store) error

// worldOf builds a world with a metadata node and clients. The clients' nodes are "client-0"…
func worldOf(seed uint64, clients ...client) *sim.World {
	w := sim.New(sim.Config{Seed: seed, Net: sim.LAN(), LockYieldPermille: int(seed%3) * 100})
	server := w.NewNode("metadata")
	server.SetDaemon(true)
	server.Start(func(h host.Host) error { return serveStore(h, storeAddr) })
	left := len(clients)
	for i, run := range clients {
		n := w.NewNode(fmt.Sprintf("client-%d", i))
		n.Start(func(h host.Host) error { return withStore(h, storeAddr, run) })
		n.OnExit(func(error, bool) {
			if left--; left == 0 {
				server.Stop()
			}
		})
	}
	return w
}

func withStore(h host.Host, address string, run client) error {
	config := service.DefaultClientConfig(address)
	config.SessionTimeout = 4 * time.Second
	store, err := service.Connect(h, h.Root(), config)
	if err != nil {
		return err
	}
	return errors.Join(run(h, store), store.Close())
}

// inWorld runs clients against one metadata node and fails the test unless all end well.
func inWorld(t *testing.T, seed uint64, clients ...client) {
	t.Helper()
	failWith(t, seed, worldOf(seed, clients...))
}

func failWith(t *testing.T, seed uint64, w *sim.World) {
	t.Helper()
	if v := w.Run(24 * time.Hour); v.Failed() {
		t.Fatalf("seed %d: %s", seed, v.String())
	}
	for _, n := range w.Nodes() {
		if err := n.BootErr(); err != nil {
			t.Fatalf("seed %d: %s: %v", seed, n.Name(), err)
		}
	}
}

// onThisMachine runs a client with real goroutines and sockets, for the race detector too.
func onThisMachine(t *testing.T, run client) {
	t.Helper()
	config := oshost.Config{Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	err := oshost.Run(context.Background(), config, func(h host.Host) error {
		listener, err := h.Net().Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		s, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
		if err != nil {
			return err
		}
		defer s.Close()
		return withStore(h, s.Addr(), run)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// is checks the class of an error.
func is(what string, err, class error) error {
	if !errors.Is(err, class) {
		return fmt.Errorf("%s: got %v, want %v", what, err, class)
	}
	return nil
}

// countMark counts the marks of a point.
func countMark(point host.Point, count *int) func(*sim.Node, host.Event) {
	return func(_ *sim.Node, e host.Event) {
		if e.Name == point {
			*count++
		}
	}
}

// seeds is how many seeds a test runs: fewer where time is dear.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 5
	}
	return n
}
