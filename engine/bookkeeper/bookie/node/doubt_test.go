package node_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// ledgersOf makes ledgers in the metadata.
func ledgersOf(h host.Host, store metadata.Store) *metadata.Ledgers {
	return metadata.NewLedgers(h, h.Root(), store, metadata.DefaultLedgersConfig())
}

// create makes a ledger on other bookies: what the metadata say of this one does not matter.
func create(l *metadata.Ledgers) (ledger.ID, error) {
	made, err := l.Create(ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1}, State: ledger.Open, LastEntry: ledger.NoEntry,
		Digest: ledger.CRC32C, Fragments: []ledger.Fragment{{Ensemble: []ledger.BookieID{"elsewhere:3181"}}},
	}, nil)
	return made.ID, err
}

// rotLastGroup makes the last group of a bookie's journal unreadable.
func rotLastGroup(h host.Host, n *sim.Node) error {
	dir, err := h.Disk(bookie.JournalVolume)
	if err != nil {
		return err
	}
	infos, err := dir.List()
	if err != nil {
		return err
	}
	last, at := "", int64(0)
	for _, info := range infos {
		if _, ok := journal.ParseFileName(info.Name); !ok {
			continue
		}
		f, err := dir.Open(info.Name)
		if err != nil {
			return err
		}
		header, err := record.ReadFileHeader(f, journal.Kind())
		if err != nil {
			return err
		}
		for s := record.NewScanner(f, header, info.Size); err == nil; {
			var v *record.View
			if v, err = s.Next(); err == nil {
				last, at = info.Name, v.Offset
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return n.Disk(bookie.JournalVolume).Model().Rot(last, at+record.GroupHeaderSize+20, 0)
}

// ledgers of one test.
type doubtful struct {
	kept, lost ledger.ID // of the second, nothing is left here
}

// doubt brings a bookie into doubt: it had one entry of each ledger, and lost the later one.
func (c *cluster) doubt(h host.Host, store metadata.Store, l *metadata.Ledgers) (d doubtful, err error) {
	c.startBookie(nil)
	if err := registered(h, store); err != nil {
		return d, err
	}
	kept, errKept := create(l)
	lost, errLost := create(l)
	if err := errors.Join(errKept, errLost, add(h, bookieAddr, kept, 0), add(h, bookieAddr, lost, 0)); err != nil {
		return d, err
	}
	c.bookie.Crash(sim.PowerCut(disk.Keep))
	if err := until(h, "the bookie is down", func() bool { return c.exits == c.starts }); err != nil {
		return d, err
	}
	c.startBookie(func(h host.Host) error { return rotLastGroup(h, c.bookie) })
	return doubtful{kept, lost}, nil
}

// refused checks that the bookie takes no ordinary add because it is in doubt.
func refused(h host.Host, id ledger.ID, entry ledger.EntryID) error {
	if err := add(h, bookieAddr, id, entry); !errors.Is(err, channel.ErrUnknown) {
		return fmt.Errorf("add entry %d of ledger %d: %w", entry, id, errors.Join(err, errors.New("want a refusal")))
	}
	return nil
}

// serves waits until the process that was started last serves.
func (c *cluster) serves(h host.Host) error {
	return until(h, "the bookie serves", func() bool { return c.marks[node.PointServing] == c.starts })
}

func (c *cluster) settled() bool { return c.marks[node.PointDoubtSettled] > 0 }

// TestABookieInDoubtTakesNewLedgersOnceTheMetadataAreRead, and those that it may have lost it does not, also after it has
// stopped and started again.
func TestABookieInDoubtTakesNewLedgersOnceTheMetadataAreRead(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.run(func(h host.Host, store metadata.Store) error {
			l := ledgersOf(h, store)
			d, err := c.doubt(h, store, l)
			if err != nil {
				return err
			}
			if err := until(h, "the doubt is settled", c.settled); err != nil {
				return err
			}
			fresh, err := create(l)
			if err := errors.Join(err, add(h, bookieAddr, fresh, 7), refused(h, d.kept, 1), refused(h, d.lost, 0)); err != nil {
				return err
			}
			if err := c.stop(h); err != nil {
				return err
			}
			c.startBookie(nil)
			another, err := create(l)
			return errors.Join(err, c.serves(h), add(h, bookieAddr, fresh, 8), add(h, bookieAddr, another, 0),
				refused(h, d.kept, 1), refused(h, d.lost, 0), c.stop(h))
		})
		if c.marks[bookie.PointLimbo] != 1 || c.marks[node.PointDoubtSettled] != 1 {
			t.Errorf("seed %d: marks %v", seed, c.marks)
		}
	}
}

// TestABookieStaysInDoubtWhileTheMetadataAreOutOfReach, serves what it has, ends in good order when told to, and asks
// until it has an answer.
func TestABookieStaysInDoubtWhileTheMetadataAreOutOfReach(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed)
		c.config.SettleTimeout = 2 * time.Second
		c.run(func(h host.Host, store metadata.Store) error {
			l := ledgersOf(h, store)
			c.onMark = func(e host.Event) {
				if e.Name == bookie.PointLimbo || e.Name == node.PointServing && c.starts == 3 {
					c.w.Net().Partition("bookie-0", "metadata", false)
				}
			}
			d, err := c.doubt(h, store, l)
			if err != nil {
				return err
			}
			fresh, err := create(l)
			if err != nil {
				return err
			}
			h.Root().Sleep(20 * time.Second)
			if err := errors.Join(refused(h, fresh, 0), refused(h, d.kept, 1), refused(h, d.lost, 0)); err != nil || c.settled() {
				return fmt.Errorf("settled %v: %w", c.settled(), err)
			}
			if err := c.stop(h); err != nil {
				return err
			}
			c.w.Net().Heal("bookie-0", "metadata")
			c.startBookie(nil)
			if err := c.serves(h); err != nil {
				return err
			}
			h.Root().Sleep(20 * time.Second)
			if err := refused(h, fresh, 0); err != nil || c.settled() {
				return fmt.Errorf("settled %v: %w", c.settled(), err)
			}
			c.w.Net().Heal("bookie-0", "metadata")
			if err := until(h, "the doubt is settled", c.settled); err != nil {
				return err
			}
			later, err := create(l)
			return errors.Join(err, add(h, bookieAddr, later, 0), refused(h, d.lost, 0), c.stop(h))
		})
		if c.marks[node.PointDoubtSettled] != 1 {
			t.Errorf("seed %d: marks %v", seed, c.marks)
		}
	}
}

// TestABookieStaysInDoubtAboutMoreLedgersThanItMayKeep, which is a setting: it must not run out of memory.
func TestABookieStaysInDoubtAboutMoreLedgersThanItMayKeep(t *testing.T) {
	for most, want := range []int{0, 0, 1} {
		c := newCluster(t, 1)
		c.config.LimboLedgersMax = most
		c.run(func(h host.Host, store metadata.Store) error {
			if _, err := c.doubt(h, store, ledgersOf(h, store)); err != nil {
				return err
			}
			if err := until(h, "the ledgers are listed", func() bool { return c.settled() || c.marks[node.PointDoubtStays] > 0 }); err != nil {
				return err
			}
			if most < 2 {
				return errors.Join(refused(h, 900, 0), c.stop(h))
			}
			return errors.Join(add(h, bookieAddr, 900, 0), c.stop(h))
		})
		if c.marks[node.PointDoubtSettled] != want || c.marks[node.PointDoubtStays] != 1-want {
			t.Errorf("at most %d: marks %v", most, c.marks)
		}
	}
}
