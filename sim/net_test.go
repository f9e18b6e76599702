package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"lakebed/engine/host"
)

// serve makes node "b" listen at port 1 and hand each connection to f. It is a daemon.
func serve(t *testing.T, w *World, f func(h host.Host, c host.Conn)) *Node {
	n := w.NewNode("b")
	n.SetDaemon(true)
	n.Start(serving(t, f))
	return n
}

func serving(t *testing.T, f func(h host.Host, c host.Conn)) func(h host.Host) error {
	return func(h host.Host) error {
		l, err := h.Net().Listen("b:1")
		if err != nil {
			t.Error(err)
			return err
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			h.Root().Go("connection", func() { f(h, c) })
		}
	}
}

func dialB(t *testing.T, h host.Host) host.Conn {
	t.Helper()
	c, err := h.Net().Dial("b:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func send(c host.Conn, text string) error { return c.WriteBuffers([][]byte{[]byte(text)}) }

// readAll reads until the stream ends, and returns what came and how it ended.
func readAll(c host.Conn) (string, error) {
	var all bytes.Buffer
	b := make([]byte, 1000)
	for {
		n, err := c.Read(b)
		all.Write(b[:n])
		if err != nil {
			return all.String(), err
		}
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func idle(host.Host, host.Conn) {}

// listening is a server that keeps its connections and does nothing with them.
func listening(h host.Host, _ host.Conn) { host.AwaitStop(h.Root()) }

func TestStreamArrivesWholeAndInOrderThroughASmallWindow(t *testing.T) {
	noLeak(t)
	for seed := range uint64(5) {
		profile := LAN()
		profile.WindowBytes, profile.SplitPermille = 3000, 500
		w := New(Config{Seed: seed, Net: profile, LockYieldPermille: 100})
		sent := make([]byte, 200_000)
		for i := range sent {
			sent[i] = byte(i*7 + i>>8)
		}
		got := ""
		serve(t, w, func(h host.Host, c host.Conn) {
			text, err := readAll(c)
			wantError(t, err, io.EOF)
			got = text
			check(t, c.Close())
			w.Stop()
		})
		start(w, "a", func(h host.Host) {
			c := dialB(t, h)
			for at := 0; at < len(sent); {
				first := min(1+at%5000, len(sent)-at)
				second := min(first/3, len(sent)-at-first)
				check(t, c.WriteBuffers([][]byte{sent[at : at+first], nil, sent[at+first : at+first+second]}))
				at += first + second
			}
			check(t, c.Close())
			host.AwaitStop(h.Root())
		})
		v := finish(t, w)
		if got != string(sent) {
			t.Fatalf("seed %d: %d bytes of %d arrived, or others", seed, len(got), len(sent))
		}
		if v.At < time.Millisecond || w.Effects()["split-read"] == 0 {
			t.Fatalf("%s, %v", v.Summary(), w.Effects())
		}
	}
}

func TestWriterWaitsForASlowReader(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, func(h host.Host, c host.Conn) {
		h.Root().Sleep(time.Minute)
		readAll(c) //nolint:errcheck // any end will do
	})
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		check(t, send(c, string(make([]byte, LAN().WindowBytes))))
		if h.Elapsed() > time.Second {
			t.Errorf("a window's worth waited until %s", h.Elapsed())
		}
		check(t, send(c, "more"))
		if h.Elapsed() < time.Minute {
			t.Errorf("more than a window was taken at %s", h.Elapsed())
		}
		check(t, c.Close())
	})
	finish(t, w)
}

func TestDialIsRefusedWhereNobodyListens(t *testing.T) {
	w := New(Config{Seed: 1})
	w.NewNode("down")
	serve(t, w, idle)
	start(w, "a", func(h host.Host) {
		for _, addr := range []string{"b:2", "down:1", "nowhere:1"} {
			_, err := h.Net().Dial(addr, nil)
			wantError(t, err, host.ErrRefused)
		}
		w.Net().RefuseDials("b", time.Minute)
		_, err := h.Net().Dial("b:1", nil)
		wantError(t, err, host.ErrRefused)
		h.Root().Sleep(time.Minute)
		check(t, dialB(t, h).Close())
	})
	finish(t, w)
	if w.Effects()["refused"] != 4 {
		t.Fatal(w.Effects())
	}
}

func TestDialEndsWithItsScope(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, idle)
	start(w, "a", func(h host.Host) {
		w.Net().Partition("a", "b", false)
		_, err := h.Net().Dial("b:1", nil)
		wantError(t, err, host.ErrTimeout)
		if h.Elapsed() != startDelay+LAN().DialTimeout {
			t.Errorf("timed out at %s", h.Elapsed())
		}
		before := h.Elapsed()
		_, err = h.Net().Dial("b:1", host.Within(h, nil, time.Second))
		wantError(t, err, host.ErrTimeout)
		if h.Elapsed() != before+time.Second {
			t.Errorf("timed out at %s", h.Elapsed())
		}
		g := h.Root().New("g")
		h.Root().Go("stopper", func() {
			h.Root().Sleep(time.Second)
			g.Stop()
		})
		for range 2 {
			_, err = h.Net().Dial("b:1", &host.Scope{Group: g})
			wantError(t, err, host.ErrStopping)
		}
		if h.Elapsed() != before+2*time.Second {
			t.Errorf("stopped at %s", h.Elapsed())
		}
		h.Root().Wait()
	})
	finish(t, w)
}

func TestPartitionHoldsBytesUntilItHeals(t *testing.T) {
	for _, oneWay := range []bool{false, true} {
		w := New(Config{Seed: 1})
		var at time.Duration
		serve(t, w, func(h host.Host, c host.Conn) {
			h.Root().Sleep(100 * time.Millisecond) // until the partition is there
			check(t, send(c, "welcome"))
			b := make([]byte, 10)
			c.Read(b) //nolint:errcheck // the time is what matters
			at = h.Elapsed()
		})
		start(w, "a", func(h host.Host) {
			c := dialB(t, h)
			w.Net().Partition("a", "b", oneWay)
			check(t, send(c, "hello"))
			c.Limits(time.Second, 0)
			n, err := c.Read(make([]byte, 10))
			if oneWay && (err != nil || n == 0) {
				t.Errorf("the open direction: %d, %v", n, err)
			}
			if !oneWay {
				wantError(t, err, host.ErrTimeout)
			}
			h.Root().Sleep(time.Minute - h.Elapsed())
			if at != 0 {
				t.Errorf("the bytes came through at %s", at)
			}
			w.Net().Heal("a", "b")
			h.Root().Sleep(time.Second)
		})
		finish(t, w)
		if at < time.Minute || at > time.Minute+LAN().RetransmitMax+time.Second {
			t.Fatalf("arrived at %s", at)
		}
		name := "partition"
		if oneWay {
			name = "one-way-partition"
		}
		if w.Effects()[name] == 0 {
			t.Fatal(w.Effects())
		}
	}
}

func TestPartitionOfTheAcknowledgementsStopsTheStream(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, func(_ host.Host, c host.Conn) { readAll(c) }) //nolint:errcheck // any end will do
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		w.Net().Partition("b", "a", true)
		w.At(time.Minute, w.Net().HealAll)
		for range 3 {
			check(t, send(c, string(make([]byte, LAN().WindowBytes))))
		}
		if h.Elapsed() < time.Minute {
			t.Errorf("three windows were sent by %s without an acknowledgement", h.Elapsed())
		}
		check(t, c.Close())
	})
	finish(t, w)
}

func TestDialGoesThroughWhenAPartitionHeals(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, idle)
	start(w, "a", func(h host.Host) {
		w.Net().Partition("a", "b", false)
		w.At(5*time.Second, func() { w.Net().Heal("a", "b") })
		check(t, dialB(t, h).Close())
		if h.Elapsed() < 5*time.Second {
			t.Errorf("connected at %s", h.Elapsed())
		}
	})
	finish(t, w)
}

func TestStallAndSlowLinkDelayBytes(t *testing.T) {
	for name, fault := range map[string]func(n *Network){
		"stall":     func(n *Network) { n.Stall("a", "b", time.Minute) },
		"slow-link": func(n *Network) { n.SlowLink("a", "b", 1_000_000, time.Minute) },
	} {
		w := New(Config{Seed: 1})
		serve(t, w, func(_ host.Host, c host.Conn) {
			_, err := c.Read(make([]byte, 1))
			check(t, err)
			check(t, c.Close())
		})
		start(w, "a", func(h host.Host) {
			c := dialB(t, h)
			fault(w.Net())
			check(t, send(c, "x"))
			_, err := c.Read(make([]byte, 1))
			wantError(t, err, io.EOF)
			if h.Elapsed() < 40*time.Second {
				t.Errorf("%s: answered at %s", name, h.Elapsed())
			}
		})
		finish(t, w)
		if w.Effects()[name] == 0 {
			t.Errorf("%s: %v", name, w.Effects())
		}
	}
}

func TestReadAndWriteTimeLimits(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, listening)
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		c.Limits(time.Second, 2*time.Second)
		before := h.Elapsed()
		_, err := c.Read(make([]byte, 1))
		wantError(t, err, host.ErrTimeout)
		if h.Elapsed() != before+time.Second {
			t.Errorf("read gave up after %s", h.Elapsed()-before)
		}
		before = h.Elapsed()
		wantError(t, send(c, string(make([]byte, 2*LAN().WindowBytes))), host.ErrTimeout)
		if h.Elapsed() != before+2*time.Second {
			t.Errorf("write gave up after %s", h.Elapsed()-before)
		}
		wantError(t, send(c, "x"), host.ErrReset) // half a write broke the connection
	})
	finish(t, w)
}

func TestAddresses(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "a", func(h host.Host) {
		net := h.Net()
		first, err := net.Listen("a:7")
		check(t, err)
		_, err = net.Listen("localhost:7")
		wantError(t, err, host.ErrExist)
		check(t, first.Close())
		again, err := net.Listen(":7")
		check(t, err)
		if again.Addr() != "a:7" {
			t.Error(again.Addr())
		}
		any, err := net.Listen("a:0")
		check(t, err)
		other, err := net.Listen("a:0")
		check(t, err)
		if any.Addr() == other.Addr() || any.Addr() == "a:0" {
			t.Error(any.Addr(), other.Addr())
		}
		for _, bad := range []string{"a", "a:x", "a:70000", "b:1"} {
			if _, err := net.Listen(bad); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
		c, err := net.Dial(any.Addr(), nil)
		check(t, err)
		s, err := any.Accept()
		check(t, err)
		if c.Peer() != any.Addr() || s.Peer() == any.Addr() {
			t.Error(c.Peer(), s.Peer())
		}
	})
	finish(t, w)
}

func TestPlanIsToldOfEverySendBeforeItHappens(t *testing.T) {
	w := New(Config{Seed: 1})
	heard := ""
	serve(t, w, func(_ host.Host, c host.Conn) { heard, _ = readAll(c) })
	var sends []string
	w.Net().OnSend(func(s *Send) {
		sends = append(sends, fmt.Sprint(s.From.Name(), s.To.Name(), s.Bytes, " ", s.Nth))
		if s.Nth == 3 {
			s.From.Crash(KillProcess())
		}
	})
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		for range 4 {
			check(t, send(c, "xy"))
			h.Root().Sleep(time.Second)
		}
	})
	start(w, "witness", func(h host.Host) { h.Root().Sleep(time.Minute) })
	finish(t, w)
	if got := fmt.Sprint(sends); got != "[ab2 1 ab2 2 ab2 3]" || heard != "xyxy" {
		t.Fatal(got, heard)
	}
}
