package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// drip sends bytes one at a time, a second apart, and returns after how long the other side has had enough.
func drip(h host.Host, conn host.Conn, bytes []byte) (time.Duration, error) {
	begun := h.Elapsed()
	for _, b := range bytes {
		if conn.WriteBuffers([][]byte{{b}}) != nil {
			return h.Elapsed() - begun, nil
		}
		h.Root().Sleep(time.Second)
	}
	return 0, fmt.Errorf("all %d bytes were taken", len(bytes))
}

// TestWhoDripsItsHelloIsCut: a byte now and then keeps no connection open, whether it is a Hello that does not end or the
// frame that it claims is long. The bound is on the whole request.
func TestWhoDripsItsHelloIsCut(t *testing.T) {
	welcome := hello(0)
	for name, bytes := range map[string][]byte{
		"half a hello":   welcome.Append(nil),
		"a long request": append([]byte{0, 0x10, 0, 0}, make([]byte, 100)...),
	} {
		worlds(t, func(w *sim.World, h host.Host) error {
			r, err := dial(h)
			if err != nil {
				return err
			}
			defer r.close()
			took, err := drip(h, r.conn, bytes)
			if err != nil || took > 12*time.Second {
				return fmt.Errorf("%s: cut after %v: %w", name, took, err)
			}
			return nil
		})
	}
}

// TestAServerThatDripsItsWelcomeIsLeft for the next one, within the connect timeout.
func TestAServerThatDripsItsWelcomeIsLeft(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		listener, err := h.Net().Listen("client:1")
		if err != nil {
			return err
		}
		g := h.Root().New("dripping")
		g.Go("drip", func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = drip(h, conn, append([]byte{0, 0x40, 0, 0}, make([]byte, 200)...))
				_ = conn.Close()
			}
		})
		config := clientConfig(addr, 10*time.Second)
		config.Addresses = []string{"client:1", addr}
		c, err := service.Connect(h, h.Root(), config)
		if err != nil {
			return err
		}
		err = c.Sync(host.Within(h, nil, 15*time.Second))
		_ = listener.Close()
		err = errors.Join(err, c.Close())
		g.Wait()
		return err
	})
}

// TestAWatchThatTheServerRefusesIsAskedForAgain: nobody waits for ever for what the server had no room to watch. Until it
// has, the watch is told now and then to look.
func TestAWatchThatTheServerRefusesIsAskedForAgain(t *testing.T) {
	server := small()
	server.Limits.WatchesMax = 2
	for seed := range uint64(8) {
		err := inServer(seed, sim.LAN(), server, func(w *sim.World, h host.Host) error {
			c, err := connected(h)
			if err != nil {
				return err
			}
			var held []metadata.Watch
			for _, key := range []string{"/a", "/b", "/refused"} {
				watch, err := c.Watch(key, h.Root())
				if err != nil {
					return err
				}
				held = append(held, watch)
			}
			refused := held[2]
			h.Root().Sleep(time.Minute)
			refused.WaitFor(time.Second) // told that it is, and what has gathered
			if woke := refused.WaitFor(time.Minute); woke != host.Signalled {
				return fmt.Errorf("the refused watch is left alone: %v", woke)
			}
			before := w.Events()
			h.Root().Sleep(10 * time.Minute)
			if events := w.Events() - before; events > 25*2*10*60*3/10 {
				return fmt.Errorf("%d events in ten minutes", events)
			}
			held[0].Close() // now there is room
			h.Root().Sleep(time.Minute)
			refused.WaitFor(time.Second)
			if woke := refused.WaitFor(time.Minute); woke != host.TimedOut {
				return fmt.Errorf("the watch is still refused: %v", woke)
			}
			if _, err := c.Create("/refused", nil, metadata.Persistent, nil); err != nil {
				return err
			}
			if woke := refused.WaitFor(time.Second); woke != host.Signalled {
				return fmt.Errorf("the watch was not told: %v", woke)
			}
			return c.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWatchesOfAllTogetherAreBounded: connections that each stay within their own bound do not fill the server's memory.
func TestWatchesOfAllTogetherAreBounded(t *testing.T) {
	server := small()
	server.Limits.WatchesBytesMax = 10 << 10
	err := inServer(1, sim.LAN(), server, func(w *sim.World, h host.Host) error {
		watched := 0
		for i := range 20 {
			r, err := dial(h)
			if err != nil {
				return err
			}
			defer r.close()
			if err := r.send(hello(0)); err != nil {
				return err
			}
			if _, err := r.next(); err != nil {
				return err
			}
			for j := range 5 {
				key := fmt.Sprintf("/%d/%d/%0900d", i, j, 0)
				if err := r.send(service.Request{Operation: service.Watch, Sequence: int64(j + 2), Key: key}); err != nil {
					return err
				}
				response, err := r.next()
				if err != nil || response.Code != service.OK && response.Code != service.Limit {
					return fmt.Errorf("%+v, %w", response, err)
				}
				if response.Code == service.OK {
					watched++
				}
			}
		}
		if watched < 5 || watched > 11 {
			return fmt.Errorf("%d watches of 900 bytes fit into 10 KiB", watched)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestThousandsOfSessionsAreBounded, and are gone when their timeout is, several with one look at all sessions: what a crowd
// leaves behind costs the next client nothing but a wait.
func TestThousandsOfSessionsAreBounded(t *testing.T) {
	server := small()
	server.Limits.SessionsMax = 1000
	err := inServer(1, sim.LAN(), server, func(w *sim.World, h host.Host) error {
		refused := 0
		for range 3000 {
			r, err := dialNow(h)
			if err != nil {
				return err
			}
			err = r.send(hello(0))
			response, nextErr := r.next()
			r.close()
			if err = errors.Join(err, nextErr); err != nil {
				return err
			}
			if response.Code == service.Limit {
				refused++
			}
		}
		if refused != 2000 {
			return fmt.Errorf("%d of 3000 sessions were refused", refused)
		}
		expired := int64(0)
		w.OnMark(func(n *sim.Node, e host.Event) {
			if e.Name == service.PointExpired {
				expired++
			}
		})
		before := w.Events()
		h.Root().Sleep(15 * time.Second)                                            // they expire, each at a time of its own
		if looks := w.Events() - before - expired; expired != 1000 || looks > 100 { // a mark is an event
			return fmt.Errorf("%d looks at all sessions for the end of %d", looks, expired)
		}
		c, err := connected(h)
		if err != nil {
			return err
		}
		return c.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dialNow is dial for a server that is known to listen.
func dialNow(h host.Host) (*raw, error) {
	for {
		conn, err := h.Net().Dial(addr, nil)
		if err == nil {
			return &raw{conn, wire.NewInput(h.Memory(), 128, service.ResponseBytesMax)}, nil
		}
		if !errors.Is(err, host.ErrRefused) {
			return nil, err
		}
		h.Root().Sleep(10 * time.Millisecond)
	}
}

// TestWatchesThatCameAndWentAreForgotten: keys that were watched while nothing could be sent leave nothing behind.
func TestWatchesThatCameAndWentAreForgotten(t *testing.T) {
	worlds(t, func(w *sim.World, h host.Host) error {
		config := clientConfig(addr, 10*time.Second)
		config.WatchesMax = 8
		c, err := service.Connect(h, h.Root(), config)
		if err != nil {
			return err
		}
		if err := c.Sync(nil); err != nil {
			return err
		}
		for i := range 1000 { // the writer does not come round
			watch, err := c.Watch(fmt.Sprint("/k", i), h.Root())
			if err != nil {
				return err
			}
			watch.Close()
			if n := c.Unsettled(); n > 4*8 {
				return fmt.Errorf("%d keys are remembered", n)
			}
		}
		return errors.Join(c.Sync(nil), c.Close())
	})
}

// TestARefusedWatchOnThisMachine is told again and again, for the race detector too.
func TestARefusedWatchOnThisMachine(t *testing.T) {
	bounds := small()
	bounds.Limits.WatchesMax = 1
	config := oshost.Config{Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	err := oshost.Run(context.Background(), config, func(h host.Host) error {
		listener, err := h.Net().Listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		s, err := service.Serve(h, h.Root(), listener, bounds)
		if err != nil {
			return err
		}
		defer s.Close()
		c, err := service.Connect(h, h.Root(), clientConfig(s.Addr(), time.Second))
		if err != nil {
			return err
		}
		held, err := c.Watch("/a", h.Root())
		if err != nil {
			return err
		}
		held.Wait()
		refused, err := c.Watch("/b", h.Root())
		if err != nil {
			return err
		}
		for range 2 {
			if woke := refused.WaitFor(time.Minute); woke != host.Signalled {
				return fmt.Errorf("the refused watch: %v", woke)
			}
		}
		return c.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestManyHostileClientsDoNotFillTheLog: the first lines and the count of the others are there, as soon as the next
// line after the interval.
func TestManyHostileClientsDoNotFillTheLog(t *testing.T) {
	const clients = 200
	server := small()
	server.PeerLog = host.LogBound{Lines: 3, Interval: time.Hour}
	lines, leftOut := 0, int64(0)
	err := inServer(1, sim.LAN(), server, func(w *sim.World, h host.Host) error {
		w.OnLog(func(_ *sim.Node, line sim.LogLine) {
			if line.Level < host.Warn {
				return
			}
			lines++
			if line.Message == "log lines were left out" {
				leftOut += line.Fields[1].Value.(int64)
			}
		})
		for i := range clients + 1 {
			if i == clients {
				h.Root().Sleep(server.PeerLog.Interval)
			}
			r, err := dial(h)
			if err != nil {
				return err
			}
			if err := r.conn.WriteBuffers([][]byte{{0xFF, 0xFF, 0xFF, 0xFF}}); err != nil {
				return err
			}
			var b [1]byte
			if _, err := r.conn.Read(b[:]); err == nil {
				return errors.New("the server answered")
			}
			r.close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := server.PeerLog.Lines + 3; lines != want || leftOut != clients-int64(server.PeerLog.Lines) {
		t.Errorf("%d lines, want %d, and %d left out of %d", lines, want, leftOut, clients)
	}
}
