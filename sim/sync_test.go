package sim

import (
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
)

func TestDeadlockVerdictNamesEveryWait(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		ledgers, journal := h.NewMutex("ledgers"), h.NewMutex("journal")
		h.Root().Go("first", func() {
			ledgers.Lock()
			h.Root().Sleep(time.Second)
			journal.Lock()
		})
		h.Root().Go("second", func() {
			journal.Lock()
			h.Root().Sleep(time.Second)
			ledgers.Lock()
		})
		h.Root().Wait()
	})
	v := expect(t, w, Deadlock)
	if len(v.Waits) != 3 {
		t.Fatalf("%d waits:\n%s", len(v.Waits), v.String())
	}
	for _, part := range []string{"lock journal", "lock ledgers", "join root", "first#", "second#", "TestDeadlockVerdictNamesEveryWait"} {
		mustContain(t, v.String(), part)
	}
}

func TestDaemonsMayBeLeftWaiting(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "server", func(h host.Host) { h.Root().NewGate().Wait() }).SetDaemon(true)
	start(w, "client", func(h host.Host) { h.Root().Sleep(time.Second) })
	finish(t, w)
}

func TestEventsWithoutTimeAreAVerdict(t *testing.T) {
	noLeak(t)
	for _, policy := range []Policy{Random, FIFO, PCT} {
		w := New(Config{Seed: 1, Policy: policy, MaxEventsAtOneInstant: 1000})
		start(w, "n", func(h host.Host) {
			h.Root().Go("spinner", func() {
				for h.Root().Sleep(0) {
				}
			})
			h.Root().Wait()
		})
		expect(t, w, NoTimeAdvance)
	}
}

func TestLoopThatIgnoresTheStopIsAVerdictAndNoHang(t *testing.T) {
	for _, waiting := range []string{"sleep", "cond", "gate"} {
		w := New(Config{Seed: 1, MaxEventsAtOneInstant: 1000})
		n := start(w, "n", func(h host.Host) {
			m := h.NewMutex("m")
			c, g := h.Root().NewCond(m), h.Root().NewGate()
			m.Lock()
			for {
				switch waiting {
				case "sleep":
					h.Root().Sleep(time.Second)
				case "cond":
					c.Wait()
				case "gate":
					g.Wait()
				}
			}
		})
		w.At(time.Minute, n.Stop)
		if v := w.Run(time.Hour); v.Kind != NoTimeAdvance {
			t.Fatalf("%s: %s", waiting, v.Summary())
		}
	}
}

func TestTooManyEventsAreALivelock(t *testing.T) {
	w := New(Config{Seed: 1, MaxEvents: 5000})
	sleepers(w, 3)
	if v := expect(t, w, Livelock); v.Events < 5000 || v.Events > 5010 {
		t.Fatal(v.Summary())
	}
}

func TestTaskThatOnlyReadsACounterIsALivelock(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1, MaxCallsInOneStep: 10_000})
	start(w, "n", func(h host.Host) {
		flag := h.NewCounter("flag")
		for flag.Load() == 0 {
		}
	})
	v := expect(t, w, Livelock)
	mustContain(t, v.Stack, "TestTaskThatOnlyReadsACounter")
}

func TestTimeLimitSaysWhereEachTaskIs(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) { host.AwaitStop(h.Root()) })
	v := w.Run(90 * time.Second)
	if v.Kind != TimeLimit || v.At != 90*time.Second || len(v.Waits) != 1 {
		t.Fatal(v.String())
	}
	mustContain(t, v.Waits[0].Stack, "AwaitStop")
}

func TestStopEndsTheRun(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	sleepers(w, 10)
	w.At(time.Millisecond, w.Stop)
	if v := finish(t, w); v.At != time.Millisecond {
		t.Fatal(v.Summary())
	}
}

// counts lets tasks increase a number with a scheduling point between read and write.
func counts(c Config, locked bool) int {
	w := New(c)
	total := 0
	w.NewNode("n").Start(func(h host.Host) error {
		m, other := h.NewMutex("m"), h.NewMutex("other")
		for range 5 {
			h.Root().Go("adder", func() {
				for range 20 {
					if locked {
						m.Lock()
					}
					seen := total
					other.Lock()
					other.Unlock() //lint:ignore SA2001 a place where tasks may change
					total = seen + 1
					if locked {
						m.Unlock()
					}
				}
			})
		}
		h.Root().Wait()
		return nil
	})
	if v := w.Run(time.Hour); v.Failed() {
		panic(v.String())
	}
	return total
}

func TestMutexExcludes(t *testing.T) {
	for seed := range uint64(10) {
		if got := counts(Config{Seed: seed, LockYieldPermille: 500, DelayPermille: 100, DelayMax: time.Second}, true); got != 100 {
			t.Fatalf("seed %d: %d", seed, got)
		}
	}
}

func TestLockYieldsExposeARace(t *testing.T) {
	if got := counts(Config{Seed: 1}, false); got != 100 {
		t.Fatalf("without lock yields a task is not interrupted, yet %d", got)
	}
	if got := counts(Config{Seed: 1, LockYieldPermille: 200}, false); got >= 100 {
		t.Fatal("lock yields interrupt nobody")
	}
}

func TestWrongUseOfAMutexPanics(t *testing.T) {
	cases := map[string]func(h host.Host){
		"nobody holds":   func(h host.Host) { h.NewMutex("m").Unlock() },
		"that it holds":  func(h host.Host) { m := h.NewMutex("m"); m.Lock(); m.Lock() },
		"own group":      func(h host.Host) { h.Root().Go("t", func() { h.Root().Wait() }); h.Root().Wait() },
		"another task":   func(h host.Host) { m := h.NewMutex("m"); m.Lock(); h.Root().Go("t", m.Unlock); h.Root().Wait() },
		"a mutex nobody": func(h host.Host) { h.Root().NewCond(h.NewMutex("m")).Wait() },
	}
	for part, f := range cases {
		w := New(Config{Seed: 1})
		start(w, "n", f)
		v := expect(t, w, Panic)
		if part != "a mutex nobody" {
			mustContain(t, v.Message, part)
		}
	}
}

func TestCondWakesInOrderOfArrival(t *testing.T) {
	for _, policy := range []Policy{Random, FIFO, PCT} {
		w := New(Config{Seed: 7, Policy: policy})
		var order []int
		start(w, "n", func(h host.Host) {
			m := h.NewMutex("m")
			c := h.Root().NewCond(m)
			for i := range 5 {
				h.Root().Go("waiter", func() {
					h.Root().Sleep(time.Duration(i+1) * time.Second)
					m.Lock()
					if !c.Wait() {
						t.Error("not signalled")
					}
					order = append(order, i)
					m.Unlock()
				})
			}
			h.Root().Sleep(time.Minute)
			for range 5 {
				c.Signal()
				h.Root().Sleep(time.Second)
			}
			h.Root().Wait()
		})
		finish(t, w)
		if fmt.Sprint(order) != "[0 1 2 3 4]" {
			t.Fatal(order)
		}
	}
}

func TestTimedWaitSaysWhyItEnded(t *testing.T) {
	w := New(Config{Seed: 1})
	var got []host.Woke
	n := start(w, "n", func(h host.Host) {
		m := h.NewMutex("m")
		c := h.Root().NewCond(m)
		signaller := h.Root().New("signaller")
		signaller.Go("signaller", func() {
			signaller.Sleep(3 * time.Second)
			c.Signal()
		})
		m.Lock()
		for range 4 {
			got = append(got, c.WaitFor(2*time.Second))
		}
		m.Unlock()
		signaller.Wait()
	})
	w.At(4*time.Second, n.Stop)
	finish(t, w)
	if fmt.Sprint(got) != fmt.Sprint([]host.Woke{host.TimedOut, host.Signalled, host.Stopping, host.Stopping}) {
		t.Fatal(got)
	}
}

func TestStopWakesOnlyWaitersOfItsGroup(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		m := h.NewMutex("m")
		stopped, child := h.Root().New("stopped"), h.Root().New("stopped").New("child")
		results := make([]bool, 3)
		stopped.Go("cond", func() {
			m.Lock()
			results[0] = stopped.NewCond(m).Wait()
			m.Unlock()
		})
		stopped.Go("sleep", func() { results[1] = stopped.Sleep(time.Hour) })
		child.Go("child", func() { results[2] = child.Sleep(time.Minute) })
		h.Root().Sleep(time.Second)
		stopped.Stop()
		stopped.Wait()
		if h.Elapsed() != startDelay+time.Second || results[0] || results[1] {
			t.Errorf("at %s: %v", h.Elapsed(), results)
		}
		child.Wait()
		if !results[2] || child.Stopping() {
			t.Error("the stop reached a child")
		}
		late := false
		stopped.Go("late", func() { late = !stopped.Sleep(time.Hour) })
		stopped.Wait()
		if !late {
			t.Error("a task of a stopping group runs and sees the stop")
		}
	})
	finish(t, w)
}

func TestOpenGateWinsOverAStop(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		g := h.Root().New("g")
		opened, shut := g.NewGate(), g.NewGate()
		results := make([]bool, 4)
		g.Go("waiter of a gate that opens after the stop", func() { results[0] = opened.Wait() })
		g.Go("waiter of a gate that stays shut", func() { results[1] = shut.Wait() })
		h.Root().Sleep(time.Second)
		g.Stop()
		opened.Open()
		g.Wait()
		g.Go("late", func() { results[2], results[3] = opened.Wait(), shut.Wait() })
		g.Wait()
		if fmt.Sprint(results) != "[true false true false]" {
			t.Error(results)
		}
	})
	finish(t, w)
}

func TestMutexIsHeldAfterEveryKindOfWait(t *testing.T) {
	w := New(Config{Seed: 1, LockYieldPermille: 300})
	n := start(w, "n", func(h host.Host) {
		m := h.NewMutex("m")
		c := h.Root().NewCond(m)
		inside := 0
		g := h.Root().New("g")
		for range 6 {
			g.Go("waiter", func() {
				for range 20 {
					m.Lock()
					c.WaitFor(time.Millisecond)
					inside++
					if inside != 1 {
						t.Error("two tasks hold the mutex")
					}
					g.Sleep(time.Microsecond)
					inside--
					m.Unlock()
					c.Signal()
				}
			})
		}
		g.Wait()
	})
	w.At(10*time.Millisecond, n.Stop)
	finish(t, w)
}

func TestPoliciesScheduleDifferently(t *testing.T) {
	orders := map[string]bool{}
	for _, policy := range []Policy{Random, FIFO, PCT} {
		w := New(Config{Seed: 5, Policy: policy, PCTDepth: 3, PCTSteps: 50})
		order := ""
		start(w, "n", func(h host.Host) {
			for i := range 8 {
				h.Root().Go("t", func() {
					for range 3 {
						order += fmt.Sprint(i)
						h.Root().Sleep(time.Second)
					}
				})
			}
			h.Root().Wait()
		})
		finish(t, w)
		if policy == FIFO && order[8:] != "0123456701234567" {
			t.Fatal(order)
		}
		orders[order] = true
	}
	if len(orders) != 3 {
		t.Fatal(orders)
	}
}

func TestDelaysKeepWokenTasksFromRunning(t *testing.T) {
	w := New(Config{Seed: 1, DelayPermille: 500, DelayMax: time.Second})
	late := 0
	start(w, "n", func(h host.Host) {
		for range 100 {
			before := h.Elapsed()
			h.Root().Sleep(time.Second)
			if h.Elapsed() > before+time.Second {
				late++
			}
		}
	})
	finish(t, w)
	if late < 30 || late > 70 {
		t.Fatalf("%d of 100 wake-ups were late", late)
	}
}

func TestWorldFinishesWhenOnlyDaemonsRunAndNothingIsPlanned(t *testing.T) {
	for _, planned := range []time.Duration{0, time.Minute} {
		w := New(Config{Seed: 1})
		start(w, "server", func(h host.Host) { host.AwaitStop(h.Root()) }).SetDaemon(true)
		start(w, "client", func(h host.Host) { h.Root().Sleep(time.Second) })
		if planned > 0 {
			w.At(planned, func() {})
		}
		if v := finish(t, w); v.At != max(planned, startDelay+time.Second) {
			t.Fatal(v.Summary())
		}
	}
}
