package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
)

// forged is a closed ledger on the first three bookies, whose entries a test puts there itself, some of them damaged.
// Further bookies have copies as well.
func forged(h host.Host, bookies int, last ledger.EntryID, damaged func(index int, e ledger.EntryID) bool) (ledger.ID, error) {
	const id = 4711
	m := ledger.Metadata{
		Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, State: ledger.Closed, LastEntry: last, Length: 1,
		Digest: ledger.CRC32C, Password: open.Password, Fragments: []ledger.Fragment{{}},
	}
	digester, err := ledger.NewDigester(m.Digest, m.Password)
	if err != nil {
		return id, err
	}
	for i := range bookies {
		m.Fragments[0].Ensemble = append(m.Fragments[0].Ensemble, bookieAddr(i))
		one, err := channel.Dial(h, h.Root(), string(bookieAddr(i)), nil, channel.DefaultConfig())
		if err != nil {
			return id, err
		}
		for e := range last + 1 {
			body := make([]byte, digester.Overhead(), 400)
			ledger.PutHeader(body, id, e, e-1, 1)
			body = append(body, payload(e)...)
			digester.Seal(body)
			if damaged(i, e) {
				body[len(body)-1]++
			}
			if err := one.AddEntry(channel.Add{MasterKey: ledger.MasterKeyOf(m.Password), Body: body}, 0); err != nil {
				return id, err
			}
		}
		one.Close()
	}
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
	if err != nil {
		return id, err
	}
	defer session.Close()
	ledgers := metadata.NewLedgers(h, h.Root(), session, metadata.DefaultLedgersConfig())
	m.Fragments[0].Ensemble = m.Fragments[0].Ensemble[:3]
	_, err = ledgers.CreateAt(id, m, nil)
	return id, err
}

// moved puts another bookie into the ensemble of a ledger, as auto recovery does.
func moved(h host.Host, id ledger.ID, index int, to ledger.BookieID) error {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
	if err != nil {
		return err
	}
	defer session.Close()
	ledgers := metadata.NewLedgers(h, h.Root(), session, metadata.DefaultLedgersConfig())
	stored, err := ledgers.Read(id, nil)
	if err != nil {
		return err
	}
	stored.Metadata.Fragments[0].Ensemble[index] = to
	_, err = ledgers.Write(id, stored.Metadata, stored.Version, nil)
	return err
}

// TestAnOpenReaderLearnsOfMovedFragments when the bookies that it knows are gone (bookkeeper#4613).
func TestAnOpenReaderLearnsOfMovedFragments(t *testing.T) {
	for _, batch := range []bool{false, true} {
		c := newCluster(t, 1, sim.LAN(), 4)
		c.run(func(h host.Host, one *client.Client) error {
			id, err := forged(h, 4, 9, func(int, ledger.EntryID) bool { return false })
			if err != nil {
				return err
			}
			r, err := one.Open(id, open)
			if err != nil {
				return err
			}
			if err := moved(h, id, 1, bookieAddr(3)); err != nil {
				return err
			}
			for i := range 3 {
				c.bookies[i].Crash(sim.KillProcess())
			}
			if batch {
				entries, err := r.BatchRead(0, 10, 0)
				return holds(entries, err, 0, 9)
			}
			entries, err := r.Read(9, 9)
			return holds(entries, err, 9, 9)
		})
		if c.visits(client.PointReadRefreshed) == 0 {
			t.Error("the metadata were not read again")
		}
	}
}

// TestDamagedCopiesAreNeverReturned: a batch ends before one and goes on at another replica, a single read turns to
// another replica, and an entry of which all copies are damaged is ErrDigest.
func TestDamagedCopiesAreNeverReturned(t *testing.T) {
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			id, err := forged(h, 3, 29, func(index int, e ledger.EntryID) bool {
				return e == 25 || e < 20 && e%3 == ledger.EntryID(index) || e == 7 && index != 0
			})
			if err != nil {
				return err
			}
			r, err := one.Open(id, open)
			if err != nil {
				return err
			}
			entries, err := r.Read(0, 24)
			if err := holds(entries, err, 0, 24); err != nil {
				return err
			}
			for e := range ledger.EntryID(25) {
				entries, err := r.Read(e, e)
				if err := holds(entries, err, e, e); err != nil {
					return err
				}
			}
			entries, err = r.BatchRead(20, 0, 0)
			if err := holds(entries, err, 20, 24); err != nil {
				return err
			}
			_, err = r.Read(24, 26)
			problem := is("all copies are damaged", err, client.ErrDigest)
			_, err = r.BatchRead(25, 0, 0)
			return errors.Join(problem, is("all copies are damaged", err, client.ErrDigest))
		})
		if c.visits(client.PointBatchCut) == 0 || c.visits(client.PointBadDigest) == 0 {
			t.Error("no batch was cut")
		}
	}
}

// TestEntriesBehindTheEndAreNeverReturned, although bookies hold them: neither one that the writer closed in front of,
// which it is told, nor one that is not known to be confirmed.
func TestEntriesBehindTheEndAreNeverReturned(t *testing.T) {
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 10); err != nil {
				return err
			}
			r, err := one.OpenNoRecovery(w.ID(), open)
			if err != nil {
				return err
			}
			if lac, err := r.ReadLastConfirmed(); lac != 8 || err != nil {
				return fmt.Errorf("LAC %d, %w", lac, err)
			}
			entries, err := r.BatchRead(0, 0, 0)
			if err := holds(entries, err, 0, 8); err != nil {
				return err
			}
			c.world.Net().Partition("bookie-0", "client-0", false)
			c.world.Net().Partition("bookie-1", "client-0", false)
			done := newWindow(h)
			if err := w.Append(payload(10), &client.Op{Done: done}); err != nil {
				return err
			}
			h.Root().Sleep(100 * time.Millisecond) // bookie-2 has it
			if err := w.Close(); err != nil {
				return err
			}
			if err := done.drain(1); !errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrOutcomeUnknown) {
				return fmt.Errorf("the entry behind the end: %w", err)
			}
			c.world.Net().HealAll()
			h.Root().Sleep(5 * time.Second)
			if _, err := r.WaitFor(10, time.Minute); !errors.Is(err, client.ErrBeyondLAC) {
				return err
			}
			for range 5 {
				entries, err := r.BatchRead(8, 0, 0) // bookie-2 is asked first by one of the starts below
				if err := holds(entries, err, 8, 9); err != nil {
					return err
				}
				for first := range ledger.EntryID(9) {
					entries, err := r.BatchRead(first, 100, 0)
					if err := holds(entries, err, first, 9); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// TestAReplacedBookieDeniesNothing: a reader that has not heard of an ensemble change, and cannot ask, is told by the bookie
// that was replaced that it has no such entry. That is true of the bookie, and no answer about the ledger. (A campaign of
// 100,000 seeds found it: 2085771 of cluster.)
func TestAReplacedBookieDeniesNothing(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed, sim.LAN(), 3)
		var w *client.Writer
		opened, written, read := false, false, false
		until := func(h host.Host, happened func() bool) {
			for !happened() && h.Root().Sleep(5*time.Millisecond) {
			}
		}
		c.run(func(h host.Host, one *client.Client) (err error) {
			if w, err = one.Create(options(2, 1, 1)); err != nil {
				return err
			}
			until(h, func() bool { return opened })
			c.world.Net().Partition("client-0", c.nodeOf(w.Metadata().Fragments[0].Ensemble[0]).Name(), false)
			err = write(w, 0, 4)
			written = true
			until(h, func() bool { return read })
			return errors.Join(err, w.Close())
		}, func(h host.Host, two *client.Client) error {
			until(h, func() bool { return w != nil })
			r, err := two.OpenNoRecovery(w.ID(), open)
			if err != nil {
				return err
			}
			defer r.Close()
			c.world.Net().Partition("metadata", "client-1", false)
			opened = true
			until(h, func() bool { return written })
			last, err := r.ReadLastConfirmed()
			if err != nil || last < 2 {
				return fmt.Errorf("confirmed up to %d: %w", last, err)
			}
			_, err = r.Read(0, 0)
			_, batchErr := r.BatchRead(0, 10, 0)
			c.world.Net().Heal("metadata", "client-1")
			read = true
			problem := errors.Join(is("read", err, client.ErrUnavailable), is("batch read", batchErr, client.ErrUnavailable))
			if errors.Is(err, client.ErrNoSuchEntry) || errors.Is(batchErr, client.ErrNoSuchEntry) {
				problem = errors.Join(problem, fmt.Errorf("denied: %v, %v", err, batchErr))
			}
			h.Root().Sleep(30 * time.Second)
			entries, err := r.Read(0, 2)
			return errors.Join(problem, holds(entries, err, 0, 2))
		})
	}
}
