package client_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// loopback is a cluster and a client on this machine, over real files and TCP.
type loopback struct {
	t       testing.TB
	hosts   []*oshost.Host
	store   *service.Server
	bookies []*realBookie
	session *service.Client
	client  *client.Client
	host    *oshost.Host // the client's
}

type realBookie struct {
	id      ledger.BookieID
	store   *bookie.Store
	server  *server.Server
	session *service.Client
	closed  bool
}

func newLoopback(t testing.TB, bookies int) *loopback {
	t.Helper()
	l := &loopback{t: t}
	t.TempDir() // registers its own clean-up, which must come after ours
	t.Cleanup(l.close)
	h := l.newHost(nil)
	listener, err := h.Net().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if l.store, err = service.Serve(h, h.Root(), listener, service.DefaultServerConfig()); err != nil {
		t.Fatal(err)
	}
	for range bookies {
		l.bookies = append(l.bookies, l.newBookie())
	}
	l.host = l.newHost(nil)
	l.session = l.connect(l.host)
	if l.client, err = client.New(l.host, l.host.Root(), l.session, client.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *loopback) newHost(volumes map[string]string) *oshost.Host {
	h, err := oshost.New(oshost.Config{Volumes: volumes, Seed: uint64(len(l.hosts) + 1), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		l.t.Fatal(err)
	}
	l.hosts = append(l.hosts, h)
	return h
}

func (l *loopback) connect(h host.Host) *service.Client {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(l.store.Addr()))
	if err != nil {
		l.t.Fatal(err)
	}
	return session
}

func (l *loopback) newBookie() *realBookie {
	h := l.newHost(map[string]string{bookie.JournalVolume: l.t.TempDir(), bookie.LedgerVolume: l.t.TempDir()})
	config := bookie.DefaultConfig()
	config.Journal.FileBytes, config.EntryLog.LogBytesMax = 64<<20, 64<<20
	config.WriteCacheBytesMax = 32 << 20
	store, err := bookie.Open(h, h.Root(), config)
	if err != nil {
		l.t.Fatal(err)
	}
	listener, err := h.Net().Listen("127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	b := &realBookie{id: ledger.BookieID(listener.Addr()), store: store, session: l.connect(h)}
	b.server = server.Serve(h, h.Root(), store, listener, server.DefaultConfig())
	key := metadata.Layout{Root: metadata.DefaultRoot}.WritableKey(b.id)
	if _, err := b.session.Create(key, nil, metadata.Ephemeral, nil); err != nil {
		l.t.Fatal(err)
	}
	return b
}

func (b *realBookie) close(t testing.TB) {
	if b.closed {
		return
	}
	b.closed = true
	_ = b.session.Close()
	b.server.Close()
	if err := b.store.Close(); err != nil {
		t.Error(err)
	}
}

// close ends everything in good order: no task and no memory is left anywhere.
func (l *loopback) close() {
	if l.client != nil {
		l.client.Close()
	}
	if l.session != nil {
		_ = l.session.Close()
	}
	for _, b := range l.bookies {
		b.close(l.t)
	}
	if l.store != nil {
		l.store.Close()
	}
	for i, h := range l.hosts {
		if used := h.Memory().InUse(); used != 0 {
			l.t.Errorf("host %d leaves %d bytes in use", i, used)
		}
		if err := h.Close(); err != nil {
			l.t.Errorf("host %d: %v", i, err)
		}
	}
}

// TestManyLedgersOverLoopback: on real goroutines, files and sockets, for the race detector too. Each is written in a
// window, tailed by a reader, and read in ranges by several tasks; half of the ledgers are recovered from under their
// writers; one bookie ends in the middle.
func TestManyLedgersOverLoopback(t *testing.T) {
	l := newLoopback(t, 5)
	g := l.host.Root().New("users")
	problems := host.NewQueue[error](l.host, g, "problems", 100)
	for i := range 6 {
		g.Go("user", func() {
			if err := l.wholeLedger(i); err != nil {
				problems.Offer(fmt.Errorf("user %d: %w", i, err))
			}
		})
	}
	g.Go("killer", func() {
		time.Sleep(30 * time.Millisecond)
		l.bookies[0].close(t)
	})
	g.Wait()
	problems.End()
	all, _ := problems.Take(nil)
	for _, err := range all {
		t.Error(err)
	}
}

func (l *loopback) wholeLedger(i int) error {
	const count = 1500
	o := options(3, 3, 2)
	if i%3 == 2 {
		o = options(4, 3, 2)
	}
	w, err := l.client.Create(o)
	if err != nil {
		return err
	}
	g := l.host.Root().New("readers")
	ends := host.NewQueue[error](l.host, g, "ends", 10)
	g.Go("tail", func() { ends.Offer(l.tail(w.ID())) })
	err = pipeline(l.host, w, 0, count)
	if err == nil && i%2 == 0 {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	r, err := l.client.Open(w.ID(), open)
	if err != nil {
		return err
	}
	defer r.Close()
	if i%2 == 1 {
		// The end may be the one that it wants itself.
		if err := w.Close(); err != nil && !errors.Is(err, client.ErrFenced) && !errors.Is(err, client.ErrClosed) {
			return err
		}
	}
	for part := range ledger.EntryID(3) {
		g.Go("read", func() {
			entries, err := r.Read(part*500, part*500+499)
			ends.Offer(holds(entries, err, part*500, part*500+499))
		})
	}
	g.Wait()
	all, _ := ends.Take(nil)
	return errors.Join(all...)
}

// TestManyWritersOfOneClientShareLinesOverLoopback: on real goroutines and sockets. Each writer has a full window, and together
// they have many times as much under way as a line to a bookie holds. Nothing fails, and no bookie is replaced.
func TestManyWritersOfOneClientShareLinesOverLoopback(t *testing.T) {
	l := newLoopback(t, 4)
	config := client.DefaultConfig()
	config.WindowEntries, config.Pool.Channel.RequestsMax, config.Pool.ParkedMax = 256, 64, 32
	config.AddTimeout = 30 * time.Second // the machine may be busy
	one, err := client.New(l.host, l.host.Root(), l.session, config)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	g := l.host.Root().New("users")
	problems := host.NewQueue[error](l.host, g, "problems", 100)
	for range 8 {
		g.Go("user", func() {
			w, err := one.Create(options(3, 3, 2))
			if err == nil {
				err = pipeline(l.host, w, 0, 2000)
			}
			if err == nil && len(w.Metadata().Fragments) != 1 {
				err = fmt.Errorf("%d fragments without a fault", len(w.Metadata().Fragments))
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				problems.Offer(err)
			}
		})
	}
	g.Wait()
	problems.End()
	all, _ := problems.Take(nil)
	for _, err := range all {
		t.Error(err)
	}
}

// tail reads behind the writer until the ledger is closed.
func (l *loopback) tail(id ledger.ID) error {
	r, err := l.client.OpenNoRecovery(id, open)
	if err != nil {
		return err
	}
	defer r.Close()
	for next := ledger.EntryID(0); ; {
		lac, err := r.WaitFor(next, 20*time.Second)
		if errors.Is(err, client.ErrBeyondLAC) {
			return nil
		}
		if err != nil {
			return err
		}
		entries, err := r.Read(next, lac)
		if err := holds(entries, err, next, lac); err != nil {
			return err
		}
		next = lac + 1
	}
}

// BenchmarkAppends: three copies of 100 bytes, acknowledged by two, with fsync.
func BenchmarkAppends(b *testing.B) {
	l := newLoopback(b, 3)
	w, err := l.client.Create(options(3, 3, 2))
	if err != nil {
		b.Fatal(err)
	}
	done := newWindow(l.host)
	body := make([]byte, 100)
	b.ResetTimer()
	ops := make([]client.Op, b.N)
	go func() {
		for i := range ops {
			ops[i].Done = done
			if err := w.Append(body, &ops[i]); err != nil {
				panic(err)
			}
		}
	}()
	if err := done.drain(b.N); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestCloseUnderLoadOverLoopback: several tasks append to one writer, read, and recover, while the client is closed. All
// of them end, and the checks of loopback.close hold.
func TestCloseUnderLoadOverLoopback(t *testing.T) {
	for round := range 3 {
		l := newLoopback(t, 3)
		w, err := l.client.Create(options(3, 3, 2))
		if err != nil {
			t.Fatal(err)
		}
		if err := pipeline(l.host, w, 0, 100); err != nil {
			t.Fatal(err)
		}
		r, err := l.client.OpenNoRecovery(w.ID(), open)
		if err != nil {
			t.Fatal(err)
		}
		g := l.host.Root().New("users")
		for range 4 {
			g.Go("append", func() {
				for err := error(nil); err == nil; {
					_, err = w.AppendOne(payload(1))
				}
			})
			g.Go("read", func() {
				for err := error(nil); err == nil; {
					var entries *client.Entries
					if entries, err = r.BatchRead(0, 50, 0); err != nil && errors.Is(err, client.ErrBeyondLAC) {
						_, err = r.WaitFor(0, time.Second)
					}
					entries.Release()
				}
			})
		}
		g.Go("wait", func() { _, _ = r.WaitFor(1<<40, 0) })
		if round == 2 {
			g.Go("recover", func() { _, _ = l.client.Recover(w.ID(), open) })
		}
		time.Sleep(30 * time.Millisecond)
		l.client.Close()
		g.Wait()
	}
}
