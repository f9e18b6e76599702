package sim

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
)

func explode(p *int) int { return *p }

func TestPanicVerdictHasTheOriginalStack(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		h.Root().Go("bad", func() {
			h.Root().Sleep(time.Second)
			explode(nil)
		})
		h.Root().Wait()
	})
	v := expect(t, w, Panic)
	mustContain(t, v.Stack, "sim.explode")
	mustContain(t, v.Task, "bad")
	mustContain(t, v.Message, "nil pointer")
	if v.Node != "n" || v.At != startDelay+time.Second {
		t.Fatalf("%s", v.Summary())
	}
}

func TestPanicThatParksInADeferredCallIsVisibleInADeadlock(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		defer h.Root().NewGate().Wait()
		explode(nil)
	})
	v := expect(t, w, Deadlock)
	mustContain(t, v.String(), "while panicking")
	mustContain(t, v.String(), "sim.explode")
}

func TestGoexitInATaskIsAVerdict(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		h.Root().Go("quitter", runtime.Goexit)
		h.Root().Wait()
	})
	v := expect(t, w, Goexit)
	mustContain(t, v.Task, "quitter")
}

func TestPanicInACallbackIsAVerdict(t *testing.T) {
	w := New(Config{Seed: 1})
	w.At(time.Second, func() { explode(nil) })
	v := expect(t, w, Panic)
	mustContain(t, v.Stack, "sim.explode")
}

func TestLeftoverTasksAreNamed(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		h.Root().New("background").Go("forgotten", func() { host.AwaitStop(h.Root()) })
	})
	v := expect(t, w, LeftoverTasks)
	mustContain(t, v.Message, "root/background/forgotten")
	mustContain(t, v.String(), "waits for sleep")
}

func TestAWorldLeavesNoCoroutine(t *testing.T) {
	noLeak(t)
	for _, limit := range []time.Duration{0, time.Microsecond, time.Millisecond} {
		w := New(Config{Seed: 1})
		sleepers(w, 300)
		if v := w.Run(limit); v.Kind != TimeLimit {
			t.Fatal(v.Summary())
		}
	}
}

func TestPausedNodeDoesNotRunWhileTimeGoesOn(t *testing.T) {
	w := New(Config{Seed: 1})
	var ticks []time.Duration
	n := start(w, "n", func(h host.Host) {
		for range 4 {
			h.Root().Sleep(time.Second)
			ticks = append(ticks, h.Elapsed())
		}
	})
	w.At(1500*time.Millisecond, n.Pause)
	w.At(5*time.Second, n.Resume)
	finish(t, w)
	if got := fmt.Sprint(ticks); got != "[1.001s 5s 6s 7s]" {
		t.Fatal(got)
	}
}

func TestNodePausedAtItsOwnMarkStopsThere(t *testing.T) {
	w := New(Config{Seed: 1})
	w.OnMark(func(n *Node, _ host.Event) {
		n.Pause()
		w.At(time.Minute, n.Resume)
	})
	var after time.Duration
	start(w, "n", func(h host.Host) {
		h.Probe().Mark(host.Event{Name: "here"})
		after = h.Elapsed()
	})
	finish(t, w)
	if after != startDelay+time.Minute {
		t.Fatalf("went on at %s", after)
	}
}

func TestClockJumpsMoveNowAndNotElapsed(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Start(func(h host.Host) error {
		before := h.Now()
		n.JumpClock(-time.Hour)
		if d := h.Now() - before; d != host.Wall(-time.Hour) || h.Elapsed() != startDelay {
			t.Errorf("jumped by %d at %s", d, h.Elapsed())
		}
		return nil
	})
	finish(t, w)
	if w.Effects()["clock-jump"] != 1 {
		t.Fatal("the jump was not counted")
	}
}

func TestEachProcessHasItsOwnRandomStreams(t *testing.T) {
	w := New(Config{Seed: 1})
	var draws []uint64
	n := w.NewNode("n")
	boot := func(h host.Host) error {
		draws = append(draws, h.Rand("a").Uint64(), h.Rand("a").Uint64(), h.Rand("b").Uint64())
		return nil
	}
	n.OnExit(func(error, bool) {
		if n.Epoch() == 1 {
			n.Start(boot)
		}
	})
	n.Start(boot)
	finish(t, w)
	if len(draws) != 6 || draws[0] != draws[1] || draws[0] == draws[2] || draws[0] == draws[3] {
		t.Fatal(draws)
	}
}

func TestPerhapsVisitsAndSample(t *testing.T) {
	w := New(Config{Seed: 1})
	w.SetPerhaps(func(n *Node, p host.Point) bool { return p == "rare" && n.Visits(p) == 2 })
	sampled := 0
	n := start(w, "n", func(h host.Host) {
		for i := range 4 {
			if h.Probe().Perhaps("rare") != (i == 1) || h.Probe().Perhaps("never") {
				t.Errorf("wrong branch at visit %d", i+1)
			}
		}
		for range 10_000 {
			if h.Probe().Sample() {
				sampled++
			}
		}
		if !h.Probe().Active() {
			t.Error("the probe is active in a world")
		}
	})
	finish(t, w)
	if n.Visits("rare") != 4 || sampled < 400 || sampled > 600 {
		t.Fatalf("%d visits, %d sampled", n.Visits("rare"), sampled)
	}
}

func TestTraceHasOneReadableLineForEachEvent(t *testing.T) {
	var text strings.Builder
	w := New(Config{Seed: 1, Trace: &text})
	start(w, "n", func(h host.Host) {
		h.Log(host.Note, "hello")
		h.Probe().Mark(host.Event{Name: "test.mark", A: 7, B: 8, Extra: "x"})
		h.Root().Sleep(time.Second)
	})
	v := finish(t, w)
	if lines := strings.Count(text.String(), "\n"); int64(lines) != v.Events {
		t.Fatalf("%d lines, %d events", lines, v.Events)
	}
	for _, part := range []string{"log hello", "mark test.mark x 7 8", "1.001000000  n", "main/boot#1", "step after timer"} {
		mustContain(t, text.String(), part)
	}
}

func TestHookThatWaitsIsAVerdict(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		w.OnMark(func(*Node, host.Event) { h.Root().Sleep(time.Second) })
		h.Probe().Mark(host.Event{Name: "here"})
	})
	v := expect(t, w, Panic)
	mustContain(t, v.Message, "hook")
}
