package bookie_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// trial is one world with one bookie: two lives of the scenario, broken somewhere by disturb, and as many further lives
// as it takes to see what is left.
type trial struct {
	world *sim.World
	node  *sim.Node
	truth *truth

	// disturb is asked before each seam call: which life it is, and the how many-th call of that life.
	disturb func(life, call int, op *sim.DiskOp) sim.DiskEffect
	// between, if set, is called between two lives.
	between func()
	// tolerant: calls of the bookie may fail, and a life may end with an error, until the check begins.
	tolerant bool
	// certain: nothing is torn, so that no answer may be "unknown".
	certain bool

	life      int // counts from 0
	calls     int // seam calls of this life
	perLife   []int
	disturbed bool // a life did not end as it should
	checking  int  // lives that only check, so far
	unknown   int
	settled   int // times that doubt was ended
	failed    error
}

func newTrial(seed uint64) *trial {
	t := &trial{world: sim.New(sim.Config{Seed: seed}), truth: newTruth()}
	t.node = t.world.NewNode("bookie")
	for i, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		t.node.Disk(volume).SetProfile(profile(seed, i))
		t.node.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			t.calls++
			if t.disturb == nil {
				return sim.DiskEffect{}
			}
			return t.disturb(t.life, t.calls, op)
		})
	}
	return t
}

// profile makes one world in three slow to sync its journal, and one its ledgers: what waits for what depends on it.
func profile(seed uint64, volume int) sim.DiskProfile {
	p := sim.SSD()
	if seed%3 == uint64(1+volume) {
		p.Sync, p.Cache = 20*time.Millisecond, time.Millisecond
	}
	return p
}

const lateLives = 2 // that check and go on writing, after the scenario was broken or is over

// run lives all lives and returns what was wrong.
func (t *trial) run() error {
	t.node.OnExit(func(err error, crashed bool) { t.next(err, crashed) })
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
	if err != nil && (t.scenarioIsOver() || !t.tolerant) && t.failed == nil {
		t.failed = fmt.Errorf("life %d, after %v calls in the lives before, ended: %w", t.life, t.perLife, err)
	}
	if leak := t.node.MemoryInUse(); !crashed && err == nil && leak != 0 {
		t.failed = fmt.Errorf("life %d ended cleanly with %d bytes of buffers in hand", t.life, leak)
	}
	t.disturbed = t.disturbed || crashed || err != nil
	if t.failed != nil || t.checking == lateLives {
		t.world.Stop()
		return
	}
	if t.between != nil {
		t.between()
	}
	t.life++
	t.calls = 0
	t.world.At(time.Millisecond, func() { t.node.Start(t.boot) })
}

func (t *trial) scenarioIsOver() bool { return t.disturbed || t.life >= 2 }

func (t *trial) boot(h host.Host) error {
	s, err := bookie.Open(h, h.Root(), strictConfig())
	if err != nil {
		return err
	}
	c := &clients{truth: t.truth, h: h, store: s, tolerant: t.tolerant && !t.scenarioIsOver()}
	switch {
	case t.scenarioIsOver():
		err = t.late(c)
	case t.life == 0:
		c.firstLife()
	default:
		c.secondLife()
	}
	if t.failed == nil && c.failed != nil {
		t.failed = fmt.Errorf("life %d: %w", t.life, c.failed)
	}
	if closed := s.Close(); err == nil {
		err = closed
	}
	return err
}

// late checks what is there, and writes on.
func (t *trial) late(c *clients) error {
	v := verdict{certain: t.certain}
	if err := t.truth.check(c.store, &v); err != nil {
		t.failed = fmt.Errorf("life %d, after %v calls in the lives before: %w", t.life, t.perLife, err)
		return nil
	}
	t.unknown += v.unknown
	if err := t.settle(c.store, &v); err != nil {
		t.failed = fmt.Errorf("life %d, after %v calls in the lives before: end of doubt: %w", t.life, t.perLife, err)
		return nil
	}
	t.checking++
	c.lateLife(ledger.ID(100 * t.checking))
	return nil
}

// settle ends the doubt, if there is any, with a list of every ledger that clients know of: all that they know holds as
// before, and nobody else's ledger is unknown.
func (t *trial) settle(s *bookie.Store, v *verdict) error {
	if !s.InDoubt() {
		return nil
	}
	if v.certain {
		return errors.New("nothing can have been torn, and the bookie is in doubt")
	}
	if err := s.SettleDoubt(host.SortedKeys(t.truth.ledgers)); err != nil {
		return err
	}
	t.settled++
	if _, err := s.Read(unheardLedger, 0); s.InDoubt() || !errors.Is(err, bookie.ErrNoLedger) {
		return fmt.Errorf("in doubt: %v; a ledger that nobody knows: %w", s.InDoubt(), orTaken(err))
	}
	// What was never written is in limbo now, or absent if it was deleted.
	return t.truth.check(s, &verdict{})
}

// unheardLedger is one that no scenario uses.
const unheardLedger ledger.ID = 77_777

// crashPoint is where and how a trial's bookie crashes.
type crashPoint struct {
	seed   uint64
	call   int // of the two lives of the scenario, counted through
	mode   disk.Survival
	after  bool // shortly after the call, instead of before it
	kill   bool // only the process dies: its successor finds in the page cache what the media may not have
	second int  // call of the life that follows before which it crashes again
}

func (p crashPoint) String() string {
	when := "before"
	if p.after {
		when = "after"
	}
	what := "crash"
	if p.kill {
		what = "kill"
	}
	return fmt.Sprintf("seed %d, %s %s call %d, %s, crash before call %d of the next life", p.seed, what, when, p.call, p.mode, p.second)
}

// how is the way in which the first crash comes.
func (p crashPoint) how() sim.How {
	if p.kill {
		return sim.KillProcess()
	}
	return sim.PowerCut(p.mode)
}

// crash runs a trial with this crash. reached is false if the scenario ended before.
func (p crashPoint) crash() (t *trial, reached bool, err error) {
	t = newTrial(p.seed)
	t.certain = p.mode == disk.Keep || p.mode == disk.Drop
	passed, again := 0, 0 // calls of the scenario's lives so far; the life to crash again
	t.disturb = func(life, call int, _ *sim.DiskOp) sim.DiskEffect {
		switch {
		case reached && life == again && call == p.second:
			t.node.Crash(sim.PowerCut(p.mode))
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
			moment := time.Duration(p.call%13) * 40 * time.Microsecond
			t.world.At(moment, func() { t.crashOnce(life, p.how()) })
		}
		return sim.DiskEffect{}
	}
	err = t.run()
	return t, reached, err
}

// crashOnce crashes the node unless that life is already over.
func (t *trial) crashOnce(life int, how sim.How) {
	if t.life == life {
		t.disturbed = true
		t.node.Crash(how)
	}
}

// TestEveryCrashPointKeepsWhatWasAcknowledged crashes the bookie before, and shortly after, every seam call of a
// scenario that does one of everything, in every way in which unsynced state may fare; crashes it again while it
// recovers; and asks for all that was acknowledged: entries byte for byte, fences, deletes, and nothing invented.
// LAKEBED_CRASH_SEEDS sets how many worlds are enumerated.
func TestEveryCrashPointKeepsWhatWasAcknowledged(t *testing.T) {
	stride, seeds := 1, 1
	if testing.Short() {
		stride = 7
	}
	if n, err := strconv.Atoi(os.Getenv("LAKEBED_CRASH_SEEDS")); err == nil {
		seeds = n
	}
	points, states, unknown, settled := 0, 0, 0, 0
	for seed := range uint64(seeds) {
		for call := 1; ; call += stride {
			ended := false
			for i, mode := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn, disk.Drop} {
				p := crashPoint{
					seed: seed + 1, call: call, mode: mode, kill: i == 4,
					after: (call+i)%2 == 1, second: 1 + (call*5+i*17)%90,
				}
				trial, reached, err := p.crash()
				if err != nil {
					t.Fatalf("%v: %v", p, err)
				}
				ended = ended || !reached
				states++
				unknown += trial.unknown
				settled += trial.settled
			}
			if ended {
				break
			}
			points++
		}
	}
	t.Logf("%d crash points, %d trials, %d answers of unknown, doubt ended %d times", points, states, unknown, settled)
	if points*stride < 500 {
		t.Errorf("only %d crash points: the scenario has become too short", points*stride)
	}
	if unknown == 0 || settled == 0 {
		t.Error("no trial ever left the bookie in doubt: torn tails were not met")
	}
}

// TestTheScenarioMeetsWhatABookieDoes: the enumeration is worth as much as what happens in its scenario.
func TestTheScenarioMeetsWhatABookieDoes(t *testing.T) {
	trial := newTrial(1)
	if err := trial.run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("seam calls in each life: %v", trial.perLife)
	for _, point := range scenarioPoints {
		if trial.node.Visits(point) == 0 {
			t.Errorf("the scenario never came to %s", point)
		}
	}
}

// scenarioPoints are the places that the scenario, left alone, must come to.
var scenarioPoints = []host.Point{
	journal.PointRolled, journal.PointTrimmed, journal.PointReplayedGroup,
	entrylog.PointClosed, entrylog.PointRemoved, entrylog.PointOverlap, entrylog.PointReadAhead, entrylog.PointRescanned,
	ledgertable.PointSynced, ledgertable.PointSnapshot, lastmark.PointWritten,
	bookie.PointSwapped, bookie.PointFenceDurable, bookie.PointRefusedFenced, bookie.PointDeleted,
	bookie.PointRefusedDeleted, bookie.PointCheckpointed, bookie.PointClosed,
}
