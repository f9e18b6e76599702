package bookie_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// strictConfig is that of a bookie whose doubt somebody ends.
func strictConfig() bookie.Config {
	c := tinyConfig()
	c.TakesNewInDoubt = false
	return c
}

// Ledgers of the tests of doubt.
const (
	keptLedger    ledger.ID = 1  // has an acknowledged entry that survives
	removedLedger ledger.ID = 2  // was deleted
	lostLedger    ledger.ID = 7  // all that was known of it went with the last group
	newLedger     ledger.ID = 50 // came into being after the start
)

// listed is what the metadata name.
var listed = []ledger.ID{keptLedger, lostLedger}

// loseLastGroup is a life at whose end the last acknowledged group is lost: it held a fence of lostLedger.
func loseLastGroup(h host.Host, n *sim.Node) error {
	s, err := bookie.Open(h, h.Root(), strictConfig())
	if err != nil {
		return err
	}
	err = errors.Join(
		s.AddOne(&bookie.Add{Body: stored(keptLedger, 0, 10)}), s.AddOne(&bookie.Add{Body: stored(removedLedger, 0, 10)}),
		s.Delete(removedLedger), s.Fence(lostLedger, ledger.MasterKey{}))
	if err != nil {
		return err
	}
	name, at, err := lastGroup(h)
	if err != nil {
		return err
	}
	if err := n.Disk(bookie.JournalVolume).Model().Rot(name, at+record.GroupHeaderSize+20, 0); err != nil {
		return err
	}
	n.Crash(sim.PowerCut(disk.Keep))
	return nil
}

// expect collects wrong answers of one bookie.
type expect struct {
	s   *bookie.Store
	err error
}

func (x *expect) is(what string, err, want error) {
	if !errors.Is(err, want) || want == nil && err != nil {
		x.err = errors.Join(x.err, fmt.Errorf("%s: %w, want %w", what, orNothing(err), orNothing(want)))
	}
}

var errNothing = errors.New("no error")

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

func (x *expect) read(id ledger.ID, entry ledger.EntryID, want error) {
	e, err := x.s.Read(id, entry)
	x.is(fmt.Sprintf("read %d/%d", id, entry), err, want)
	e.Release()
}

func (x *expect) add(id ledger.ID, entry ledger.EntryID, recovery bool, want error) {
	err := x.s.AddOne(&bookie.Add{Body: stored(id, entry, 10), Recovery: recovery})
	x.is(fmt.Sprintf("add %d/%d, recovery %v", id, entry, recovery), err, want)
}

// known is what holds whether the doubt has ended or not.
func (x *expect) known() {
	x.read(keptLedger, 0, nil)
	x.read(keptLedger, 1, bookie.ErrUnknown)
	x.add(keptLedger, 1, false, bookie.ErrUnknown)
	x.read(removedLedger, 0, bookie.ErrNoLedger)
	x.add(removedLedger, 1, true, bookie.ErrFenced)
	x.read(lostLedger, 0, bookie.ErrUnknown)
	_, err := x.s.LastEntry(lostLedger)
	x.is("last entry", err, bookie.ErrUnknown)
	x.add(lostLedger, 0, false, bookie.ErrUnknown)
}

// settled is what holds once it has.
func (x *expect) settled() {
	x.known()
	if x.s.InDoubt() {
		x.err = errors.Join(x.err, errors.New("the bookie is in doubt"))
	}
	x.read(newLedger+1, 0, bookie.ErrNoLedger)
	_, err := x.s.List()
	x.is("list", err, nil)
}

// settling is a life in which the doubt ends, and ledgers begin.
func (x *expect) settling() {
	x.known()
	x.read(newLedger, 0, bookie.ErrUnknown)
	x.add(newLedger, 0, false, bookie.ErrUnknown) // the list will say whether it is new
	x.is("settle with an impossible id", x.s.SettleDoubt([]ledger.ID{-1}), bookie.ErrMalformed)
	x.read(newLedger, 0, bookie.ErrUnknown)
	x.is("settle", x.s.SettleDoubt(append(slices.Clone(listed), removedLedger)), nil)
	x.settled()
	x.add(newLedger, 4, false, nil)
	x.read(newLedger, 3, bookie.ErrNoEntry)
	x.is("settle again", x.s.SettleDoubt([]ledger.ID{newLedger}), nil)
	x.add(newLedger, 5, false, nil)
}

// later is a life after that one.
func (x *expect) later() {
	x.settled()
	x.read(newLedger, 5, nil)
	x.read(newLedger, 0, bookie.ErrNoEntry)
	x.add(newLedger, 6, false, nil)
	x.add(newLedger+2, 9, false, nil)
	x.add(lostLedger, 0, true, nil) // recovery passes, and settles nothing
	x.read(lostLedger, 0, nil)
	x.read(lostLedger, 1, bookie.ErrUnknown)
	x.add(lostLedger, 1, false, bookie.ErrUnknown)
	ids, err := x.s.List()
	if want := []ledger.ID{keptLedger, lostLedger, newLedger, newLedger + 2}; err != nil || !slices.Equal(ids, want) {
		x.err = errors.Join(x.err, fmt.Errorf("ledgers %v, %w, want %v", ids, orNothing(err), want))
	}
	x.is("delete", x.s.Delete(lostLedger), nil)
	x.read(lostLedger, 0, bookie.ErrNoLedger)
	x.add(lostLedger, 0, false, bookie.ErrFenced)
}

// TestDoubtEndsForWhatNobodyListed: of ledgers that the bookie does not know, those of the list stay in doubt, each by
// itself and over every restart. Any other is as if nothing had happened, from its first add on, wherever it begins.
func TestDoubtEndsForWhatNobodyListed(t *testing.T) {
	crash := func(how sim.How) func(n *sim.Node) { return func(n *sim.Node) { n.Crash(how) } }
	for name, end := range map[string]func(n *sim.Node){
		"stop": nil, "kill": crash(sim.KillProcess()), "power cut": crash(sim.PowerCut(disk.Drop)),
	} {
		t.Run(name, func(t *testing.T) {
			life := func(f func(x *expect), end func(*sim.Node)) func(host.Host, *sim.Node) error {
				return func(h host.Host, n *sim.Node) error {
					s, err := bookie.Open(h, h.Root(), strictConfig())
					if err != nil {
						return err
					}
					x := &expect{s: s}
					f(x)
					if x.err == nil && end != nil {
						end(n)
						return nil
					}
					return errors.Join(x.err, s.Close())
				}
			}
			chapters(t, loseLastGroup, life((*expect).settling, end), life((*expect).later, nil))
		})
	}
}

// settlement is one world of the enumeration: the last group is lost, the doubt ends while others add, a crash comes
// somewhere in that life, and two lives look at what is left.
type settlement struct {
	call    int // of the settling life, before which it crashes
	how     sim.How
	decided bool // nothing can be torn: no new doubt

	calls   int
	crashed bool
	settled bool
	acked   map[ledger.ID]ledger.EntryID // the last entry
	doubts  int                          // lives after the crash that began in doubt
}

const concurrentLedger = newLedger + 5

// settle is the life that is broken.
func (c *settlement) settle(h host.Host, s *bookie.Store) error {
	tasks := h.Root().New("clients")
	tasks.Go("writer", func() {
		for e := ledger.EntryID(3); e < 9; {
			err := s.AddOne(&bookie.Add{Body: stored(concurrentLedger, e, 10)})
			if errors.Is(err, bookie.ErrUnknown) {
				h.Root().Sleep(20 * time.Microsecond)
				continue
			}
			if err != nil {
				return
			}
			c.acked[concurrentLedger] = e
			e++
		}
	})
	if err := s.SettleDoubt(listed); err != nil {
		return err
	}
	c.settled = true
	tasks.Wait()
	if err := s.AddOne(&bookie.Add{Body: stored(newLedger, 3, 10)}); err != nil {
		return err
	}
	c.acked[newLedger] = 3
	return nil
}

// look is a life after it.
func (c *settlement) look(s *bookie.Store) error {
	x := &expect{s: s}
	x.known()
	if s.InDoubt() {
		if c.doubts++; c.settled && c.decided {
			return errors.New("the doubt is back, although nothing can have been lost")
		}
		x.read(newLedger+9, 0, bookie.ErrUnknown)
		x.add(newLedger+9, 0, false, bookie.ErrUnknown)
		x.is("settle", s.SettleDoubt(append(slices.Clone(listed), host.SortedKeys(c.acked)...)), nil)
		c.settled = true
	}
	x.settled()
	for _, id := range host.SortedKeys(c.acked) {
		for e := ledger.EntryID(3); e <= c.acked[id]; e++ {
			x.read(id, e, nil)
		}
	}
	x.add(newLedger+9, 9, true, nil) // not ordinary, so that later lives may call it unknown
	return x.err
}

func (c *settlement) run() error {
	w := sim.New(sim.Config{Seed: uint64(c.call)})
	n := w.NewNode("bookie")
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		n.Disk(volume).SetFaults(func(*sim.DiskOp) sim.DiskEffect {
			if c.calls++; n.Epoch() == 2 && c.calls == c.call {
				c.crashed = true
				n.Crash(c.how)
			}
			return sim.DiskEffect{}
		})
	}
	var failed error
	start := func() {
		c.calls = 0
		n.Start(func(h host.Host) error {
			if n.Epoch() == 1 {
				return loseLastGroup(h, n)
			}
			s, err := bookie.Open(h, h.Root(), strictConfig())
			if err != nil {
				return err
			}
			if n.Epoch() == 2 {
				err = c.settle(h, s)
			} else {
				err = c.look(s)
			}
			return errors.Join(err, s.Close())
		})
	}
	n.OnExit(func(err error, crashed bool) {
		if failed = err; err != nil && !crashed || n.Epoch() == 4 {
			w.Stop()
			return
		}
		failed = nil
		w.At(time.Millisecond, start)
	})
	start()
	if v := w.Run(time.Hour); v.Failed() {
		return errors.New(v.String())
	}
	return failed
}

// TestEveryCrashPointOfTheEndOfDoubt crashes a bookie before every seam call of a life in which its doubt ends. Either
// all of the doubt is there again or only that about listed ledgers; and what ledgers that began meanwhile were told is
// kept.
func TestEveryCrashPointOfTheEndOfDoubt(t *testing.T) {
	points, doubts, certain := 0, 0, 0
	for call, ended := 1, false; !ended; call++ {
		for i, mode := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn, disk.Drop} {
			c := settlement{
				call: call, how: sim.PowerCut(mode), decided: mode == disk.Keep || mode == disk.Drop,
				acked: map[ledger.ID]ledger.EntryID{},
			}
			if i == 4 {
				c.how = sim.KillProcess()
			}
			if err := c.run(); err != nil {
				t.Fatalf("crash before call %d, %v, kill %v: %v", call, mode, i == 4, err)
			}
			ended = ended || !c.crashed
			if doubts += c.doubts; c.doubts == 0 {
				certain++
			}
		}
		points++
	}
	t.Logf("%d crash points; %d times the doubt was back, in %d worlds it was not", points, doubts, certain)
	if points < 60 || doubts < points || certain < 20 {
		t.Error("the enumeration does not meet both sides of the end of doubt")
	}
}
