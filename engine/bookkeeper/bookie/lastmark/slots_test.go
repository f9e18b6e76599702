package lastmark_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

func at(sequence uint64) lastmark.Mark {
	return lastmark.Mark{Journal: journal.Mark{Sequence: sequence, File: sequence + 1, First: sequence + 2}}
}

// lives runs one boot after the other on a node; each may crash.
func lives(t *testing.T, seed uint64, boots ...func(h host.Host, n *sim.Node) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed})
	n := w.NewNode("node")
	next := func() {
		if n.Epoch() < len(boots) {
			f := boots[n.Epoch()]
			n.Start(func(h host.Host) error { return f(h, n) })
		}
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Error(err)
		}
		w.At(0, next)
	})
	next()
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

func open(h host.Host) (*lastmark.Slots, error) {
	dir, err := h.Disk("ledger")
	if err != nil {
		return nil, err
	}
	return lastmark.Open(h, dir)
}

// TestACrashAtAnyCallKeepsTheLastMarkThatWasWritten, or the one under way.
func TestACrashAtAnyCallKeepsTheLastMarkThatWasWritten(t *testing.T) {
	for _, mode := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn} {
		for seed := range uint64(5) {
			for call := 1; call < 30; call++ {
				written, calls := uint64(0), 0
				check := func(h host.Host, n *sim.Node) error {
					s, err := open(h)
					if err != nil {
						return err
					}
					got := s.Last()
					if got.Journal.Sequence != written && got.Journal.Sequence != written+1 || got.Journal.Sequence > 0 && got != at(got.Journal.Sequence) {
						t.Errorf("%v, call %d: read %+v, written %d", mode, call, got, written)
					}
					return errors.Join(s.Write(at(written+2)), s.Close())
				}
				lives(t, seed, func(h host.Host, n *sim.Node) error {
					n.Disk("ledger").SetFaults(func(*sim.DiskOp) sim.DiskEffect {
						if calls++; calls == call {
							n.Crash(sim.PowerCut(mode))
						}
						return sim.DiskEffect{}
					})
					s, err := open(h)
					for err == nil && written < 6 {
						if err = s.Write(at(written + 1)); err == nil {
							written++
						}
					}
					n.Crash(sim.PowerCut(mode))
					return err
				}, check)
			}
		}
	}
}

// TestACrashWhileTheMarkIsOpenedCostsNoMark: what a start does to be sure of the newest mark must not endanger it. The
// journal behind an older mark may be gone.
func TestACrashWhileTheMarkIsOpenedCostsNoMark(t *testing.T) {
	for _, mode := range []disk.Survival{disk.Keep, disk.Drop, disk.RandomPages, disk.Torn} {
		for seed := range uint64(60) {
			for call := 1; call < 12; call++ {
				calls := 0
				lives(t, seed, func(h host.Host, _ *sim.Node) error {
					s, err := open(h)
					if err != nil {
						return err
					}
					return errors.Join(s.Write(at(1)), s.Write(at(2)), s.Write(at(3)), s.Close())
				}, func(h host.Host, n *sim.Node) error {
					n.Disk("ledger").SetFaults(func(*sim.DiskOp) sim.DiskEffect {
						if calls++; calls == call {
							n.Crash(sim.PowerCut(mode))
						}
						return sim.DiskEffect{}
					})
					s, err := open(h)
					if err == nil {
						err = s.Close()
					}
					n.Crash(sim.PowerCut(mode))
					return err
				}, func(h host.Host, _ *sim.Node) error {
					s, err := open(h)
					if err == nil && s.Last() != at(3) {
						t.Errorf("%v, seed %d, call %d: read %+v", mode, seed, call, s.Last())
					}
					return err
				})
			}
		}
	}
}

// TestAMarkThatWasShownIsDurable: a killed process can leave a mark in the page cache only. Whoever is shown it may trim
// the journal by it, so it must not be lost when the other slot tears.
func TestAMarkThatWasShownIsDurable(t *testing.T) {
	for _, mode := range []disk.Survival{disk.Drop, disk.Torn, disk.RandomPages} {
		for seed := range uint64(10) {
			var shown lastmark.Mark
			lives(t, seed, func(h host.Host, n *sim.Node) error {
				s, err := open(h)
				if err != nil {
					return err
				}
				if err := errors.Join(s.Write(at(1)), s.Write(at(2))); err != nil {
					return err
				}
				n.Disk("ledger").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if op.Kind == sim.DiskSync {
						return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
					}
					return sim.DiskEffect{}
				})
				if err := s.Write(at(3)); !errors.Is(err, host.ErrIO) {
					t.Errorf("a write whose sync fails: %v", err)
				}
				n.Disk("ledger").SetFaults(nil)
				n.Crash(sim.KillProcess())
				return nil
			}, func(h host.Host, n *sim.Node) error {
				s, err := open(h)
				if err != nil {
					return err
				}
				shown = s.Last()
				n.Disk("ledger").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
					if op.Kind == sim.DiskSync { // the next mark is written, and not synced
						n.Crash(sim.PowerCut(mode))
					}
					return sim.DiskEffect{}
				})
				return s.Write(at(4))
			}, func(h host.Host, n *sim.Node) error {
				n.Disk("ledger").SetFaults(nil)
				s, err := open(h)
				if err == nil && s.Last() != shown && s.Last() != at(4) {
					t.Errorf("%v, seed %d: shown %+v, then %+v", mode, seed, shown, s.Last())
				}
				return err
			})
			if shown != at(3) {
				t.Errorf("the page cache shows %+v", shown)
			}
		}
	}
}

// TestAMarkNeverMovesBack: bookkeeper#4105.
func TestAMarkNeverMovesBack(t *testing.T) {
	lives(t, 1, func(h host.Host, _ *sim.Node) error {
		s, err := open(h)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Write(at(5)), s.Write(at(5))); err != nil { // the same again is no step back
			return err
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the mark moved back")
				}
			}()
			_ = s.Write(at(4))
		}()
		return s.Close()
	})
}

// TestAFailedWriteSparesTheOtherSlot, however often it fails: the pages of a failed sync may be lost.
func TestAFailedWriteSparesTheOtherSlot(t *testing.T) {
	for _, mode := range []disk.Survival{disk.Drop, disk.Torn, disk.RandomPages} {
		lives(t, 3, func(h host.Host, n *sim.Node) error {
			s, err := open(h)
			if err != nil {
				return err
			}
			if err := errors.Join(s.Write(at(1)), s.Write(at(2))); err != nil {
				return err
			}
			n.Disk("ledger").SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if op.Kind == sim.DiskSync {
					return sim.DiskEffect{Err: host.ErrIO, MarkClean: true}
				}
				return sim.DiskEffect{}
			})
			for range 3 {
				if err := s.Write(at(3)); !errors.Is(err, host.ErrIO) || s.Last() != at(2) {
					t.Errorf("%v, %+v", err, s.Last())
				}
			}
			n.Disk("ledger").SetFaults(nil)
			n.Crash(sim.PowerCut(mode))
			return nil
		}, func(h host.Host, _ *sim.Node) error {
			s, err := open(h)
			if err == nil && s.Last() != at(2) && s.Last() != at(3) {
				t.Errorf("%v: read %+v", mode, s.Last())
			}
			return err
		})
	}
}

// TestOneBadSlotFallsBackAndTwoAreCorrupt: a crash tears one slot at most.
func TestOneBadSlotFallsBackAndTwoAreCorrupt(t *testing.T) {
	lives(t, 1, func(h host.Host, n *sim.Node) error {
		s, err := open(h)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Write(at(1)), s.Write(at(2)), s.Close()); err != nil {
			return err
		}
		if err := n.Disk("ledger").Model().Rot(lastmark.FileName, record.Align+20, 0); err != nil {
			return err
		}
		if s, err = open(h); err != nil || s.Last() != at(1) {
			t.Errorf("one bad slot: %v", err)
		}
		for slot := range int64(2) { // one by one: the start before has put the mark into both
			if s, err = open(h); err != nil || s.Last() != at(1) {
				t.Errorf("slot %d is bad: %v", slot, err)
			}
			if err := n.Disk("ledger").Model().Rot(lastmark.FileName, slot*record.Align+20, 0); err != nil {
				return err
			}
		}
		if err := n.Disk("ledger").Model().Rot(lastmark.FileName, 20, 0); err != nil {
			return err
		}
		if _, err := open(h); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("two bad slots: %v", err)
		}
		if err := n.Disk("ledger").Model().Latent(lastmark.FileName, 0, 512); err != nil {
			return err
		}
		if _, err := open(h); !errors.Is(err, host.ErrIO) {
			t.Errorf("an unreadable slot: %v", err)
		}
		return nil
	})
}
