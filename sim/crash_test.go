package sim

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

func TestDeferredCallsOfADeadNodeReachNothing(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	var counter host.Counter
	reached := ""
	n := start(w, "n", func(h host.Host) {
		dir, _ := h.Disk("data")
		f, err := dir.Create("f")
		check(t, err)
		counter = h.NewCounter("c")
		attempt := func(name string, f func()) {
			defer func() {
				if recover() == nil {
					reached += name + " "
				}
			}()
			f()
		}
		defer attempt("counter", func() { counter.Add(1) })
		defer attempt("write", func() { f.WriteBuffersAt([][]byte{[]byte("late")}, 0) }) //nolint:errcheck // refused
		defer attempt("sync", func() { f.Sync() })                                       //nolint:errcheck // refused
		defer attempt("create", func() { dir.Create("late") })                           //nolint:errcheck // refused
		defer attempt("dial", func() { h.Net().Dial("other:1", nil) })                   //nolint:errcheck // refused
		defer attempt("mark", func() { h.Probe().Mark(host.Event{Name: "late"}) })
		defer attempt("park", func() { h.Root().Sleep(time.Second) })
		defer attempt("go", func() { h.Root().Go("late", func() {}) })
		host.AwaitStop(h.Root())
	})
	w.At(time.Second, func() { n.Crash(KillProcess()) })
	finish(t, w)
	if reached != "" || counter.Load() != 0 || n.Visits("late") != 0 {
		t.Fatalf("reached: %s; counter %d", reached, counter.Load())
	}
	entries, err := n.Disk("data").Model().Root().List()
	if err != nil || len(entries) != 1 || entries[0].Size != 0 {
		t.Fatalf("%v %v", entries, err)
	}
}

func TestDeathSwallowedByRecoverIsRaisedAgain(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	swallowed, past := 0, false
	n := start(w, "n", func(h host.Host) {
		for range 5 {
			func() {
				defer func() {
					if recover() != nil {
						swallowed++
					}
				}()
				h.Root().Sleep(time.Hour)
			}()
		}
		h.Root().Sleep(time.Hour)
		past = true
	})
	w.At(time.Second, func() { n.Crash(KillProcess()) })
	finish(t, w)
	if swallowed != 5 || past {
		t.Fatalf("swallowed %d times, past: %v", swallowed, past)
	}
}

func TestTaskThatSurvivesItsDeathIsAVerdict(t *testing.T) {
	w := New(Config{Seed: 1})
	n := start(w, "n", func(h host.Host) {
		for {
			func() {
				defer func() { _ = recover() }()
				h.Root().Sleep(time.Hour)
			}()
		}
	})
	w.At(time.Second, func() { n.Crash(KillProcess()) })
	v := expect(t, w, Panic)
	mustContain(t, v.Message, "survives its own death")
	mustContain(t, v.Stack, "TestTaskThatSurvivesItsDeath")
}

func TestNodeCrashesAtItsOwnMark(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	past, exits := false, 0
	n := w.NewNode("n")
	n.OnExit(func(err error, crashed bool) {
		if !crashed || err != nil {
			t.Errorf("exit %v, crashed %v", err, crashed)
		}
		exits++
	})
	w.OnMark(func(m *Node, e host.Event) {
		if m.Visits(e.Name) == 3 {
			m.Crash(PowerCut(disk.Drop))
			if m.Running() {
				t.Error("running after a crash")
			}
		}
	})
	n.Start(func(h host.Host) error {
		h.Root().Go("other", func() { host.AwaitStop(h.Root()) })
		for range 3 {
			h.Probe().Mark(host.Event{Name: "here"})
		}
		past = true
		return nil
	})
	finish(t, w)
	if past || exits != 1 || n.Visits("here") != 3 || w.Effects()["power-cut"] != 1 {
		t.Fatalf("past %v, exits %d, visits %d", past, exits, n.Visits("here"))
	}
}

func TestCrashCalledByTheNodesOwnTaskDoesNotReturn(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	past := false
	n := w.NewNode("n")
	n.Start(func(host.Host) error {
		n.Crash(KillProcess())
		past = true
		return nil
	})
	finish(t, w)
	if past || n.Running() {
		t.Fatal("the task went on after its crash")
	}
}

func TestControllerCrashesAndRestartsAnotherNode(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	var lives []string
	victim := w.NewNode("victim")
	boot := func(h host.Host) error {
		lives = append(lives, fmt.Sprint(w.Elapsed()))
		host.AwaitStop(h.Root())
		return errors.New("stopped")
	}
	victim.Start(boot)
	start(w, "controller", func(h host.Host) {
		for range 2 {
			h.Root().Sleep(time.Second)
			victim.Crash(KillProcess())
			victim.Start(boot)
			h.Root().Sleep(startDelay)
		}
		h.Root().Sleep(time.Second)
		victim.Stop()
	})
	finish(t, w)
	if got := strings.Join(lives, " "); got != "1ms 1.002s 2.003s" || victim.Epoch() != 3 {
		t.Fatalf("lives began at %s", got)
	}
	if victim.BootErr() == nil || victim.BootErr().Error() != "stopped" {
		t.Fatalf("boot error %v", victim.BootErr())
	}
	if e := w.Effects(); e["crash"] != 2 || e["restart"] != 2 {
		t.Fatalf("effects %v", e)
	}
}

func TestTaskStartedAndNeverRunDiesQuietly(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	ran := false
	n := start(w, "n", func(h host.Host) { ran = true })
	n.Crash(KillProcess())
	finish(t, w)
	if ran {
		t.Fatal("a dead node ran a task")
	}
}

func TestCrashOfAPausedNodeUnwindsIt(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	unwound := false
	n := start(w, "n", func(h host.Host) {
		defer func() { unwound = true }()
		h.Root().Sleep(time.Second)
	})
	w.At(startDelay+1, n.Pause)
	w.At(2*time.Second, func() { n.Crash(KillProcess()) })
	finish(t, w)
	if !unwound {
		t.Fatal("the task was forgotten")
	}
}

func TestDeadTaskUnlocksInPeace(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	unlocked := false
	n := start(w, "n", func(h host.Host) {
		m, b := h.NewMutex("m"), h.Memory().Get(10)
		defer func() { unlocked = true }()
		m.Lock()
		defer m.Unlock()
		defer h.Memory().Put(b)
		h.Root().Sleep(time.Hour)
	})
	w.At(time.Second, func() { n.Crash(KillProcess()) })
	finish(t, w)
	if !unlocked || n.MemoryInUse() != 64 {
		t.Fatalf("unlocked %v; %d bytes in hand at death", unlocked, n.MemoryInUse())
	}
}

func TestHostOfAnotherNodeOrOfTheDeadMayOnlyBeRead(t *testing.T) {
	w := New(Config{Seed: 1})
	var stolen host.Host
	var counter host.Counter
	start(w, "ended", func(h host.Host) {
		stolen, counter = h, h.NewCounter("c")
		counter.Store(5)
		h.Log(host.Note, "ended")
	})
	logged := 0
	w.OnLog(func(n *Node, l LogLine) {
		if n.Name() == "ended" && l.Message == "ended" {
			logged++
		}
	})
	start(w, "thief", func(h host.Host) {
		h.Root().Sleep(time.Second)
		if counter.Load() != 5 || stolen.Memory().InUse() != 0 {
			t.Error("what an ended process counted is gone")
		}
		stolen.Root().Sleep(time.Second)
	})
	v := expect(t, w, Panic)
	mustContain(t, v.Message, "from outside")
	if v.Node != "thief" || logged != 1 {
		t.Fatal(v.Summary(), logged)
	}
}

// TestAReleasedWorldChangesNoOther: the next one is the same as if it had been the first.
func TestAReleasedWorldChangesNoOther(t *testing.T) {
	var hashes, images [3]uint64
	for i := range hashes {
		w := New(Config{Seed: 5})
		n := start(w, "a", func(h host.Host) {
			d, err := h.Disk("data")
			if err != nil {
				t.Fatal(err)
			}
			f, err := d.Create("f")
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 20_000)
			for k := range p {
				p[k] = byte(k)
			}
			if err := errors.Join(host.WriteFullAt(f, p, 7), f.Sync(), d.SyncDir()); err != nil {
				t.Error(err)
			}
		})
		v := finish(t, w)
		hashes[i], images[i] = v.Hash, n.Disk("data").Model().ImageHash()
		w.Release()
	}
	if hashes[1] != hashes[0] || hashes[2] != hashes[0] || images[1] != images[0] || images[2] != images[0] {
		t.Errorf("hashes %x, images %x", hashes, images)
	}
}
