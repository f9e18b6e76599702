package sim

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

// volume opens the volume that the disk tests use.
func volume(t *testing.T, h host.Host) host.Dir {
	t.Helper()
	dir, err := h.Disk("data")
	check(t, err)
	return dir
}

func writeFile(t *testing.T, dir host.Dir, name, text string) host.File {
	t.Helper()
	f, err := dir.Create(name)
	check(t, err)
	check(t, host.WriteFullAt(f, []byte(text), 0))
	return f
}

func readFile(dir host.Dir, name string) string {
	f, err := dir.Open(name)
	if err != nil {
		return err.Error()
	}
	defer f.Close() //nolint:errcheck // a test
	size, _ := f.Size()
	b := make([]byte, size)
	if _, err := host.ReadFull(f, b, 0); err != nil {
		return err.Error()
	}
	return string(b)
}

// lives starts one boot after the other on a node, each when the one before ended or crashed.
func lives(n *Node, boots ...func(h host.Host)) {
	next := func() {
		if n.Epoch() < len(boots) {
			f := boots[n.Epoch()]
			n.Start(func(h host.Host) error {
				f(h)
				return nil
			})
		}
	}
	n.OnExit(func(error, bool) { next() })
	next()
}

func TestKillKeepsThePageCacheAndAPowerCutDoesNot(t *testing.T) {
	for _, how := range []How{KillProcess(), PowerCut(disk.Drop)} {
		w := New(Config{Seed: 1})
		n := w.NewNode("n")
		read := ""
		lives(n, func(h host.Host) {
			dir := volume(t, h)
			f := writeFile(t, dir, "f", "synced")
			check(t, f.Sync())
			check(t, dir.SyncDir())
			check(t, host.WriteFullAt(f, []byte("not"), 6))
			n.Crash(how)
		}, func(h host.Host) { read = readFile(volume(t, h), "f") })
		finish(t, w)
		want := "syncednot"
		if how.power {
			want = "synced"
		}
		if read != want {
			t.Fatalf("read %q, want %q", read, want)
		}
		if lost := w.Effects()["lost-unsynced"]; (lost > 0) != how.power {
			t.Fatalf("lost-unsynced %d", lost)
		}
	}
}

func TestPowerCutReachesANodeThatExited(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Start(func(h host.Host) error {
		check(t, writeFile(t, volume(t, h), "f", "text").Close())
		return nil
	})
	w.At(time.Second, func() { n.Crash(PowerCut(disk.Drop)) })
	finish(t, w)
	if entries, _ := n.Disk("data").Model().Root().List(); len(entries) != 0 {
		t.Fatal("an unsynced name survived")
	}
	if w.Effects()["lost-name"] != 1 {
		t.Fatal(w.Effects())
	}
}

func TestCrashReleasesDirectoryLocksAndFiles(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	lives(n, func(h host.Host) {
		dir := volume(t, h)
		_, err := dir.Lock()
		check(t, err)
		if _, err := dir.Lock(); !errors.Is(err, host.ErrLocked) {
			t.Errorf("second lock: %v", err)
		}
		f := writeFile(t, dir, "f", "text")
		check(t, f.Sync())
		n.Crash(KillProcess())
	}, func(h host.Host) {
		dir := volume(t, h)
		release, err := dir.Lock()
		check(t, err)
		release()
		check(t, dir.Remove("f"))
		if free, total, err := dir.Usage(); err != nil || free != total {
			t.Errorf("the file of a dead process still takes space: %d of %d free, %v", free, total, err)
		}
	})
	finish(t, w)
}

func TestFaultHookDecidesEveryOperation(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	var ops []string
	broken := errors.New("broken")
	n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
		ops = append(ops, fmt.Sprintf("%s:%s:%d:%d:%d", op.Kind, op.Path, op.Offset, op.Length, op.Nth))
		switch fmt.Sprintf("%s%d", op.Kind, op.Nth) {
		case "write2":
			return DiskEffect{Short: 3}
		case "write3":
			return DiskEffect{Short: 2, Err: host.ErrIO}
		case "write4":
			return DiskEffect{Err: host.ErrNoSpace}
		case "read2":
			return DiskEffect{Short: 1}
		case "read3":
			return DiskEffect{Err: broken}
		case "read4":
			return DiskEffect{Delay: time.Minute}
		case "sync1":
			return DiskEffect{Err: host.ErrIO}
		}
		return DiskEffect{}
	})
	n.Start(func(h host.Host) error {
		sub, err := volume(t, h).Sub("d")
		check(t, err)
		f, err := sub.Create("f")
		check(t, err)
		write := func(wantN int64, want error) {
			t.Helper()
			got, err := f.WriteBuffersAt([][]byte{[]byte("01"), []byte("23456789")}, 0)
			if got != wantN || !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("wrote %d, %v", got, err)
			}
		}
		write(10, nil)
		write(3, nil)
		write(2, host.ErrIO)
		write(0, host.ErrNoSpace)
		read := func(wantN int, want error) {
			t.Helper()
			got, err := f.ReadAt(make([]byte, 5), 2)
			if got != wantN || !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Errorf("read %d, %v", got, err)
			}
		}
		read(5, nil)
		read(1, nil)
		read(0, broken)
		before := h.Elapsed()
		read(5, nil)
		if h.Elapsed() < before+time.Minute {
			t.Error("the delay took no time")
		}
		if err := f.Sync(); !errors.Is(err, host.ErrIO) {
			t.Error(err)
		}
		if _, err := f.ReadAt(make([]byte, 5), 7); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		check(t, f.Sync())
		return nil
	})
	finish(t, w)
	all := strings.Join(ops, " ")
	mustContain(t, all, "create:d:0:0:1 create:d/f:0:0:2 write:d/f:0:10:1")
	mustContain(t, all, "read:d/f:2:5:4 sync:d/f:0:4096:1")
	e := w.Effects()
	for name, want := range map[string]int64{"short-write": 1, "write-error": 1, "no-space": 1, "short-read": 1, "read-error": 1, "slow-disk": 1, "sync-error": 1} {
		if e[name] != want {
			t.Errorf("%s: %d, want %d", name, e[name], want)
		}
	}
}

func TestFailedSyncThatMarksCleanIsNotMadeUpFor(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
		if op.Kind == DiskSync && op.Nth == 1 {
			return DiskEffect{Err: host.ErrIO, MarkClean: true}
		}
		return DiskEffect{}
	})
	read := ""
	lives(n, func(h host.Host) {
		dir := volume(t, h)
		f := writeFile(t, dir, "f", "text")
		check(t, dir.SyncDir())
		if f.Sync() == nil {
			t.Error("the sync succeeded")
		}
		check(t, f.Sync())
		n.Crash(PowerCut(disk.Drop))
	}, func(h host.Host) { read = readFile(volume(t, h), "f") })
	finish(t, w)
	if read == "text" {
		t.Fatal("the second sync wrote what the first had failed to write")
	}
}

func TestNodeCrashesAtItsNthWrite(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
		if op.Kind == DiskWrite && op.Nth == 3 {
			n.Crash(KillProcess())
		}
		return DiskEffect{}
	})
	read := ""
	lives(n, func(h host.Host) {
		f := writeFile(t, volume(t, h), "f", "1")
		for i := range int64(5) {
			check(t, host.WriteFullAt(f, []byte{byte('2' + i)}, 1+i))
		}
	}, func(h host.Host) { read = readFile(volume(t, h), "f") })
	finish(t, w)
	if read != "12" {
		t.Fatalf("read %q: the third write was to be the last thing the node tries", read)
	}
}

func TestStuckOperationEndsByUnstickOrCrash(t *testing.T) {
	noLeak(t)
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	v := n.Disk("data")
	v.SetFaults(func(op *DiskOp) DiskEffect { return DiskEffect{Stuck: op.Kind == DiskSync} })
	var ended time.Duration
	lives(n, func(h host.Host) {
		f := writeFile(t, volume(t, h), "f", "text")
		check(t, f.Sync())
		ended = h.Elapsed()
		f.Sync() //nolint:errcheck // never returns
		t.Error("a stuck operation returned")
	})
	w.At(time.Minute, v.Unstick)
	w.At(2*time.Minute, func() { n.Crash(KillProcess()) })
	finish(t, w)
	if ended != time.Minute || w.Effects()["stuck-disk"] != 2 {
		t.Fatalf("ended at %s, %v", ended, w.Effects())
	}
}

func TestStuckDiskIsNamedInADeadlock(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect { return DiskEffect{Stuck: op.Kind == DiskSync} })
	n.Start(func(h host.Host) error { return writeFile(t, volume(t, h), "f", "text").Sync() })
	v := expect(t, w, Deadlock)
	mustContain(t, v.Waits[0].For, "stuck disk data/f")
}

func TestRotIsCountedWhenItIsRead(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	v := n.Disk("data")
	lives(n, func(h host.Host) {
		dir := volume(t, h)
		f := writeFile(t, dir, "f", "text")
		check(t, f.Sync())
		check(t, dir.SyncDir())
		n.Crash(PowerCut(disk.Keep))
	}, func(h host.Host) {
		check(t, v.Model().Rot("f", 1, 0))
		if w.Effects()["bit-rot"] != 0 {
			t.Error("counted before it was read")
		}
		if got := readFile(volume(t, h), "f"); got != "tdxt" {
			t.Errorf("read %q", got)
		}
	})
	finish(t, w)
	if w.Effects()["bit-rot"] != 1 {
		t.Fatal(w.Effects())
	}
}

func TestSyncsQueueAtTheDevice(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	n.Disk("data").SetProfile(DiskProfile{BytesPerSecond: 1 << 20})
	start2 := func(h host.Host) {
		dir := volume(t, h)
		for i := range 4 {
			h.Root().Go("writer", func() {
				f := writeFile(t, dir, fmt.Sprint(i), strings.Repeat("x", 1<<20))
				check(t, f.Sync())
			})
		}
		h.Root().Wait()
		if h.Elapsed() != startDelay+4*time.Second {
			t.Errorf("four times one second of transfer took %s", h.Elapsed())
		}
	}
	lives(n, start2)
	finish(t, w)
}

func TestReplacedDiskIsEmpty(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	lives(n, func(h host.Host) {
		check(t, writeFile(t, volume(t, h), "f", "text").Sync())
		n.OnExit(func(error, bool) {
			n.Disk("data").Replace(1 << 20)
			lives(n, nil, func(h host.Host) {
				entries, err := volume(t, h).List()
				if _, total, _ := volume(t, h).Usage(); err != nil || len(entries) != 0 || total != 1<<20 {
					t.Errorf("%v %v of %d", entries, err, total)
				}
			})
		})
	})
	finish(t, w)
	if n.Epoch() != 2 {
		t.Fatal("there was no second life")
	}
}

func TestDiskErrorsSayWhatWasDoneToWhat(t *testing.T) {
	w := New(Config{Seed: 1})
	start(w, "n", func(h host.Host) {
		dir := volume(t, h)
		_, err := dir.Open("missing")
		if !errors.Is(err, host.ErrNotExist) {
			t.Error(err)
		}
		mustContain(t, err.Error(), "open n/data/missing")
		f := writeFile(t, dir, "f", "")
		check(t, f.Close())
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, host.ErrClosed) {
			t.Error(err)
		}
		if _, err := dir.Create("f"); !errors.Is(err, host.ErrExist) {
			t.Error(err)
		}
		check(t, dir.Rename("f", "g"))
		if got := readFile(dir, "g"); got != "" {
			t.Error(got)
		}
	})
	finish(t, w)
}

func TestInjectedErrorsReachEveryKindOfOperation(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("n")
	armed := diskKinds
	n.Disk("data").SetFaults(func(op *DiskOp) DiskEffect {
		if op.Kind == armed {
			return DiskEffect{Err: host.ErrIO}
		}
		return DiskEffect{}
	})
	n.Start(func(h host.Host) error {
		dir := volume(t, h)
		f := writeFile(t, dir, "f", "text")
		second := func(_ any, err error) error { return err }
		operations := [diskKinds]func() error{
			DiskRead:     func() error { return second(f.ReadAt(make([]byte, 1), 0)) },
			DiskWrite:    func() error { return second(f.WriteBuffersAt([][]byte{{1}}, 0)) },
			DiskSync:     f.Sync,
			DiskSyncDir:  dir.SyncDir,
			DiskCreate:   func() error { return second(dir.Create("new")) },
			DiskOpen:     func() error { return second(dir.Open("f")) },
			DiskRename:   func() error { return dir.Rename("f", "f") },
			DiskRemove:   func() error { return dir.Remove("new") },
			DiskList:     func() error { return second(dir.List()) },
			DiskAllocate: func() error { return f.Allocate(0, 100_000) },
			DiskTruncate: func() error { return f.Truncate(3) },
		}
		for kind, operation := range operations {
			armed = DiskKind(kind)
			if err := operation(); !errors.Is(err, host.ErrIO) {
				t.Errorf("%s: %v", armed, err)
			}
			armed = diskKinds
			if err := operation(); err != nil {
				t.Errorf("%s without the fault: %v", DiskKind(kind), err)
			}
		}
		if size, err := f.Size(); size != 3 || err != nil {
			t.Errorf("size %d, %v", size, err)
		}
		return nil
	})
	finish(t, w)
	if e := w.Effects(); e[EffectReadError] != 3 || e[EffectSyncError] != 2 || e[EffectWriteError] != 6 {
		t.Fatal(e)
	}
}

func TestTransferTimeIsExact(t *testing.T) {
	for _, c := range []struct {
		bytes, speed int64
		want         time.Duration
	}{{0, 5, 0}, {10, 0, 0}, {1 << 20, 1 << 20, time.Second}, {3, 2, 1500 * time.Millisecond}, {1, 1_250_000_000, 0}, {1250, 1_250_000_000, time.Microsecond}, {1 << 40, 1 << 29, 2048 * time.Second}} {
		if got := transferTime(c.bytes, c.speed); got != c.want {
			t.Errorf("%d bytes at %d/s take %s, want %s", c.bytes, c.speed, got, c.want)
		}
	}
}

// TestAnOperationOnItsWayIsNotStuckForEver: the disk is unstuck after an operation was found to get stuck and before it
// does. Seed 901071 of a campaign: the operation hung in a healed world.
func TestAnOperationOnItsWayIsNotStuckForEver(t *testing.T) {
	w := New(Config{Seed: 1})
	n := w.NewNode("node")
	v := n.Disk("data")
	v.SetProfile(DiskProfile{Names: time.Second})
	v.SetFaults(func(op *DiskOp) DiskEffect { return DiskEffect{Stuck: op.Kind == DiskCreate} })
	n.Start(func(h host.Host) error {
		dir, err := h.Disk("data")
		if err != nil {
			return err
		}
		f, err := dir.Create("file")
		if err != nil {
			return err
		}
		return f.Close()
	})
	w.At(2*time.Millisecond, v.Unstick)
	if verdict := w.Run(time.Hour); verdict.Failed() {
		t.Fatal(verdict.Summary())
	}
}
