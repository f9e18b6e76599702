package sim

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

func TestResetReachesEitherOrBothEnds(t *testing.T) {
	sides := map[string]int{}
	for seed := range uint64(40) {
		w := New(Config{Seed: seed})
		told := map[string]bool{}
		serve(t, w, func(h host.Host, c host.Conn) {
			c.Limits(time.Minute, 0)
			_, err := c.Read(make([]byte, 1))
			told["b"] = errors.Is(err, host.ErrReset)
			if err := send(c, "who is there"); told["b"] {
				wantError(t, err, host.ErrReset)
			}
			h.Root().Sleep(time.Second)
			wantError(t, send(c, "who is there"), host.ErrReset)
		})
		start(w, "a", func(h host.Host) {
			c := dialB(t, h)
			c.Limits(time.Minute, 0)
			check(t, send(c, "lost with the connection"))
			w.Net().Reset("a", "b")
			_, err := c.Read(make([]byte, 1))
			told["a"] = errors.Is(err, host.ErrReset)
			h.Root().Sleep(5 * time.Minute)
		})
		finish(t, w)
		sides[fmt.Sprint(told["a"], told["b"])]++
	}
	if len(sides) != 3 || sides["false false"] != 0 {
		t.Fatal(sides)
	}
}

func TestCloseWakesReaderAndWriter(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, listening)
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		h.Root().Go("reader", func() {
			_, err := c.Read(make([]byte, 1))
			wantError(t, err, host.ErrClosed)
		})
		h.Root().Go("writer", func() {
			wantError(t, send(c, string(make([]byte, 2*LAN().WindowBytes))), host.ErrClosed)
		})
		l, err := h.Net().Listen(":0")
		check(t, err)
		h.Root().Go("acceptor", func() {
			_, err := l.Accept()
			wantError(t, err, host.ErrClosed)
		})
		h.Root().Sleep(time.Second)
		check(t, c.Close())
		check(t, l.Close())
		h.Root().Wait()
		wantError(t, c.Close(), host.ErrClosed)
		wantError(t, l.Close(), host.ErrClosed)
	})
	finish(t, w)
}

func TestCloseWithUnreadBytesResetsThePeer(t *testing.T) {
	w := New(Config{Seed: 1})
	serve(t, w, func(h host.Host, c host.Conn) {
		h.Root().Sleep(time.Second)
		check(t, c.Close())
	})
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		check(t, send(c, "never read"))
		_, err := c.Read(make([]byte, 1))
		wantError(t, err, host.ErrReset)
	})
	finish(t, w)
}

func TestPeersOfACrashedNodeSeeAnEndAResetOrSilence(t *testing.T) {
	noLeak(t)
	for _, how := range []How{KillProcess(), PowerCut(disk.Mixed)} {
		ends := map[string]int{}
		for seed := range uint64(40) {
			w := New(Config{Seed: seed})
			b := serve(t, w, listening)
			start(w, "a", func(h host.Host) {
				c := dialB(t, h)
				c.Limits(time.Minute, 0)
				b.Crash(how)
				_, err := c.Read(make([]byte, 1))
				for _, end := range []error{io.EOF, host.ErrReset, host.ErrTimeout} {
					if errors.Is(err, end) {
						ends[end.Error()]++
					}
				}
				if !errors.Is(err, host.ErrTimeout) {
					return
				}
				check(t, send(c, "anybody?")) // nobody is there to reset us
				_, err = c.Read(make([]byte, 1))
				wantError(t, err, host.ErrTimeout)
				b.Start(serving(t, listening))
				_, err = c.Read(make([]byte, 1))
				wantError(t, err, host.ErrReset) // the system goes on sending, and the machine is back
			})
			finish(t, w)
			if half := w.Effects()["half-open"]; half > 1 {
				t.Fatal(w.Effects())
			}
		}
		quiet := host.ErrTimeout.Error()
		if len(ends) != 2 || (ends[quiet] > 0) != how.power {
			t.Fatal(ends)
		}
	}
}

func TestReaderOfASilentConnectionLearnsNothingFromAReboot(t *testing.T) {
	profile := LAN()
	profile.HalfOpenPermille = 1000
	w := New(Config{Seed: 1, Net: profile})
	b := serve(t, w, listening)
	start(w, "a", func(h host.Host) {
		c := dialB(t, h)
		b.Crash(PowerCut(disk.Mixed))
		_, err := h.Net().Dial("b:1", nil)
		wantError(t, err, host.ErrTimeout)
		b.Start(serving(t, listening))
		c.Limits(time.Minute, 0)
		_, err = c.Read(make([]byte, 1))
		wantError(t, err, host.ErrTimeout)
		check(t, send(c, "still there?"))
		_, err = c.Read(make([]byte, 1))
		wantError(t, err, host.ErrReset)
	})
	finish(t, w)
}

func TestExitedProcessClosesItsConnections(t *testing.T) {
	w := New(Config{Seed: 1})
	w.NewNode("b").Start(func(h host.Host) error {
		l, err := h.Net().Listen("b:1")
		check(t, err)
		c, err := l.Accept()
		check(t, err)
		return send(c, "last words")
	})
	start(w, "a", func(h host.Host) {
		text, err := readAll(dialB(t, h))
		wantError(t, err, io.EOF)
		if text != "last words" {
			t.Errorf("read %q", text)
		}
		_, err = h.Net().Dial("b:1", nil)
		wantError(t, err, host.ErrRefused)
	})
	finish(t, w)
}

func TestListenerThatClosesResetsWhatItDidNotAccept(t *testing.T) {
	w := New(Config{Seed: 1})
	w.NewNode("b").Start(func(h host.Host) error {
		l, err := h.Net().Listen("b:1")
		check(t, err)
		h.Root().Sleep(time.Second)
		return l.Close()
	})
	start(w, "a", func(h host.Host) {
		_, err := dialB(t, h).Read(make([]byte, 1))
		wantError(t, err, host.ErrReset)
	})
	finish(t, w)
}

func TestServerSeesTheEndOfADialThatGaveUp(t *testing.T) {
	profile := LAN()
	profile.LatencyMin, profile.LatencyMean, profile.TailPermille = time.Second, 0, 0
	w := New(Config{Seed: 1, Net: profile})
	ended := false
	serve(t, w, func(h host.Host, c host.Conn) {
		_, err := c.Read(make([]byte, 1))
		wantError(t, err, io.EOF)
		ended = true
	})
	start(w, "a", func(h host.Host) {
		_, err := h.Net().Dial("b:1", host.Within(h, nil, 1500*time.Millisecond))
		wantError(t, err, host.ErrTimeout)
		h.Root().Sleep(time.Minute)
	})
	finish(t, w)
	if !ended {
		t.Fatal("the server waits for ever")
	}
}

func TestPowerCutLosesATailOfWhatWasUnderWay(t *testing.T) {
	got := map[string]int{}
	for seed := range uint64(30) {
		w := New(Config{Seed: seed})
		b := serve(t, w, func(h host.Host, c host.Conn) {
			h.Root().Sleep(time.Second)
			for i := range 5 {
				check(t, send(c, fmt.Sprint(i)))
			}
			h.Probe().Mark(host.Event{Name: "sent"})
		})
		w.OnMark(func(*Node, host.Event) { b.Crash(PowerCut(disk.Mixed)) })
		start(w, "a", func(h host.Host) {
			c := dialB(t, h)
			c.Limits(time.Minute, 0)
			text, err := readAll(c)
			if errors.Is(err, host.ErrTimeout) { // a reset may hide what arrived before it
				got[text]++
			}
			if want := "01234"[:len(text)]; text != want {
				t.Errorf("read %q", text)
			}
		})
		finish(t, w)
	}
	if got[""] == 0 || got["01234"] == 0 {
		t.Fatal(got)
	}
}
