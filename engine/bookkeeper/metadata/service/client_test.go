package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

// connected is a client that has a session.
func connected(h host.Host) (*service.Client, error) {
	c, err := service.Connect(h, h.Root(), clientConfig(addr, 10*time.Second))
	if err != nil {
		return nil, err
	}
	return c, c.Sync(nil)
}

// worlds runs a test in worlds of several seeds.
func worlds(t *testing.T, client func(w *sim.World, h host.Host) error) {
	t.Helper()
	for seed := range uint64(8) {
		if err := inWorld(seed, client); err != nil {
			t.Fatal(err)
		}
	}
}

// resetBoth resets until both ends know: one reset may tell only one of them.
func resetBoth(w *sim.World) {
	for range 10 {
		w.Net().Reset("client", "metadata")
	}
}

// TestASessionSurvivesItsConnections: after resets the session and its ephemeral keys are there, and a watch that was
// made before is told of changes after.
func TestASessionSurvivesItsConnections(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		a, err := connected(h)
		if err != nil {
			return err
		}
		other, err := connected(h)
		if err != nil {
			return err
		}
		session := a.Session()
		if _, err := a.Create("/e", nil, metadata.Ephemeral, nil); err != nil {
			return err
		}
		watch, err := a.Watch("/w", h.Root())
		if err != nil {
			return err
		}
		for range 5 {
			resetBoth(w)
			if _, err := a.Get("/e", nil); err != nil { // waits for the next connection
				return err
			}
			if _, err := other.Create("/w", nil, metadata.Persistent, nil); err != nil {
				return err
			}
			for _, err := a.Get("/w", nil); err != nil; _, err = a.Get("/w", nil) {
				if !watch.Wait() {
					return errors.New("the watch ended")
				}
			}
			if err := other.Delete("/w", metadata.AnyVersion, nil); err != nil {
				return err
			}
		}
		if a.Session() != session {
			return errors.New("the session is another")
		}
		return errors.Join(a.Close(), other.Close())
	})
}

// TestWritesUnderWayWhenTheConnectionBreaksAreUnknown, reads are asked again, and what was not sent is sent later.
func TestWritesUnderWayWhenTheConnectionBreaksAreUnknown(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		w.Net().Partition("client", "metadata", false)
		g := h.Root().New("calls")
		var sent [3]error
		var read error
		for i := range sent {
			g.Go("create", func() { _, sent[i] = c.Create(fmt.Sprint("/k", i), nil, metadata.Persistent, nil) })
			h.Root().Sleep(10 * time.Millisecond) // in this order; three fill the wire
		}
		var unsent error
		g.Go("create", func() { _, unsent = c.Create("/k9", nil, metadata.Persistent, nil) })
		g.Go("get", func() { _, read = c.Get("/none", nil) })
		h.Root().Sleep(100 * time.Millisecond)
		resetBoth(w)
		w.Net().HealAll()
		g.Wait()
		for _, err := range sent {
			if err := is("sent", err, metadata.ErrOutcomeUnknown); err != nil {
				return err
			}
		}
		return errors.Join(unsent, is("read", read, metadata.ErrNotExist), c.Close())
	})
}

// TestTheScopeEndsACallAtItsDeadline: a write that was sent is unknown then, one that was not sent was not done and never
// will be.
func TestTheScopeEndsACallAtItsDeadline(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		w.Net().Partition("client", "metadata", false)
		begun := h.Elapsed()
		scope := host.Within(h, h.Root(), 300*time.Millisecond)
		_, sent := c.Create("/sent", nil, metadata.Persistent, scope)
		took := h.Elapsed() - begun
		resetBoth(w)
		h.Root().Sleep(10 * time.Millisecond)
		_, unsent := c.Create("/unsent", nil, metadata.Persistent, host.Within(h, h.Root(), time.Second))
		g := h.Root().New("stops")
		h.Root().Go("stop", func() {
			h.Root().Sleep(time.Second)
			g.Stop()
		})
		_, stopped := c.Get("/stopped", &host.Scope{Group: g})
		w.Net().HealAll()
		err = c.Sync(nil)
		_, get := c.Get("/unsent", nil)
		if took != 300*time.Millisecond {
			err = errors.Join(err, fmt.Errorf("the call ended after %v", took))
		}
		if errors.Is(unsent, metadata.ErrOutcomeUnknown) {
			err = errors.Join(err, unsent)
		}
		return errors.Join(err, is("sent", sent, metadata.ErrOutcomeUnknown), is("sent", sent, host.ErrTimeout),
			is("unsent", unsent, metadata.ErrUnavailable), is("stopped", stopped, host.ErrStopping),
			is("get", get, metadata.ErrNotExist), c.Close())
	})
}

// TestAnExpiredSessionIsReplaced: a client that was away for longer than its timeout has a new session, its ephemeral keys
// are gone, and its watches were told.
func TestAnExpiredSessionIsReplaced(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		session := c.Session()
		if _, err := c.Create("/e", nil, metadata.Ephemeral, nil); err != nil {
			return err
		}
		watch, err := c.Watch("/other", h.Root())
		if err != nil {
			return err
		}
		watch.Wait() // registered
		w.Net().Partition("client", "metadata", false)
		if woke := watch.WaitFor(15 * time.Second); woke != host.TimedOut {
			return fmt.Errorf("the watch woke: %v", woke)
		}
		w.Net().HealAll()
		begun := h.Elapsed()
		if woke := watch.WaitFor(time.Minute); woke != host.Signalled {
			return fmt.Errorf("the watch was not told: %v", woke)
		}
		if took := h.Elapsed() - begun; took > 10*time.Second {
			return fmt.Errorf("the client was back after %v", took)
		}
		if c.Session() == session {
			return errors.New("the session is the same")
		}
		_, get := c.Get("/e", nil)
		return errors.Join(is("ephemeral key", get, metadata.ErrNotExist), c.Close())
	})
}

// TestAClientWaitsForItsServer: it may start first, and outlive it. A server that has forgotten everything gives a new
// session, although its state is older than what the client has seen.
func TestAClientWaitsForItsServer(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		for i := range 20 {
			if _, err := c.Create(fmt.Sprint("/k", i), nil, metadata.Persistent, nil); err != nil {
				return err
			}
		}
		session := c.Session()
		server := w.Node("metadata")
		server.Crash(sim.KillProcess())
		late, err := service.Connect(h, h.Root(), clientConfig(addr, time.Second))
		if err != nil {
			return err
		}
		if s := late.Session(); s != 0 {
			return fmt.Errorf("session %d without a server", s)
		}
		h.Root().Go("restart", func() {
			h.Root().Sleep(5 * time.Second)
			server.Start(func(h host.Host) error { return serve(h, addr, small(), nil) })
		})
		if err := errors.Join(late.Sync(nil), c.Sync(nil)); err != nil {
			return err
		}
		_, get := c.Get("/k1", nil)
		if c.Session() == session {
			return errors.New("the session is the same")
		}
		return errors.Join(is("get", get, metadata.ErrNotExist), c.Close(), late.Close())
	})
}

// TestACallWithoutAServerSaysWhy: the address and how the last connection failed stand in the error at the deadline; a client
// that shall not wait says the same as soon as every address has refused it, and once it had a session it waits like any.
func TestACallWithoutAServerSaysWhy(t *testing.T) {
	const refused = "connect to metadata store metadata:2181: connection refused"
	worlds(t, func(w *sim.World, h host.Host) error {
		server := w.Node("metadata")
		server.Crash(sim.KillProcess())
		waits, err := service.Connect(h, h.Root(), clientConfig(addr, time.Second))
		if err != nil {
			return err
		}
		_, late := waits.Get("/k", host.Within(h, h.Root(), 5*time.Second))
		config := clientConfig(addr, time.Second)
		config.Addresses, config.GiveUpRefused = []string{addr, addr}, true
		early, err := service.Connect(h, h.Root(), config)
		if err != nil {
			return err
		}
		begun := h.Elapsed()
		_, soon := early.Get("/k", host.Within(h, h.Root(), 5*time.Second))
		took := h.Elapsed() - begun
		for _, said := range []error{late, soon} {
			if !errors.Is(said, metadata.ErrUnavailable) || !errors.Is(said, host.ErrRefused) || !strings.Contains(said.Error(), refused) {
				err = errors.Join(err, fmt.Errorf("it says %w", said))
			}
		}
		if !errors.Is(late, host.ErrTimeout) || errors.Is(soon, host.ErrTimeout) || took > 200*time.Millisecond {
			err = errors.Join(err, fmt.Errorf("%w; %w after %v", late, soon, took))
		}
		server.Start(func(h host.Host) error { return serve(h, addr, small(), nil) })
		err = errors.Join(err, early.Sync(nil))
		server.Crash(sim.KillProcess())
		_, cut := early.Get("/k", host.Within(h, h.Root(), 5*time.Second))
		return errors.Join(err, is("once connected", cut, host.ErrTimeout), early.Close(), waits.Close())
	})
}

// TestIdleSessionsCostLittle: a ping in a third of the timeout is all that happens.
func TestIdleSessionsCostLittle(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		session, before := c.Session(), w.Events()
		h.Root().Sleep(10 * time.Minute)
		pings := int64(10 * 60 * 3 / 10)
		if events := w.Events() - before; events > 25*pings {
			return fmt.Errorf("%d events in ten minutes, %d for each ping", events, events/pings)
		}
		if c.Session() != session {
			return errors.New("an idle session expired")
		}
		return c.Close()
	})
}

// TestHalfOpenConnectionsAreFoundOut by the pings that are not answered, within the session's timeout.
func TestHalfOpenConnectionsAreFoundOut(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		lost := false
		w.OnMark(func(n *sim.Node, e host.Event) { lost = lost || e.Name == service.PointLost })
		w.Net().Partition("client", "metadata", false)
		h.Root().Sleep(10 * time.Second)
		if !lost {
			return errors.New("the client still waits for its connection")
		}
		w.Net().HealAll()
		return errors.Join(c.Sync(nil), c.Close())
	})
}

// TestClosingDoesNotWaitForEver: without a server, with calls under way and watches waiting, Close ends them all.
func TestClosingDoesNotWaitForEver(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		c, err := connected(h)
		if err != nil {
			return err
		}
		watch, err := c.Watch("/w", h.Root())
		if err != nil {
			return err
		}
		watch.Wait()
		w.Net().Partition("client", "metadata", false)
		g := h.Root().New("calls")
		var sent, read error
		g.Go("create", func() { _, sent = c.Create("/k", nil, metadata.Persistent, nil) })
		g.Go("get", func() { _, read = c.Get("/k", nil) })
		woken := true
		g.Go("watch", func() { woken = watch.Wait() })
		h.Root().Sleep(100 * time.Millisecond)
		begun := h.Elapsed()
		err = c.Close()
		if took := h.Elapsed() - begun; took > 3*time.Second {
			err = errors.Join(err, fmt.Errorf("Close took %v", took))
		}
		g.Wait()
		if woken {
			err = errors.Join(err, errors.New("the watch of a closed store was told"))
		}
		watch.Close()
		return errors.Join(err, is("create", sent, metadata.ErrOutcomeUnknown), is("get", read, metadata.ErrUnavailable),
			is("get", read, host.ErrClosed))
	})
}

// TestWatchesAreBounded, and one key is watched at the server once, however often here.
func TestWatchesAreBounded(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		config := clientConfig(addr, 10*time.Second)
		config.WatchesMax = 2
		c, err := service.Connect(h, h.Root(), config)
		if err != nil {
			return err
		}
		var all []metadata.Watch
		for _, key := range []string{"/a", "/b", "/a", "/a"} {
			watch, err := c.Watch(key, h.Root())
			if err != nil {
				return err
			}
			all = append(all, watch)
		}
		_, err = c.Watch("/c", h.Root())
		if err := is("third key", err, metadata.ErrLimit); err != nil {
			return err
		}
		all[1].Close() // nobody else watches /b
		if _, err = c.Watch("/c", h.Root()); err != nil {
			return err
		}
		all[0].Close() // others still watch /a
		if _, err := c.Create("/a", nil, metadata.Persistent, nil); err != nil {
			return err
		}
		for _, watch := range all[2:] {
			if !watch.Wait() {
				return errors.New("a watch ended with another of its key")
			}
		}
		return c.Close()
	})
}
