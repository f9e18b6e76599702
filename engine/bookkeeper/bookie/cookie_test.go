package bookie_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// chapters runs one life of a node after the other, whether they end or crash. An error of a life fails the test.
func chapters(t *testing.T, boots ...func(h host.Host, n *sim.Node) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 1})
	n := w.NewNode("bookie")
	next := func() {
		if n.Epoch() < len(boots) {
			f := boots[n.Epoch()]
			n.Start(func(h host.Host) error { return f(h, n) })
		}
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", n.Epoch(), err)
		}
		w.At(0, next)
	})
	next()
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

// uses opens a bookie, lets f use it, and closes it.
func uses(facts *truth, f func(c *clients)) func(host.Host, *sim.Node) error {
	return func(h host.Host, _ *sim.Node) error {
		s, err := bookie.Open(h, h.Root(), tinyConfig())
		if err != nil {
			return err
		}
		c := &clients{truth: facts, h: h, store: s}
		f(c)
		return errors.Join(c.failed, s.Close())
	}
}

// TestAWipedOrSwappedDiskIsRefused: it would answer "absent" for everything that it once acknowledged.
func TestAWipedOrSwappedDiskIsRefused(t *testing.T) {
	facts := newTruth()
	fill := uses(facts, func(c *clients) { c.batches(0, 3, 100, 1) })
	refused := func(c bookie.Config) func(host.Host, *sim.Node) error {
		return func(h host.Host, _ *sim.Node) error {
			s, err := bookie.Open(h, h.Root(), c)
			if !errors.Is(err, bookie.ErrCookie) || !bookie.IsRefusal(err) {
				t.Errorf("open: %v", err)
			}
			if s != nil {
				return s.Close()
			}
			return nil
		}
	}
	for _, volume := range []string{bookie.JournalVolume, bookie.LedgerVolume} {
		w := sim.New(sim.Config{Seed: 1})
		n := w.NewNode("bookie")
		n.OnExit(func(err error, _ bool) {
			if err != nil {
				t.Error(err)
			}
			if n.Epoch() == 1 {
				n.Disk(volume).Replace(0)
				n.Start(func(h host.Host) error { return refused(tinyConfig())(h, n) })
			}
		})
		n.Start(func(h host.Host) error { return fill(h, n) })
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatal(v.String())
		}
	}
	otherBookie, otherCluster := tinyConfig(), tinyConfig()
	otherBookie.BookieID, otherCluster.InstanceID = "elsewhere:1", "another"
	chapters(t, fill, refused(otherBookie), refused(otherCluster), uses(facts, func(c *clients) { c.sees(1, 2) }))
}

// TestADamagedCookieIsNotAMissingOne: a cookie whose bytes are bad must stop the bookie, and never be stamped over.
func TestADamagedCookieIsNotAMissingOne(t *testing.T) {
	facts := newTruth()
	chapters(t, uses(facts, func(c *clients) { c.one(1, 0, 10, false) }),
		func(h host.Host, n *sim.Node) error {
			if err := n.Disk(bookie.LedgerVolume).Model().Rot(bookie.CookieFile, 4, 1); err != nil {
				return err
			}
			if _, err := bookie.Open(h, h.Root(), tinyConfig()); !errors.Is(err, bookie.ErrCookie) {
				t.Errorf("open: %v", err)
			}
			if err := n.Disk(bookie.LedgerVolume).Model().Latent(bookie.CookieFile, 0, 1); err != nil {
				return err
			}
			if _, err := bookie.Open(h, h.Root(), tinyConfig()); !errors.Is(err, host.ErrIO) {
				t.Errorf("open: %v", err)
			}
			return nil
		})
}

// TestTwoBookiesDoNotShareADirectory.
func TestTwoBookiesDoNotShareADirectory(t *testing.T) {
	chapters(t, uses(newTruth(), func(c *clients) {
		if _, err := bookie.Open(c.h, c.h.Root(), tinyConfig()); !errors.Is(err, host.ErrLocked) {
			t.Errorf("open: %v", err)
		}
		c.one(1, 0, 10, false) // the first goes on
		c.sees(1, 0)
	}))
}

// lastGroup is where the last journal group with data begins: the file's name and offset.
func lastGroup(h host.Host) (name string, at int64, err error) {
	dir, err := h.Disk(bookie.JournalVolume)
	if err != nil {
		return "", 0, err
	}
	infos, err := dir.List()
	if err != nil {
		return "", 0, err
	}
	for _, info := range infos {
		if _, ok := journal.ParseFileName(info.Name); !ok {
			continue
		}
		f, err := dir.Open(info.Name)
		if err != nil {
			return "", 0, err
		}
		header, err := record.ReadFileHeader(f, journal.Kind())
		if err != nil {
			return "", 0, err
		}
		for s := record.NewScanner(f, header, info.Size); ; {
			v, err := s.Next()
			if err != nil {
				break
			}
			name, at = info.Name, v.Offset
		}
		if err := f.Close(); err != nil {
			return "", 0, err
		}
	}
	return name, at, nil
}

// TestARottenLastGroupLeavesItsEntriesUnknown: it may have been acknowledged, and cannot name its ledgers. Nothing may
// be called absent, no ordinary add may pass where a fence may have been lost, and all that survives restarts.
func TestARottenLastGroupLeavesItsEntriesUnknown(t *testing.T) {
	facts := newTruth()
	doubtful := func(c *clients) {
		if _, err := c.store.Read(1, 1); !errors.Is(err, bookie.ErrUnknown) {
			t.Errorf("the entry in the lost group: %v", err)
		}
		if _, err := c.store.Read(55, 0); !errors.Is(err, bookie.ErrUnknown) {
			t.Errorf("a ledger that may have been in the lost group: %v", err)
		}
		if _, err := c.store.LastEntry(1); !errors.Is(err, bookie.ErrUnknown) {
			t.Errorf("last entry: %v", err)
		}
		for _, k := range []struct {
			id    ledger.ID
			entry ledger.EntryID
		}{{1, 2}, {2, 9}, {56, 3}} {
			a := bookie.Add{Body: stored(k.id, k.entry, 8)}
			if err := c.store.AddOne(&a); !errors.Is(err, bookie.ErrUnknown) {
				t.Errorf("ordinary add of %d/%d: %v", k.id, k.entry, err)
			}
		}
		c.sees(1, 0)
		c.sees(2, 0)
	}
	chapters(t,
		func(h host.Host, n *sim.Node) error {
			s, err := bookie.Open(h, h.Root(), tinyConfig())
			if err != nil {
				return err
			}
			c := &clients{truth: facts, h: h, store: s}
			c.one(2, 0, 10, false)
			c.one(1, 0, 10, false)
			a := bookie.Add{Body: stored(1, 1, 10)} // acknowledged, and about to be lost
			if err := errors.Join(c.failed, s.AddOne(&a)); err != nil {
				return err
			}
			n.Crash(sim.PowerCut(disk.Keep))
			return nil
		},
		func(h host.Host, n *sim.Node) error {
			name, at, err := lastGroup(h)
			if err != nil {
				return err
			}
			if err := n.Disk(bookie.JournalVolume).Model().Rot(name, at+record.GroupHeaderSize+20, 0); err != nil {
				return err
			}
			return uses(facts, func(c *clients) {
				doubtful(c)
				c.one(1, 3, 10, true) // recovery passes
				c.one(60, 0, 10, false)
				c.one(60, 1, 10, false) // a ledger that begins here
			})(h, n)
		},
		uses(facts, func(c *clients) {
			doubtful(c)
			c.sees(1, 3)
			c.sees(60, 1)
			if _, err := c.store.Read(60, 2); !errors.Is(err, bookie.ErrNoEntry) {
				t.Errorf("a ledger that began here is certain: %v", err)
			}
		}))
}

// TestDamageThatWouldMakeAnswersWrongStopsTheBookie, and says what is damaged.
func TestDamageThatWouldMakeAnswersWrongStopsTheBookie(t *testing.T) {
	fill := uses(newTruth(), func(c *clients) {
		c.batches(0, 24, 500, 1, 2)
		c.flush()
		c.batches(24, 6, 500, 1, 2)
	})
	for _, c := range []struct {
		name, volume string
		harm         func(n *sim.Node, dir host.Dir) error
	}{
		{"a log is missing", bookie.LedgerVolume, func(_ *sim.Node, dir host.Dir) error { return dir.Remove(entrylog.FileName(1)) }},
		{"the mark is rotten", bookie.LedgerVolume, func(n *sim.Node, _ host.Dir) error {
			m := n.Disk(bookie.LedgerVolume).Model()
			return errors.Join(m.Rot(lastmark.FileName, 30, 1), m.Rot(lastmark.FileName, record.Align+30, 1))
		}},
		{"the table is rotten", bookie.LedgerVolume, func(n *sim.Node, _ host.Dir) error {
			return n.Disk(bookie.LedgerVolume).Model().Rot("00000001.table", record.FileHeaderBytes+record.Align+90, 1)
		}},
		{"the mark's journal file is missing", bookie.JournalVolume, func(_ *sim.Node, dir host.Dir) error {
			infos, err := dir.List()
			if err != nil {
				return err
			}
			for _, info := range infos {
				if _, ok := journal.ParseFileName(info.Name); ok {
					err = errors.Join(err, dir.Remove(info.Name))
				}
			}
			return err
		}},
	} {
		chapters(t, fill, func(h host.Host, n *sim.Node) error {
			dir, err := h.Disk(c.volume)
			if err != nil {
				return err
			}
			if err := c.harm(n, dir); err != nil {
				return err
			}
			s, err := bookie.Open(h, h.Root(), tinyConfig())
			if !errors.Is(err, bookie.ErrCorrupt) || !bookie.IsRefusal(err) {
				t.Errorf("%s: %v", c.name, err)
			}
			if s != nil {
				return s.Close()
			}
			return nil
		})
	}
}
