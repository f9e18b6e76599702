package sim

import (
	"io"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

// TestADriftingClockMovesWallAndElapsedAlike, and sleeps and timeouts follow it without ending early by the node's own
// clock, also when the rate changes under them.
func TestADriftingClockMovesWallAndElapsedAlike(t *testing.T) {
	noLeak(t)
	for _, ppm := range []int64{250_000, -250_000, 100, -1} {
		w := New(Config{Seed: 1})
		n := start(w, "a", func(h host.Host) {
			wall, elapsed, world := h.Now(), h.Elapsed(), w.Elapsed()
			w.Node("a").DriftClock(ppm)
			for i := range 40 {
				before := h.Elapsed()
				h.Root().Sleep(time.Duration(1+i*7) * time.Millisecond)
				if slept := h.Elapsed() - before; slept < time.Duration(1+i*7)*time.Millisecond {
					t.Errorf("%d ppm: slept %s of %d ms", ppm, slept, 1+i*7)
				}
			}
			passed := w.Elapsed() - world
			gained := h.Elapsed() - elapsed - passed
			want := time.Duration(int64(passed) * ppm / ppmAll)
			if diff := gained - want; diff < -time.Microsecond || diff > time.Microsecond {
				t.Errorf("%d ppm: gained %s in %s, want %s", ppm, gained, passed, want)
			}
			if got := time.Duration(h.Now()-wall) - passed; got != gained {
				t.Errorf("%d ppm: the wall clock gained %s, elapsed time %s", ppm, got, gained)
			}
			w.Node("a").DriftClock(0)
			before, world := h.Elapsed(), w.Elapsed()
			h.Root().Sleep(time.Second)
			if own, real := h.Elapsed()-before, w.Elapsed()-world; own != real {
				t.Errorf("after the drift %s of its own are %s of the world's", own, real)
			}
			if h.Elapsed()-w.Elapsed() < gained-time.Microsecond {
				t.Error("the end of a drift takes back what it gained")
			}
		})
		finish(t, w)
		if n.clock.ppm != 0 || w.Effects()[EffectClockDrift] == 0 {
			t.Errorf("%d ppm: left %d, effects %v", ppm, n.clock.ppm, w.Effects())
		}
	}
	w := New(Config{Seed: 1})
	start(w, "a", func(h host.Host) {
		w.At(100*time.Millisecond, func() { w.Node("a").DriftClock(-500_000) })
		before := h.Elapsed()
		h.Root().Sleep(time.Second)
		if slept := h.Elapsed() - before; slept < time.Second || w.Elapsed() < 1900*time.Millisecond {
			t.Errorf("a clock that slows down in the sleep: slept %s, until %s", slept, w.Elapsed())
		}
	})
	finish(t, w)
}

// TestASlowReceiverHoldsItsWriterUp: the window fills, and everything arrives all the same.
func TestASlowReceiverHoldsItsWriterUp(t *testing.T) {
	noLeak(t)
	took := map[bool]time.Duration{}
	for _, slow := range []bool{false, true} {
		profile := LAN()
		profile.WindowBytes = 2000
		w := New(Config{Seed: 1, Net: profile})
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
			if slow {
				w.Net().SlowReceiver("b", 50*time.Millisecond, time.Hour)
			}
			check(t, send(c, strings.Repeat("x", 20_000)))
			took[slow] = w.Elapsed()
			check(t, c.Close())
			host.AwaitStop(h.Root())
		})
		finish(t, w)
		if len(got) != 20_000 || slow != (w.Effects()[EffectSlowReceiver] > 0) {
			t.Errorf("slow %v: %d bytes arrived, effects %v", slow, len(got), w.Effects())
		}
	}
	if took[true] < 400*time.Millisecond || took[false] > 100*time.Millisecond {
		t.Errorf("the writer took %v", took)
	}
}

// TestAClogHoldsEveryLinkOfANodeUntilItsEnd, dials included, and loses nothing; a partition on one of the links stays.
func TestAClogHoldsEveryLinkOfANodeUntilItsEnd(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	echo := func(h host.Host, c host.Conn) {
		b := make([]byte, 10)
		n, err := c.Read(b)
		check(t, err)
		check(t, send(c, string(b[:n])))
		check(t, c.Close())
	}
	serve(t, w, echo)
	start(w, "a", func(h host.Host) {
		for _, which := range []string{"a", "b"} {
			c := dialB(t, h)
			w.Net().Clog(which)
			w.At(time.Second, func() { w.Net().Unclog(which) })
			began := w.Elapsed()
			check(t, send(c, "one"))
			got, _ := readAll(c)
			if d := w.Elapsed() - began; got != "one" || d < time.Second || d > 2*time.Second {
				t.Errorf("clog of %s: %q came after %s", which, got, d)
			}
			check(t, c.Close())
			w.Net().Clog(which)
			w.At(time.Second, func() { w.Net().Unclog(which) })
			began = w.Elapsed()
			c = dialB(t, h)
			if d := w.Elapsed() - began; d < time.Second {
				t.Errorf("clog of %s: dialled after %s", which, d)
			}
			check(t, send(c, "two"))
			_, _ = readAll(c)
			check(t, c.Close())
		}
		c := dialB(t, h)
		w.Net().Partition("a", "b", false)
		w.Net().Clog("b")
		w.Net().Unclog("b")
		c.Limits(time.Second, 0)
		check(t, send(c, "three"))
		if got, err := readAll(c); got != "" || err == nil {
			t.Errorf("the end of a clog ended a partition: %q", got)
		}
		w.Net().HealAll()
		check(t, c.Close())
		w.Stop()
	})
	finish(t, w)
	if w.Effects()[EffectClog] == 0 || w.Effects()[EffectPartition] == 0 {
		t.Errorf("effects %v", w.Effects())
	}
}

// TestMemoryPressureShowsWhatTheMediaHolds, and makes reads go there.
func TestMemoryPressureShowsWhatTheMediaHolds(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "a", func(h host.Host) {
		v := w.Node("a").Disk("data")
		v.SetFaults(func(op *DiskOp) DiskEffect {
			if op.Kind == DiskSync && op.Nth == 2 {
				return DiskEffect{Device: func(int64) disk.Landing { return disk.Landing{Lost: true} }}
			}
			return DiskEffect{}
		})
		dir, err := h.Disk("data")
		check(t, err)
		f, err := dir.Create("f")
		check(t, err)
		for _, text := range []string{"old", "new"} {
			check(t, host.WriteFullAt(f, []byte(text), 0))
			check(t, f.Sync())
		}
		read := func() string {
			b := make([]byte, 3)
			_, err := host.ReadFull(f, b, 0)
			check(t, err)
			return string(b)
		}
		if got := read(); got != "new" {
			t.Errorf("before the pressure: %q", got)
		}
		w.Node("a").PressMemory(time.Second)
		if got := read(); got != "old" {
			t.Errorf("under pressure: %q", got)
		}
		before := w.Effects()[EffectMemoryPressure]
		h.Root().Sleep(2 * time.Second)
		read()
		if after := w.Effects()[EffectMemoryPressure]; before == 0 || after != before {
			t.Errorf("%d reads were pressed, %d after the end", before, after-before)
		}
		check(t, f.Close())
	})
	finish(t, w)
}

// TestALyingSyncKeepsNothingFromAPowerCut: it says that all is well, of files and of names, and a killed process loses
// nothing by it.
func TestALyingSyncKeepsNothingFromAPowerCut(t *testing.T) {
	noLeak(t)
	for _, how := range []How{KillProcess(), PowerCut(disk.Drop)} {
		w := New(Config{Seed: 1})
		lying := true
		n := w.NewNode("a")
		v := n.Disk("data")
		v.SetFaults(func(op *DiskOp) DiskEffect {
			return DiskEffect{Lie: lying && (op.Kind == DiskSync || op.Kind == DiskSyncDir)}
		})
		there := map[int]bool{}
		boot := func(h host.Host) error {
			dir, err := h.Disk("data")
			check(t, err)
			_, err = dir.Open("f")
			there[n.Epoch()] = err == nil
			if n.Epoch() == 2 {
				return nil
			}
			f, err := dir.Create("f")
			check(t, err)
			check(t, host.WriteFullAt(f, []byte("text"), 0))
			check(t, f.Sync())
			check(t, dir.SyncDir())
			w.At(0, func() { n.Crash(how) })
			host.AwaitStop(h.Root())
			return nil
		}
		n.OnExit(func(error, bool) {
			if n.Epoch() == 1 {
				n.Start(boot)
			}
		})
		n.Start(boot)
		finish(t, w)
		if there[2] != !how.power || w.Effects()[EffectLyingSync] != 2 {
			t.Errorf("power cut %v: the file is there: %v, effects %v", how.power, there[2], w.Effects())
		}
	}
}
