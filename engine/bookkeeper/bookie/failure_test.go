package bookie_test

import (
	"fmt"
	"testing"

	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// failureKind is a way in which seam calls fail.
type failureKind struct {
	name  string
	calls int // so many calls in a row, of the same volume
	make  func(op *sim.DiskOp) sim.DiskEffect
}

var failureKinds = []failureKind{
	{"input/output error", 1, func(*sim.DiskOp) sim.DiskEffect {
		return sim.DiskEffect{Err: host.ErrIO}
	}},
	{"input/output error, and a failed sync forgets its pages", 1, func(*sim.DiskOp) sim.DiskEffect {
		return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
	}},
	{"no space", 1, func(*sim.DiskOp) sim.DiskEffect {
		return sim.DiskEffect{Err: host.ErrNoSpace}
	}},
	{"no space for a while", 12, func(op *sim.DiskOp) sim.DiskEffect {
		if op.Kind == sim.DiskRead || op.Kind == sim.DiskOpen || op.Kind == sim.DiskList {
			return sim.DiskEffect{}
		}
		return sim.DiskEffect{Err: host.ErrNoSpace, Short: int(op.Length / 2)}
	}},
	{"short transfer", 3, func(op *sim.DiskOp) sim.DiskEffect {
		return sim.DiskEffect{Short: int(1 + op.Length/3)}
	}},
	{"short transfer, then an error", 1, func(op *sim.DiskOp) sim.DiskEffect {
		return sim.DiskEffect{Short: int(1 + op.Length/2), Err: host.ErrIO}
	}},
}

// failure is where and how the calls of a trial fail.
type failure struct {
	seed uint64
	call int
	kind failureKind
	// between the lives the power is cut as well: what an error only left in the page cache must not count
	mode disk.Survival
	late bool // but not before the next life has recovered: it finds in the page cache what the media may not have
}

func (f failure) String() string {
	return fmt.Sprintf("seed %d, call %d: %s, then power cuts, %s, late: %v", f.seed, f.call, f.kind.name, f.mode, f.late)
}

// run runs a trial in which calls fail from f.call on. reached is false if the scenario ended before.
func (f failure) run() (t *trial, reached bool, err error) {
	t = newTrial(f.seed)
	t.tolerant = true
	t.between = func() {
		if !f.late || t.checking > 0 {
			t.node.Crash(sim.PowerCut(f.mode))
		}
	}
	passed, left, volume := 0, f.kind.calls, ""
	t.disturb = func(life, _ int, op *sim.DiskOp) sim.DiskEffect {
		if t.scenarioIsOver() {
			return sim.DiskEffect{}
		}
		passed++
		if passed == f.call {
			reached, volume = true, op.Volume
		}
		if passed < f.call || left == 0 || op.Volume != volume {
			return sim.DiskEffect{}
		}
		left--
		return f.kind.make(op)
	}
	err = t.run()
	return t, reached, err
}

// TestEveryFailedCallLosesNothing lets every seam call of the scenario fail, in every way. The bookie goes on as if
// nothing had been, or stops and says so; it never answers wrongly meanwhile, and after the restart everything that it
// acknowledged is there.
func TestEveryFailedCallLosesNothing(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 7
	}
	modes := []disk.Survival{disk.Drop, disk.RandomPages, disk.Keep, disk.Torn}
	points, survived := 0, 0
	for call := 1; ; call += stride {
		ended := false
		for i, kind := range failureKinds {
			f := failure{seed: uint64(1 + (call+i)%3), call: call, kind: kind, mode: modes[(call/3+i)%len(modes)], late: (call+2*i)%3 == 0}
			trial, reached, err := f.run()
			if err != nil {
				t.Fatalf("%v: %v", f, err)
			}
			ended = ended || !reached
			if !trial.disturbed {
				survived++
			}
		}
		if ended {
			break
		}
		points++
	}
	trials := points * len(failureKinds)
	t.Logf("%d points, %d trials; the bookie went on in %d of them", points, trials, survived)
	if survived < trials/10 || survived > trials*9/10 {
		t.Errorf("the bookie went on in %d of %d trials: either no failure matters or none is survived", survived, trials)
	}
}
