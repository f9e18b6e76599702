package partition_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// crashPoint is where and how a trial's node crashes.
type crashPoint struct {
	config partition.Config
	seed   uint64
	call   int // of the scenario's lives, counted through
	how    sim.How
	second int // call of the life that follows before which it crashes again; zero: never
	fail   bool
}

func (c crashPoint) String() string {
	return fmt.Sprintf("sync %s, pad %d: %+v at call %d, again at call %d of the next life", c.config.Sync, c.config.PadBytes, c.how, c.call, c.second)
}

// trial runs the scenario's two lives, broken at the crash point, and then two that check and append.
func (c crashPoint) trial() (reached bool, node *sim.Node, err error) {
	w, n := world(c.seed, c.config)
	l := newLog()
	l.prefix = c.config.Sync == partition.SyncInterval || c.config.Sync == partition.SyncNever
	calls, inLife, number, again, lates := 0, 0, 0, -1, 0
	n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
		inLife++
		if reached {
			if number == again && inLife == c.second {
				n.Crash(c.how)
			}
			return sim.DiskEffect{}
		}
		if calls++; calls != c.call || number >= 2 {
			return sim.DiskEffect{}
		}
		reached, again = true, number+1
		if c.fail {
			return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
		}
		n.Crash(c.how)
		return sim.DiskEffect{}
	})
	boot := func(h host.Host) error {
		late := reached || number >= 2
		if late && number != again {
			lates++
		}
		problem := scenario(h, l, c.config, late)
		if problem != nil && err == nil && (late || c.fail && reached) {
			err = problem
		}
		return nil
	}
	n.OnExit(func(_ error, crashed bool) {
		if number, inLife = number+1, 0; lates < 2 && err == nil {
			w.At(time.Millisecond, func() { n.Start(boot) })
		}
	})
	n.Start(boot)
	if v := w.Run(time.Hour); v.Failed() && err == nil {
		err = errors.New(v.String())
	}
	w.Release()
	return reached, n, err
}

// scenario is one life: it appends alone and in batches, rolls, looks up, removes, and closes. A late one checks first.
func scenario(h host.Host, l *log, config partition.Config, late bool) error {
	life, err := begin(h, config)
	if err != nil && !late {
		if life == nil {
			return nil // the directory could not be made
		}
		if err = life.p.Restore(); err == nil {
			err = l.check(life.p)
		}
	}
	if err != nil {
		return err
	}
	if late {
		if err := l.check(life.p); err != nil {
			return err
		}
	}
	for i := range 14 {
		if err := l.append(life.p, 1+i%3); err != nil {
			if late {
				return err
			}
			if restored := life.p.Restore(); restored != nil {
				return restored
			}
			if err := l.check(life.p); err != nil {
				return fmt.Errorf("after Restore: %w", err)
			}
			if err := l.append(life.p, 1); err != nil {
				return fmt.Errorf("after Restore: %w", err)
			}
		}
		if i%5 == 4 {
			life.p.Sync()
		}
		if i == 9 && !late {
			from := l.all[len(l.all)-1].at - 10
			_, err := l.retain(life.p, partition.Keep{From: from, BytesMax: 4000})
			if err != nil {
				continue // the next append restores
			}
		}
	}
	if err := l.check(life.p); err != nil && late {
		return fmt.Errorf("before Close: %w", err)
	}
	if err := life.end(); late {
		return err
	}
	return nil // what failed at the end is settled by the next life
}

// crashConfigs are those of the sync modes, with zeros or room ahead, and then without.
func crashConfigs() []partition.Config {
	var all []partition.Config
	for _, mode := range []partition.SyncMode{partition.SyncGroup, partition.SyncAlways, partition.SyncInterval, partition.SyncNever} {
		c := smallConfig()
		c.Sync = mode
		if mode == partition.SyncGroup || mode == partition.SyncNever {
			c.PadBytes = 512
			c.SegmentBytes, c.IndexItemsMax = 4096, 100
		}
		c.ZeroAheadBytes = 16 << 10
		all = append(all, c)
	}
	for _, c := range all {
		c.ZeroAheadBytes = 0
		all = append(all, c)
	}
	return all
}

// TestEveryCrashPointKeepsWhatWasAcknowledged crashes a partition before every call of its disk in a scenario that appends,
// rolls, removes and closes, in every way in which unsynced state may fare, and once more while it recovers; and then asks
// for everything by cursor and by time. In the modes interval and never a prefix must be left. LAKEBED_CRASH_ALL has every
// call and every way tried.
func TestEveryCrashPointKeepsWhatWasAcknowledged(t *testing.T) {
	stride, every := 5, false
	if testing.Short() {
		stride = 10
	}
	if os.Getenv("LAKEBED_CRASH_ALL") != "" {
		stride, every = 1, true
	}
	points, trials, torn, used, missing, zeros := 0, 0, int64(0), int64(0), int64(0), int64(0)
	for _, config := range crashConfigs() {
		stride := stride
		if config.ZeroAheadBytes == 0 && !every {
			stride *= 4 // the calls are those of the ones before, but for the zeros
		}
		for call := 1; ; call += stride {
			ended := false
			for i, how := range []sim.How{
				sim.PowerCut(disk.Torn), sim.PowerCut(disk.Drop), sim.KillProcess(), sim.PowerCut(disk.RandomPages), sim.PowerCut(disk.Keep),
			} {
				if !every && call/stride%5 != i {
					continue
				}
				c := crashPoint{config: config, seed: uint64(call), call: call, how: how, second: (call*5 + i*7) % 40}
				reached, n, err := c.trial()
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				if n.Visits(partition.PointMessagesMissing)+n.Visits(partition.PointIndexUnusable)+n.Visits(partition.PointGap) > 0 {
					t.Fatalf("%v: a segment was not what its index or its checkpoint said", c)
				}
				torn += n.Visits(partition.PointTornTail)
				zeros += n.Visits(partition.PointZerosFound)
				used += n.Visits(partition.PointCheckpointUsed)
				missing += n.Visits(partition.PointMissingIndex)
				ended = ended || !reached
				trials++
			}
			if ended {
				break
			}
			points += stride
		}
	}
	t.Logf("crash points among %d calls, %d trials, %d torn tails, %d times zeros at the end, %d checkpoints used, %d full segments without index files",
		points, trials, torn, zeros, used, missing)
	if torn == 0 || zeros == 0 || used == 0 || missing == 0 {
		t.Errorf("crashes left %d torn tails, %d times zeros at the end, %d checkpoints that were used, %d full segments that were not sealed",
			torn, zeros, used, missing)
	}
	if points < 400 {
		t.Errorf("only %d calls: the scenario has become too short", points)
	}
}

// TestEveryFailedCallLosesNothing fails every call of the disk in turn, a failed sync with its pages marked clean. The
// partition stops, is restored in the same process, and has all that was acknowledged; so it has after a power cut that
// drops what was not synced.
func TestEveryFailedCallLosesNothing(t *testing.T) {
	stride := 8
	if testing.Short() {
		stride = 10
	}
	if os.Getenv("LAKEBED_CRASH_ALL") != "" {
		stride = 1
	}
	points := 0
	for _, config := range crashConfigs()[:2] {
		for call := 1; ; call += stride {
			c := crashPoint{config: config, seed: uint64(call), call: call, how: sim.PowerCut(disk.Drop), second: (call * 11) % 60, fail: true}
			reached, _, err := c.trial()
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			if !reached {
				break
			}
			points++
		}
	}
	t.Logf("%d failed calls", points)
}

// TestTheScenarioMeetsWhatAPartitionDoes: the enumeration is worth as much as what happens in its scenario.
func TestTheScenarioMeetsWhatAPartitionDoes(t *testing.T) {
	met := map[host.Point]int64{}
	for i, config := range crashConfigs()[:4] {
		for _, call := range []int{40, 75, 76, 77, 1 << 20} {
			c := crashPoint{config: config, seed: uint64(i), call: call, how: sim.PowerCut(disk.Torn)}
			_, n, err := c.trial()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range scenarioPoints {
				met[p] += n.Visits(p)
			}
		}
	}
	for _, p := range scenarioPoints {
		if met[p] == 0 {
			t.Errorf("the scenario never came to %s", p)
		}
	}
}

var scenarioPoints = []host.Point{
	partition.PointWritten, partition.PointSynced, partition.PointAcknowledged, partition.PointSealing, partition.PointIndexWritten,
	partition.PointSealed, partition.PointCreated, partition.PointSalvaging, partition.PointSalvaged,
	partition.PointRemoving, partition.PointRemoved, partition.PointOutOfOrder, partition.PointSyncAtOnce,
	partition.PointCheckpointing, partition.PointCheckpointed, partition.PointCheckpointUsed,
	partition.PointZeroed, partition.PointZerosFound,
}
