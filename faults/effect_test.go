package faults

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/sim/disk"
)

const ms = time.Millisecond

// strong has one element of every kind that takes, or stays, long; with the effects that a node sees.
var strong = []struct {
	plan    Plan
	effects []string
	lasts   string // the mark that is missing as long as the fault is there
}{
	{one(Kill, Target{Node: "a"}, Params{StaysDown: true}), []string{"crash"}, "test.step"},
	{one(PowerCut, Target{Node: "a"}, Params{Survival: disk.Drop, StaysDown: true}), []string{"power-cut"}, "test.step"},
	{one(Stop, Target{Node: "a"}, Params{StaysDown: true}), nil, "test.step"},
	{one(Pause, Target{Node: "a"}, Params{For: time.Hour}), []string{"pause"}, "test.step"},
	{one(ClockJump, Target{Node: "a"}, Params{Jump: -time.Hour}), []string{"clock-jump"}, ""},
	{one(ClockDrift, Target{Node: "a"}, Params{For: time.Hour, PPM: -90_000}), []string{"clock-drift"}, ""},
	{one(MemoryPressure, Target{Node: "a"}, Params{For: time.Hour}), []string{"memory-pressure"}, ""},
	{one(SlowReceiver, Target{Node: "a"}, Params{For: time.Hour, Delay: 60 * ms}), []string{"slow-receiver"}, "test.answered"},
	{one(Clog, Target{Node: "b"}, Params{For: time.Hour}), []string{"clog"}, "test.answered"},
	{one(Swizzle, Target{}, Params{For: 300 * ms}), []string{"clog"}, ""},
	{one(Refuse, Target{Node: "b"}, Params{For: time.Hour}), []string{"refused"}, "test.answered"},
	{one(ReadError, onDisk, Params{For: time.Hour}), []string{"read-error"}, "test.step"},
	{one(WriteError, onDisk, Params{For: time.Hour}), []string{"write-error"}, "test.step"},
	{one(SyncError, onDisk, Params{For: time.Hour}), []string{"sync-error"}, "test.step"},
	{one(SyncDirError, onDisk, Params{For: time.Hour}), []string{"sync-error"}, "test.step"},
	{one(ShortRead, onDisk, Params{For: time.Hour, Every: 2}), []string{"short-read"}, ""},
	{one(ShortWrite, onDisk, Params{For: time.Hour, Every: 3}), []string{"short-write"}, ""},
	{one(NoSpace, onDisk, Params{For: time.Hour}), []string{"no-space"}, "test.step"},
	{one(SlowDisk, onDisk, Params{For: time.Hour, Delay: 100 * ms}), []string{"slow-disk"}, ""},
	{one(StuckDisk, onDisk, Params{For: time.Hour}), []string{"stuck-disk"}, "test.step"},
	{one(BitRot, onDisk, Params{Times: 4}), []string{"bit-rot"}, ""},
	{one(Latent, onDisk, Params{Times: 4, Length: 8 * disk.SectorSize}), []string{"latent-error"}, ""},
	{one(LostWrite, onDisk, Params{Times: 60}), []string{"lost-write"}, ""},
	{one(MisdirectedWrite, onDisk, Params{Times: 60}), []string{"misdirected-write"}, ""},
	{one(LyingSync, onDisk, Params{For: time.Hour}), []string{"lying-sync"}, ""},
	{one(Wipe, Target{Node: "a"}, Params{}), []string{"power-cut"}, ""},
	{one(Partition, Target{Node: "a"}, Params{For: time.Hour}), []string{"partition"}, "test.answered"},
	{one(OneWayPartition, Target{Node: "a", Peer: "b"}, Params{For: time.Hour}), []string{"one-way-partition"}, "test.answered"},
	{one(Reset, Target{Node: "a", Peer: "b"}, Params{}), []string{"reset"}, ""},
	{one(Stall, Target{Node: "b"}, Params{For: time.Hour}), []string{"stall"}, "test.answered"},
	{one(SlowLink, Target{Node: "a"}, Params{For: time.Hour, Factor: 1000}), []string{"slow-link"}, "test.answered"},
	{Plan{Elements: []Element{rarely("a", 90)}}, nil, ""},
}

func visit(point string, nth int64) Trigger {
	return Trigger{Visit: &Visit{Node: "a", Point: point, Nth: nth}}
}

func rarely(node string, nth int64) Element {
	return Element{ID: "rarely", Kind: Perhaps, Trigger: Trigger{Visit: &Visit{Node: node, Point: "test.rare", Nth: nth}}}
}

// TestEveryKindIsSeenByANode: the world counts the effect where the node met it. Short links hold what is in flight.
func TestEveryKindIsSeenByANode(t *testing.T) {
	seen := map[Kind]bool{}
	for _, c := range strong {
		kind := c.plan.Elements[0].Kind
		seen[kind] = true
		t.Run(string(kind), func(t *testing.T) {
			calm := newRig(t, 1, Plan{})
			calm.run(t, 600*ms)
			r := newRig(t, 1, c.plan)
			r.run(t, 600*ms)
			if len(r.driver.Firings()) != 1 {
				t.Fatalf("fired %v", r.driver.Firings())
			}
			for _, effect := range c.effects {
				if before, now := calm.world.Effects()[effect], r.world.Effects()[effect]; now <= before {
					t.Errorf("%s: %d without the fault, %d with it", effect, before, now)
				}
			}
			if c.lasts != "" && r.count("a", c.lasts, 300*ms, 600*ms) > 0 {
				t.Errorf("the fault does not last: node a still marks %s", c.lasts)
			}
		})
	}
	for _, kind := range Kinds() {
		if !seen[kind] {
			t.Errorf("%s is not tested", kind)
		}
	}
}

// TestAStoppedNodeEndsInGoodOrderAndComesBack, which no crash does.
func TestAStoppedNodeEndsInGoodOrderAndComesBack(t *testing.T) {
	r := newRig(t, 1, one(Stop, Target{Node: "a"}, Params{RestartAfter: 20 * ms}))
	r.run(t, 600*ms)
	if r.clean != 1 || r.world.Node("a").Epoch() != 2 || r.world.Effects()["crash"] != 0 {
		t.Errorf("%d clean ends, epoch %d, effects %v", r.clean, r.world.Node("a").Epoch(), r.world.Effects())
	}
	if r.count("a", "test.step", 300*ms, 600*ms) == 0 {
		t.Error("the node does nothing after its restart")
	}
}

// TestAQuestionIsAnsweredWithYesAtItsVisitOnly.
func TestAQuestionIsAnsweredWithYesAtItsVisitOnly(t *testing.T) {
	r := newRig(t, 1, Plan{Elements: []Element{rarely("a", 30)}})
	r.run(t, 600*ms)
	asked, rare := 0, 0
	for _, e := range r.events {
		if e.node == "a" && (e.name == "test.step" || e.name == "test.failed") {
			asked++
		}
		if e.name == "test.rarely" {
			rare++
			if e.node != "a" || asked != 29 {
				t.Errorf("node %s, after %d steps", e.node, asked)
			}
		}
	}
	if rare != 1 {
		t.Errorf("%d yes answers", rare)
	}
}

// TestAFailedSyncIsNotMadeUpForByTheNext: it marked the pages clean, so that the next one wrote nothing.
func TestAFailedSyncIsNotMadeUpForByTheNext(t *testing.T) {
	plan := Plan{Elements: []Element{
		{ID: "fail", Kind: SyncError, Target: onDisk, Params: Params{Times: 1}},
		{ID: "cut", Kind: PowerCut, Trigger: visit("test.synced", 1), Target: Target{Node: "a"}, Params: Params{Survival: disk.Drop}},
	}}
	read := []byte("none")
	alone(t, 1, plan, func(h host.Host, life int) {
		if life == 1 {
			_, f := newFile(t, h, "f")
			must(t, host.WriteFullAt(f, []byte("text"), 0))
			if err := f.Sync(); !errors.Is(err, host.ErrIO) {
				t.Errorf("first sync: %v", err)
			}
			must(t, f.Sync())
			h.Probe().Mark(host.Event{Name: "test.synced"})
			return
		}
		dir, err := h.Disk(testVolume)
		must(t, err)
		f, err := dir.Open("f")
		must(t, err)
		f.ReadAt(read, 0) //nolint:errcheck // the test looks at the bytes
	})
	if string(read) == "text" || string(read) == "none" {
		t.Errorf("read %q after the crash", read)
	}
}

// TestInjectedErrorsAreTheSeamsOwn, so that engine code recognizes them.
func TestInjectedErrorsAreTheSeamsOwn(t *testing.T) {
	if errInputOutput != host.ErrIO || errNoSpace != host.ErrNoSpace {
		t.Errorf("got %q and %q", errInputOutput, errNoSpace)
	}
}

// TestAFullVolumeTakesPartsAndOpensWhatIsThere: writes may be cut short before they fail, names cannot be made, and a
// directory that exists can be opened as ever.
func TestAFullVolumeTakesPartsAndOpensWhatIsThere(t *testing.T) {
	partial, none := 0, 0
	alone(t, 1, one(NoSpace, onDisk, Params{For: time.Hour}), func(h host.Host, _ int) {
		root, f := newFile(t, h, "f")
		_, err := root.Sub("there")
		must(t, err)
		h.Root().Sleep(2 * warm)
		_, err = root.Sub("there")
		must(t, err)
		full := func(what string, err error) {
			if !errors.Is(err, host.ErrNoSpace) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = root.Sub("new")
		full("make directory", err)
		_, err = root.Create("new")
		full("create", err)
		full("allocate", f.Allocate(0, 1))
		for range 40 {
			n, err := f.WriteBuffersAt([][]byte{make([]byte, 100)}, 0)
			full("write", err)
			switch {
			case n == 0:
				none++
			case n < 100:
				partial++
			default:
				t.Error("a write that failed took everything")
			}
		}
	})
	if partial == 0 || none == 0 {
		t.Errorf("%d writes took a part, %d nothing", partial, none)
	}
}

// TestTransientErrorsEndByNumberAndByTime.
func TestTransientErrorsEndByNumberAndByTime(t *testing.T) {
	for _, c := range []struct {
		params Params
		want   int64
	}{{Params{Times: 3}, 3}, {Params{Times: 3, Every: 4}, 3}} {
		r := newRig(t, 1, one(ReadError, onDisk, c.params))
		r.run(t, 600*ms)
		if got := r.world.Effects()["read-error"]; got != c.want {
			t.Errorf("%+v: %d errors", c.params, got)
		}
	}
	r := newRig(t, 1, one(ReadError, onDisk, Params{For: 50 * ms}))
	r.run(t, 600*ms)
	if n := r.count("a", "test.step", warm+5*ms, warm+50*ms); n > 0 {
		t.Errorf("%d steps succeeded while all reads were to fail", n)
	}
	if n := r.count("a", "test.failed", warm+60*ms, 600*ms); n > 0 {
		t.Errorf("%d steps failed after the end", n)
	}
}

// TestEveryKthOperationIsHit, and no other.
func TestEveryKthOperationIsHit(t *testing.T) {
	var failed []int
	plan := Plan{Elements: []Element{{ID: "e", Kind: ReadError, Target: onDisk, Params: Params{Times: 2, Every: 3}}}}
	alone(t, 1, plan, func(h host.Host, _ int) {
		_, f := newFile(t, h, "f")
		must(t, host.WriteFullAt(f, []byte("text"), 0))
		for i := 1; i <= 12; i++ {
			if _, err := f.ReadAt(make([]byte, 4), 0); err != nil {
				failed = append(failed, i)
			}
		}
	})
	if !reflect.DeepEqual(failed, []int{3, 6}) {
		t.Errorf("reads %v failed", failed)
	}
}

// TestAnErrorIsNotUsedUpWhereAnotherHidesIt.
func TestAnErrorIsNotUsedUpWhereAnotherHidesIt(t *testing.T) {
	plan := one(WriteError, onDisk, Params{Times: 1})
	second := plan.Elements[0]
	second.ID = "second"
	plan.Elements = append(plan.Elements, second)
	r := newRig(t, 1, plan)
	r.run(t, 300*ms)
	if n := r.world.Effects()["write-error"]; n != 2 {
		t.Errorf("two errors were ordered, %d were seen", n)
	}
}

// TestTargetsAreLimitedByPathAndOperation.
func TestTargetsAreLimitedByPathAndOperation(t *testing.T) {
	for _, c := range []struct {
		path, operation string
		effect          bool
	}{
		{"*.log", "", true}, {"logs/f.*", "", true}, {"f", "", false}, {"logs/*.idx", "", false},
		{"", "create", false}, {"", "write", true}, {"*.log", "allocate", true},
	} {
		target := onDisk
		target.Path, target.Operation = c.path, c.operation
		r := newRig(t, 1, one(WriteError, target, Params{For: time.Hour}))
		r.run(t, 300*ms)
		if got := r.world.Effects()["write-error"]; (got > 0) != c.effect {
			t.Errorf("path %q, operation %q: %d effects", c.path, c.operation, got)
		}
	}
}

// TestAFactorAndADelaySlowEveryOperation.
func TestAFactorAndADelaySlowEveryOperation(t *testing.T) {
	calm := newRig(t, 1, Plan{})
	calm.run(t, 600*ms)
	before := calm.count("a", "test.step", warm, 600*ms)
	for _, params := range []Params{{For: time.Hour, Factor: 50}, {For: time.Hour, Delay: 10 * ms}} {
		r := newRig(t, 1, one(SlowDisk, onDisk, params))
		r.run(t, 600*ms)
		if after := r.count("a", "test.step", warm, 600*ms); after == 0 || after > before/4 {
			t.Errorf("%+v: %d steps instead of %d", params, after, before)
		}
	}
}

// TestDamageStrikesWrittenBytesAndIsRecorded.
func TestDamageStrikesWrittenBytesAndIsRecorded(t *testing.T) {
	for _, c := range []struct {
		kind   Kind
		length int64
	}{{BitRot, 0}, {Latent, 1024}} {
		target := onDisk
		target.Path = "*.log"
		r := newRig(t, 1, one(c.kind, target, Params{Times: 3, Length: c.length}))
		r.run(t, 300*ms)
		wounds := r.driver.Damage()
		if len(wounds) != 3 {
			t.Fatalf("%s: wounds %+v", c.kind, wounds)
		}
		for _, w := range wounds {
			if w.Node != "a" || w.Volume != testVolume || w.Path != "logs/f.log" || w.Length > max(c.length, 1) || w.At != warm {
				t.Errorf("%s: %+v", c.kind, w)
			}
		}
	}
	none := onDisk
	none.Path = "*.idx"
	r := newRig(t, 1, one(BitRot, none, Params{}))
	r.run(t, 300*ms)
	if wounds := r.driver.Damage(); len(wounds) > 0 {
		t.Errorf("damage outside the pattern: %+v", wounds)
	}
}

// TestDamageFindsTheFewBytesOfAFileOfZeros, as a journal that was filled ahead of use is.
func TestDamageFindsTheFewBytesOfAFileOfZeros(t *testing.T) {
	const at, size = 5 << 20, 16 << 20
	plan := Plan{Elements: []Element{{ID: "rot", Kind: BitRot, Trigger: visit("test.idle", 1), Target: onDisk, Params: Params{Times: 20}}}}
	_, d := alone(t, 1, plan, func(h host.Host, _ int) {
		_, f := newFile(t, h, "f")
		must(t, f.Allocate(0, size))
		must(t, host.WriteFullAt(f, []byte("text"), at))
		must(t, f.Sync())
		h.Probe().Mark(host.Event{Name: "test.idle"})
	})
	if len(d.Damage()) != 20 {
		t.Errorf("%d wounds", len(d.Damage()))
	}
	for _, w := range d.Damage() {
		if w.Offset < at || w.Offset >= at+4 {
			t.Errorf("struck a zero at %d", w.Offset)
		}
	}
}
