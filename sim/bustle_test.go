package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

// bustle is a world with a bit of everything: an echo server that logs what it hears to disk and is crashed and started
// again now and then, and clients that share locks and conditions.
func bustle(c Config) *World {
	w := New(c)
	server := w.NewNode("server")
	server.SetDaemon(true)
	server.OnExit(func(error, bool) { w.At(20*time.Millisecond, func() { server.Start(serveEcho) }) })
	server.Start(serveEcho)
	crashes := w.Stream("test crashes")
	for i := range 5 {
		w.At(time.Duration(crashes.Int64N(int64(400*time.Millisecond))), func() {
			if i%2 == 0 {
				server.Crash(KillProcess())
			} else {
				server.Crash(PowerCut(disk.Mixed))
			}
		})
	}
	for i := range 3 {
		start(w, fmt.Sprintf("client%d", i), callEcho)
	}
	troubleNetwork(w)
	troubleDisk(w)
	return w
}

func troubleNetwork(w *World) {
	draw := w.Stream("test network faults")
	net := w.Net()
	for range 20 {
		client := fmt.Sprintf("client%d", draw.IntN(3))
		span := time.Duration(draw.Int64N(int64(100 * time.Millisecond)))
		kind := draw.IntN(10)
		w.At(time.Duration(draw.Int64N(int64(400*time.Millisecond))), func() {
			switch kind {
			case 0, 1:
				net.Partition("server", client, kind == 1)
				w.At(span, func() { net.Heal(client, "server") })
			case 2:
				net.Reset(client, "server")
			case 3:
				net.Stall(client, "server", span)
			case 4:
				net.SlowLink(client, "server", 50, span)
			case 5:
				net.RefuseDials("server", span)
			case 6:
				w.Node(client).Pause()
				w.At(span, w.Node(client).Resume)
			case 7:
				net.Clog(client)
				w.At(span, func() { net.Unclog(client) })
			case 8:
				net.SlowReceiver(client, 5*time.Millisecond, span)
			case 9:
				w.Node(client).DriftClock(int64(span / 100_000))
			}
		})
	}
}

func troubleDisk(w *World) {
	draw := newDice(w.Seed(), "test disk faults")
	server := w.Node("server")
	server.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
		if draw.permille(5) {
			server.Crash(KillProcess())
		}
		return DiskEffect{Short: int(draw.below(2)) * 10, Stuck: draw.permille(2), Delay: draw.upTo(time.Duration(draw.below(2)) * time.Millisecond)}
	})
}

func serveEcho(h host.Host) error {
	dir, err := h.Disk("data")
	if err != nil {
		return err
	}
	name := fmt.Sprint("log", h.Rand("log name").Uint64())
	log, err := dir.Create(name)
	if err != nil {
		return err
	}
	l, err := h.Net().Listen("server:1")
	if err != nil {
		return err
	}
	mutex := h.NewMutex("log")
	var off int64
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		h.Root().Go("echo", func() {
			defer c.Close() //nolint:errcheck // a test
			buffer := h.Memory().Get(100)
			defer h.Memory().Put(buffer)
			for {
				n, err := c.Read(buffer)
				if err != nil {
					return
				}
				mutex.Lock()
				if host.WriteFullAt(log, buffer[:n], off) == nil {
					off += int64(n)
				}
				mutex.Unlock()
				if log.Sync() != nil || c.WriteBuffers([][]byte{buffer[:n]}) != nil {
					return
				}
			}
		})
	}
}

func callEcho(h host.Host) {
	g := h.Root().New("callers")
	mutex := h.NewMutex("turn")
	turn := g.NewCond(mutex)
	turns := 0
	for i := range 4 {
		g.Go("caller", func() {
			for range 20 {
				callOnce(h, i)
				mutex.Lock()
				turns++
				turn.Broadcast()
				if turns < 40 {
					turn.WaitFor(time.Millisecond)
				}
				mutex.Unlock()
			}
		})
	}
	g.Wait()
}

func callOnce(h host.Host, i int) {
	c, err := h.Net().Dial("server:1", host.Within(h, h.Root(), 50*time.Millisecond))
	if err != nil {
		h.Root().Sleep(5 * time.Millisecond)
		return
	}
	defer c.Close() //nolint:errcheck // a test
	c.Limits(50*time.Millisecond, 50*time.Millisecond)
	text := fmt.Sprintf("hello from caller %d, at length", i)
	if c.WriteBuffers([][]byte{[]byte(text)}) != nil {
		return
	}
	for got := 0; got < len(text); {
		n, err := c.Read(make([]byte, 64))
		if err != nil {
			if err == io.EOF || errors.Is(err, host.ErrReset) || errors.Is(err, host.ErrTimeout) {
				return
			}
			panic(err)
		}
		got += n
	}
	h.Probe().Mark(host.Event{Name: "test.echoed", A: int64(i)})
}

// swarm draws a configuration, so that the determinism tests cover every policy and knob.
func swarm(seed uint64) Config {
	d := newDice(seed, "test swarm")
	return Config{Seed: seed, Policy: Policy(d.below(3)), PCTDepth: 5, PCTSteps: 5000, LockYieldPermille: int(d.below(300)),
		DelayPermille: int(d.below(100)), DelayMax: time.Millisecond}
}

func TestSameSeedGivesTheSameHistory(t *testing.T) {
	noLeak(t)
	seen := map[uint64]bool{}
	for seed := uint64(1); seed <= 12; seed++ {
		first, second := bustle(swarm(seed)), bustle(swarm(seed))
		a, b := finish(t, first), finish(t, second)
		if a.Hash != b.Hash || a.Events != b.Events || a.At != b.At {
			t.Fatalf("seed %d: %s and %s", seed, a.Summary(), b.Summary())
		}
		if x, y := first.Node("server").Disk("data").Model().ImageHash(), second.Node("server").Disk("data").Model().ImageHash(); x != y {
			t.Fatalf("seed %d: equal histories left different disks", seed)
		}
		if first.Node("server").Epoch() < 3 || first.Node("client0").Visits("test.echoed") == 0 {
			t.Fatalf("seed %d: the world is too quiet to prove anything", seed)
		}
		if seen[a.Hash] {
			t.Fatalf("seed %d has the history of another seed", seed)
		}
		seen[a.Hash] = true
	}
}

// TestSameHistoryInAnotherProcess runs this test binary again under other settings of the runtime, and with another
// seed for Go's own maps.
func TestSameHistoryInAnotherProcess(t *testing.T) {
	const asked = "LAKEBED_SIM_PRINT_HISTORY"
	v := finish(t, bustle(swarm(7)))
	here := fmt.Sprintf("history %x %d", v.Hash, v.Events)
	if os.Getenv(asked) != "" {
		fmt.Println(here)
		return
	}
	for _, setting := range []string{"GOMAXPROCS=1", "GOMAXPROCS=8", "GOGC=1"} {
		again := exec.Command(os.Args[0], "-test.run=^TestSameHistoryInAnotherProcess$")
		again.Env = append(os.Environ(), asked+"=1", setting)
		output, err := again.CombinedOutput()
		check(t, err)
		mustContain(t, string(output), here)
	}
}

func TestWatchingAWorldDoesNotChangeIt(t *testing.T) {
	blind := finish(t, bustle(swarm(3)))
	c := swarm(3)
	c.Trace, c.Recent, c.Observer = io.Discard, 1000, &Observer{to: 100}
	watched := finish(t, bustle(c))
	if blind.Hash != watched.Hash || blind.Events != watched.Events {
		t.Fatalf("%s and %s", blind.Summary(), watched.Summary())
	}
}

func TestFirstDivergenceFindsTheEvent(t *testing.T) {
	runs := 0
	replay := func(c Config) {
		runs++
		w := bustle(c)
		if runs%2 == 0 {
			w.OnMark(func(n *Node, e host.Event) {
				if n.Visits(e.Name) == 7 && n.Name() == "client1" {
					n.JumpClock(time.Second) // stands for code that behaves differently for no reason in the world
				}
			})
		}
		w.Run(time.Hour)
	}
	d, err := FirstDivergence(swarm(4), replay)
	if err != nil || d == nil {
		t.Fatalf("no divergence: %v", err)
	}
	text := d.String()
	mustContain(t, text, ">")
	second := ""
	for _, line := range d.Second {
		if line[0] == '>' {
			second = line
		}
	}
	mustContain(t, second, "clock jump")
	if d.Event < 100 {
		t.Fatalf("the divergence at event %d is too early to test the search", d.Event)
	}
}

func TestEqualRunsHaveNoDivergence(t *testing.T) {
	d, err := FirstDivergence(swarm(5), func(c Config) { bustle(c).Run(time.Hour) })
	if d != nil || err != nil {
		t.Fatalf("%v, %v", d, err)
	}
}

// TestManyTroubledWorldsFinishAndShowEveryFault is the soak of the world itself: whatever the draw, it comes to an end,
// leaves nothing behind, and each fault that is ordered meets somebody.
func TestManyTroubledWorldsFinishAndShowEveryFault(t *testing.T) {
	noLeak(t)
	seen := map[string]int64{}
	for seed := uint64(100); seed < 250; seed++ {
		w := bustle(swarm(seed))
		finish(t, w)
		for name, count := range w.Effects() {
			seen[name] += count
		}
	}
	notOrdered := map[string]bool{EffectReadError: true, EffectWriteError: true, EffectSyncError: true, EffectShortRead: true,
		EffectNoSpace: true, EffectBitRot: true, EffectLatentError: true, EffectLostWrite: true, EffectMisdirectedWrite: true,
		EffectClockJump: true, EffectLyingSync: true, EffectMemoryPressure: true}
	for _, name := range EffectNames() {
		if (seen[name] == 0) != notOrdered[name] {
			t.Errorf("%s was seen %d times", name, seen[name])
		}
	}
}

func TestStreamsOfDifferentNamesAndSeedsAreIndependent(t *testing.T) {
	first := Stream(1, "disk").Uint64()
	if Stream(1, "disk").Uint64() != first {
		t.Fatal("the same stream gives different numbers")
	}
	for _, other := range []uint64{Stream(2, "disk").Uint64(), Stream(1, "disc").Uint64(), Stream(1, "").Uint64(), Stream(1<<63|1, "disk").Uint64()} {
		if other == first {
			t.Fatal("two streams give the same numbers")
		}
	}
}

func TestExponentialHasItsMean(t *testing.T) {
	d := newDice(1, "test")
	const draws = 200_000
	var sum time.Duration
	for range draws {
		sum += d.exponential(time.Millisecond)
	}
	if mean := sum / draws; mean < 950*time.Microsecond || mean > 1050*time.Microsecond {
		t.Fatalf("the mean is %s", mean)
	}
}

// longRun is a plain world of many events, in which meddle can spoil one.
func longRun(c Config, meddle func(w *World, step int)) {
	w := New(c)
	start(w, "n", func(h host.Host) {
		for step := range 5000 {
			h.Root().Sleep(time.Millisecond)
			meddle(w, step)
		}
	})
	w.Run(time.Hour)
}

func TestFirstDivergenceLiesFarIntoTheRun(t *testing.T) {
	runs := 0
	d, err := FirstDivergence(Config{Seed: 1}, func(c Config) {
		runs++
		odd := runs%2 == 1
		longRun(c, func(w *World, step int) {
			if step == 3456 && odd {
				w.Node("n").JumpClock(1)
			}
		})
	})
	if err != nil || d == nil || d.Event != 2+3456+2 {
		t.Fatalf("%v, %v", d, err)
	}
}

func TestFirstDivergenceFollowsOneThatMoves(t *testing.T) {
	runs := 0
	moving := func(places ...int) func(Config) {
		runs = 0
		return func(c Config) {
			place := places[min(runs/2, len(places)-1)]
			odd := runs%2 == 1
			runs++
			longRun(c, func(w *World, step int) {
				if step == place && odd {
					w.Node("n").JumpClock(1)
				}
			})
		}
	}
	d, err := FirstDivergence(Config{Seed: 1}, moving(4000, 1000))
	if err != nil || d == nil || d.Event != 2+1000+2 {
		t.Fatalf("%v, %v", d, err)
	}
	d, err = FirstDivergence(Config{Seed: 1}, moving(4000, 3000, 2000, 1000, 4000, 3000, 2000, 1000, 4000, 3000))
	if d != nil || !errors.Is(err, ErrElusive) {
		t.Fatalf("%v, %v", d, err)
	}
}

func TestRunThatEndsEarlierDivergesWhereItEnds(t *testing.T) {
	runs := 0
	d, err := FirstDivergence(Config{Seed: 1}, func(c Config) {
		runs++
		odd := runs%2 == 1
		longRun(c, func(w *World, step int) {
			if step == 2000 && odd {
				w.Stop()
			}
		})
	})
	if err != nil || d == nil || d.Event != 2+2000+2 {
		t.Fatalf("%v, %v", d, err)
	}
}
