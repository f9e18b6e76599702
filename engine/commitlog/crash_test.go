package commitlog_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// trial is one world with one store: two lives of a scenario, broken somewhere by disturb, and as many further lives as it
// takes to see what is left.
type trial struct {
	world   *sim.World
	node    *sim.Node
	config  commitlog.Config
	truth   *truth
	disturb func(life, call int, op *sim.DiskOp) sim.DiskEffect

	tolerant  bool // calls may fail, and a life may end with an error, until the check begins
	life      int
	calls     int
	perLife   []int
	disturbed bool
	checking  int
	failed    error
}

func newTrial(seed uint64, mode commitlog.FlushMode, preallocation series.Preallocation) *trial {
	config := smallConfig(mode)
	config.Preallocation, config.FileBytes, config.BodyBytesMax = preallocation, 8<<10, 1<<10
	config.CheckpointInterval, config.FlushInterval, config.QueueFileUnits = 15*time.Millisecond, 5*time.Millisecond, 8
	config.Retention.Age = 5 * time.Millisecond
	for hour := range 24 {
		config.Retention.DeleteHours = append(config.Retention.DeleteHours, hour)
	}
	durable := mode == commitlog.FlushAlways || mode == commitlog.FlushGroup
	t := &trial{world: sim.New(sim.Config{Seed: seed}), config: config, truth: newTruth(durable)}
	t.node = t.world.NewNode("broker")
	t.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		t.calls++
		if t.disturb == nil {
			return sim.DiskEffect{}
		}
		return t.disturb(t.life, t.calls, op)
	})
	return t
}

const lateLives = 2 // that check and go on writing, after the scenario was broken or is over

func (t *trial) run() error {
	t.node.OnExit(t.next)
	t.node.Start(t.boot)
	v := t.world.Run(time.Hour)
	if t.failed != nil {
		return t.failed
	}
	if v.Failed() {
		return fmt.Errorf("life %d: %s", t.life, v.String())
	}
	return nil
}

// next decides between two lives.
func (t *trial) next(err error, crashed bool) {
	t.perLife = append(t.perLife, t.calls)
	if err != nil && (t.over() || !t.tolerant) && t.failed == nil {
		t.failed = fmt.Errorf("life %d, after %v calls in the lives before, ended: %w", t.life, t.perLife, err)
	}
	t.disturbed = t.disturbed || crashed || err != nil
	if t.failed != nil || t.checking == lateLives {
		t.world.Stop()
		return
	}
	t.life++
	t.calls = 0
	t.world.At(time.Millisecond, func() { t.node.Start(t.boot) })
}

func (t *trial) over() bool { return t.disturbed || t.life >= 2 }

func (t *trial) boot(h host.Host) error {
	s, err := commitlog.Open(h, h.Root(), t.config)
	if err != nil {
		return err
	}
	if t.over() {
		if err := t.truth.check(s); err != nil {
			t.failed = fmt.Errorf("life %d, after %v calls in the lives before: %w", t.life, t.perLife, err)
		}
		t.checking++
		err = t.write(h, s, 6)
	} else {
		err = t.write(h, s, 30)
	}
	if t.failed == nil && t.checking > 0 && err != nil {
		t.failed = fmt.Errorf("life %d: %w", t.life, err)
	}
	return errors.Join(err, s.Close())
}

// write appends to four queues from as many tasks, consumes one of them meanwhile, and removes old files.
func (t *trial) write(h host.Host, s *commitlog.Store, count int) error {
	group := h.Root().New("clients")
	var failed error
	for i, topic := range []string{"orders", "payments"} {
		for queue := range int32(2) {
			group.Go("writer", func() {
				for n := range count {
					if err := t.truth.append(s, topic, queue); err != nil {
						failed = err
						return
					}
					group.Sleep(time.Duration(1+(n+i)%3) * 500 * time.Microsecond)
				}
			})
		}
	}
	group.Go("consumer", func() {
		at := int64(0)
		for range count {
			next, err := t.truth.tail(s, "orders", 1, at)
			if err != nil && !errors.Is(err, commitlog.ErrNoQueue) {
				if !t.tolerant && t.failed == nil {
					t.failed = err
				}
				return
			}
			at = next
			group.Sleep(700 * time.Microsecond)
		}
	})
	group.Go("cleaner", func() {
		for range count / 6 {
			group.Sleep(6 * time.Millisecond)
			if err := s.Clean(); err != nil {
				failed = err
				return
			}
		}
	})
	group.Wait()
	if t.tolerant && !t.over() {
		failed = nil
	}
	return failed
}

// crashPoint is where and how a trial's store crashes.
type crashPoint struct {
	seed          uint64
	mode          commitlog.FlushMode
	preallocation series.Preallocation
	call          int
	survival      disk.Survival
	kill          bool // only the process dies: its successor finds in the page cache what the media may not have
	after         bool // shortly after the call, instead of before it
	second        int  // call of the life that follows before which power is cut
}

func (p crashPoint) how() sim.How {
	if p.kill {
		return sim.KillProcess()
	}
	return sim.PowerCut(p.survival)
}

// crash runs a trial with this crash. reached is false if the scenario ended before.
func (p crashPoint) crash() (reached bool, err error) {
	t := newTrial(p.seed, p.mode, p.preallocation)
	defer t.world.Release()
	passed, again := 0, 0
	t.disturb = func(life, call int, _ *sim.DiskOp) sim.DiskEffect {
		switch {
		case reached && life == again && call == p.second:
			t.node.Crash(sim.PowerCut(p.survival))
		case reached || life > 1:
		default:
			if passed++; passed != p.call {
				break
			}
			reached, again = true, life+1
			if !p.after {
				t.node.Crash(p.how())
				break
			}
			t.world.At(time.Duration(p.call%13)*40*time.Microsecond, func() {
				if t.life == life {
					t.disturbed = true
					t.node.Crash(p.how())
				}
			})
		}
		return sim.DiskEffect{}
	}
	return reached, t.runOr(p)
}

func (t *trial) runOr(p any) error {
	if err := t.run(); err != nil {
		return fmt.Errorf("%+v: %w", p, err)
	}
	return nil
}

// arms are the stores that are enumerated.
var arms = []struct {
	mode          commitlog.FlushMode
	preallocation series.Preallocation
}{
	{commitlog.FlushGroup, series.Recycled}, {commitlog.FlushInterval, series.Fallocated},
	{commitlog.FlushNever, series.ZeroFilled}, {commitlog.FlushAlways, series.Sparse},
}

// strideOf is which of the points are taken: every one with LAKEBED_CRASH_SEEDS, which says in how many worlds, else few.
func strideOf() (stride, seeds int) {
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_CRASH_SEEDS")); err == nil {
		return 1, n
	}
	return 149, 1
}

// TestEveryCrashPointKeepsWhatWasPromised crashes the store before, and shortly after, seam calls of a scenario that appends,
// rolls, dispatches, makes checkpoints and removes files, in every way in which unsynced state may fare; crashes it again
// while it recovers; and compares what is there with what was promised. LAKEBED_CRASH_SEEDS has every call taken.
func TestEveryCrashPointKeepsWhatWasPromised(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for _, arm := range arms {
		t.Run(string(arm.mode), func(t *testing.T) {
			stride, seeds := strideOf()
			points := 0
			for seed := range seeds {
				points += crashEach(t, arm.mode, arm.preallocation, uint64(seed+1), stride)
			}
			t.Logf("%d crash points", points)
			if points*stride < 700 {
				t.Errorf("only %d crash points: the scenario has become too short", points*stride)
			}
		})
	}
}

// crashEach crashes at every stride-th call, until one is never reached, and counts the points.
func crashEach(t *testing.T, mode commitlog.FlushMode, preallocation series.Preallocation, seed uint64, stride int) (points int) {
	for call := int(seed); ; call += stride {
		for i, survival := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn, disk.Drop} {
			p := crashPoint{
				seed: seed, mode: mode, preallocation: preallocation, call: call, survival: survival, kill: i == 4,
				after: (call+i)%2 == 1, second: 1 + (call*5+i*17)%60,
			}
			reached, err := p.crash()
			if err != nil {
				t.Fatal(err)
			}
			if !reached {
				return points
			}
		}
		points++
	}
}

// TestEveryFailedCallIsHarmless lets seam calls of the scenario fail, one in each trial, and compares what the next start finds
// with what was promised. A sync that fails leaves pages that count as clean.
func TestEveryFailedCallIsHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	for _, arm := range arms {
		t.Run(string(arm.mode), func(t *testing.T) {
			stride, seeds := strideOf()
			for seed := range uint64(seeds) {
				for call := 1; failCall(t, arm.mode, arm.preallocation, seed+1, call); call += stride {
				}
			}
		})
	}
}

// failCall lets one call fail. False: the scenario ended before.
func failCall(t *testing.T, mode commitlog.FlushMode, preallocation series.Preallocation, seed uint64, call int) (reached bool) {
	failure := []error{host.ErrIO, host.ErrNoSpace}[call%2]
	w := newTrial(seed, mode, preallocation)
	defer w.world.Release()
	w.tolerant = true
	passed := 0
	w.disturb = func(life, _ int, _ *sim.DiskOp) sim.DiskEffect {
		if passed++; reached || life > 1 || passed != call {
			return sim.DiskEffect{}
		}
		reached = true
		return sim.DiskEffect{Err: failure, MarkClean: true}
	}
	if err := w.runOr(fmt.Sprintf("seed %d, %s, %s, call %d fails with %v", seed, mode, preallocation, call, failure)); err != nil {
		t.Fatal(err)
	}
	return reached
}

// TestTheScenarioMeetsWhatAStoreDoes: the enumeration is worth as much as what happens in its scenario.
func TestTheScenarioMeetsWhatAStoreDoes(t *testing.T) {
	for _, arm := range arms {
		w := newTrial(1, arm.mode, arm.preallocation)
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %s: seam calls in each life: %v", arm.mode, arm.preallocation, w.perLife)
		for _, point := range []host.Point{
			commitlog.PointRolled, commitlog.PointDispatched, commitlog.PointCheckpointed, commitlog.PointClosed,
			series.PointPrepared, series.PointRemoved, consumequeue.PointSynced, consumequeue.PointRemoved, keyindex.PointClosed,
		} {
			if w.node.Visits(point) == 0 {
				t.Errorf("%s: the scenario never came to %s", arm.mode, point)
			}
		}
	}
}
