package server_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// loopback is a bookie and a client on this machine, over real files and TCP.
type loopback struct {
	bookie, client *oshost.Host
	store          *bookie.Store
	server         *server.Server
}

// newMachine is one real process with these volumes.
func newMachine(t testing.TB, volumes map[string]string) *oshost.Host {
	t.Helper()
	h, err := oshost.New(oshost.Config{Volumes: volumes, Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newLoopback(t testing.TB, config server.Config) *loopback {
	t.Helper()
	l := &loopback{
		bookie: newMachine(t, map[string]string{bookie.JournalVolume: t.TempDir(), bookie.LedgerVolume: t.TempDir()}),
		client: newMachine(t, nil),
	}
	storeConfig := bookie.DefaultConfig()
	storeConfig.Journal.FileBytes, storeConfig.EntryLog.LogBytesMax = 64<<20, 64<<20
	storeConfig.WriteCacheBytesMax = 32 << 20
	var err error
	if l.store, err = bookie.Open(l.bookie, l.bookie.Root(), storeConfig); err != nil {
		t.Fatal(err)
	}
	listener, err := l.bookie.Net().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.server = server.Serve(l.bookie, l.bookie.Root(), l.store, listener, config)
	t.Cleanup(func() { l.close(t) })
	return l
}

// close ends everything in good order: no task and no memory is left on either side.
func (l *loopback) close(t testing.TB) {
	l.server.Close()
	if err := l.store.Close(); err != nil {
		t.Error(err)
	}
	for _, h := range []*oshost.Host{l.client, l.bookie} {
		if used := h.Memory().InUse(); used != 0 {
			t.Errorf("%d bytes are left in use", used)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (l *loopback) dial(t testing.TB) *channel.Channel {
	t.Helper()
	c, err := channel.Dial(l.client, l.client.Root(), l.server.Addr(), nil, channel.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestManyClientsOverLoopback: on real goroutines, files and sockets, for the race detector too. Each writes a ledger in
// windows, reads it back in three ways, and fences it.
func TestManyClientsOverLoopback(t *testing.T) {
	l := newLoopback(t, server.DefaultConfig())
	g := l.client.Root().New("clients")
	problems := host.NewQueue[error](l.client, g, "problems", 8)
	for id := range ledger.ID(8) {
		c := l.dial(t)
		g.Go("client", func() {
			defer c.Close()
			problems.Put(wholeLedger(l.client, c, id))
		})
	}
	g.Wait()
	all, _ := problems.Take(nil)
	for _, err := range all {
		if err != nil {
			t.Error(err)
		}
	}
}

func wholeLedger(h host.Host, c *channel.Channel, id ledger.ID) error {
	const entries = 300
	if err := writeWindow(h, c, id, entries, 200); err != nil {
		return err
	}
	for e := ledger.EntryID(0); e < entries; e += 37 {
		r, err := c.ReadEntry(id, e, 0)
		if err := holds(r, err, id, e, 200); err != nil {
			return err
		}
	}
	r, err := c.BatchRead(channel.Batch{Ledger: id, MaxCount: 1000}, 0)
	if err != nil {
		return err
	}
	if len(r.Entries) != entries {
		return fmt.Errorf("batch read of %d entries", len(r.Entries))
	}
	r.Release()
	r, err = c.FenceAndRead(id, ledger.NoEntry, key, 0)
	if err := holds(r, err, id, entries-1, 200); err != nil {
		return err
	}
	return fails("add behind the fence", c.AddEntry(add(id, entries, 10), 0), channel.ErrFenced)
}

// writeWindow stores so many entries, all outstanding at once.
func writeWindow(h host.Host, c *channel.Channel, id ledger.ID, entries, size int) error {
	done := newCollector(h, entries)
	for e := range ledger.EntryID(entries) {
		r := &channel.Request{Operation: wire.Add, MasterKey: key, Body: stored(id, e, size), Done: done}
		if err := c.Submit(r); err != nil {
			return err
		}
	}
	for _, r := range done.await(entries) {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// TestALongEntryTravelsWhole: longer than every buffer on its way, and the longest that the bookie takes.
func TestALongEntryTravelsWhole(t *testing.T) {
	l := newLoopback(t, server.DefaultConfig())
	c := l.dial(t)
	defer c.Close()
	for e, size := range []int{1 << 20, bookie.DefaultConfig().EntryBytesMax - ledger.HeaderBytes} {
		if err := c.AddEntry(add(1, ledger.EntryID(e), size), 0); err != nil {
			t.Fatal(err)
		}
		r, err := c.ReadEntry(1, ledger.EntryID(e), 0)
		if err := holds(r, err, 1, ledger.EntryID(e), size); err != nil {
			t.Error(err)
		}
		r, err = c.BatchRead(channel.Batch{Ledger: 1, First: ledger.EntryID(e), MaxCount: 1}, 0)
		if err := holds(r, err, 1, ledger.EntryID(e), size); err != nil {
			t.Error(err)
		}
	}
	err := c.AddEntry(add(1, 2, bookie.DefaultConfig().EntryBytesMax-ledger.HeaderBytes+1), 0)
	if err := fails("one byte more", err, channel.ErrBadRequest); err != nil {
		t.Error(err)
	}
}

// TestCloseUnderLoadLeavesNothing: clients and server are closed at the same time while adds are under way; every
// request ends, and the checks of loopback.close hold.
func TestCloseUnderLoadLeavesNothing(t *testing.T) {
	for round := range 5 {
		l := newLoopback(t, server.DefaultConfig())
		g := l.client.Root().New("clients")
		for id := range ledger.ID(4) {
			c := l.dial(t)
			g.Go("client", func() {
				for c.Err() == nil {
					err := writeWindow(l.client, c, id, 100, 100)
					if err != nil && !errors.Is(err, channel.ErrBroken) {
						t.Errorf("round %d: %v", round, err)
						break
					}
				}
				c.Close()
			})
		}
		time.Sleep(20 * time.Millisecond)
		l.server.Close()
		g.Wait()
	}
}

// TestSilentConnectionsLeaveOverTCP, and one that has asked for something once stays.
func TestSilentConnectionsLeaveOverTCP(t *testing.T) {
	config := server.DefaultConfig()
	config.ConnectionsMax, config.FirstFrameTimeout = 3, 500*time.Millisecond
	l := newLoopback(t, config)
	known := l.dial(t)
	defer known.Close()
	if err := known.AddEntry(add(1, 0, 10), 0); err != nil {
		t.Fatal(err)
	}
	begun := l.client.Elapsed()
	for _, bytes := range [][]byte{nil, goodAdd(1, 1)[:20]} {
		conn, err := l.client.Net().Dial(l.server.Addr(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.WriteBuffers([][]byte{bytes}); err != nil {
			t.Fatal(err)
		}
		if err := readEnd(conn); !ended(err) {
			t.Error(err)
		}
	}
	if took := l.client.Elapsed() - begun; took < config.FirstFrameTimeout {
		t.Errorf("both were ended after %v", took)
	}
	if err := known.AddEntry(add(1, 1, 10), 0); err != nil {
		t.Error(err)
	}
}
