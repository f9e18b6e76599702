package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// TestATailingReaderFollowsTheWriter: it sees each entry after the next one was written, waits for those to come, learns
// of the last one when the ledger is closed, and is never told of entries that were not acknowledged.
func TestATailingReaderFollowsTheWriter(t *testing.T) {
	for seed := range uint64(12) {
		c := newCluster(t, seed, sim.LAN(), 5)
		confirmed := ledger.NoEntry
		c.world.OnMark(func(_ *sim.Node, e host.Event) {
			if e.Name == client.PointAcked {
				confirmed = ledger.EntryID(e.B)
			}
		})
		var id ledger.ID
		created := false
		const count = 60
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(4, 3, 2))
			if err != nil {
				return err
			}
			id, created = w.ID(), true
			for e := range ledger.EntryID(count) {
				if err := write(w, e, 1); err != nil {
					return err
				}
				if e == count/2 && seed%2 == 0 {
					m := w.Metadata()
					c.nodeOf(m.Last().Ensemble[0]).Crash(sim.KillProcess())
				}
				h.Root().Sleep(20 * time.Millisecond)
			}
			h.Root().Sleep(3 * time.Second)
			return w.Close()
		}, func(h host.Host, one *client.Client) error {
			for !created {
				h.Root().Sleep(10 * time.Millisecond)
			}
			r, err := one.OpenNoRecovery(id, open)
			if err != nil {
				return err
			}
			defer r.Close()
			next, highest := ledger.EntryID(0), ledger.NoEntry
			for next < count {
				lac, err := r.WaitFor(next, time.Minute)
				if err != nil {
					return err
				}
				if lac > confirmed || lac < highest {
					return fmt.Errorf("LAC %d after %d, confirmed is %d", lac, highest, confirmed)
				}
				if next == count-1 && !r.Closed() {
					return errors.New("the last entry was seen before the ledger was closed")
				}
				highest = lac
				entries, err := r.Read(next, lac)
				if err := holds(entries, err, next, lac); err != nil {
					return err
				}
				next = lac + 1
			}
			_, err = r.WaitFor(count, time.Minute)
			return is("behind the end", err, client.ErrBeyondLAC)
		})
	}
}

// TestWhoWaitsLearnsOfDeletion, and does not wait for ever.
func TestWhoWaitsLearnsOfDeletion(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return err
		}
		r, err := one.OpenNoRecovery(w.ID(), open)
		if err != nil {
			return err
		}
		g := h.Root().New("deleter")
		var deleted error
		g.Go("delete", func() {
			h.Root().Sleep(time.Second)
			deleted = one.Delete(w.ID())
		})
		_, err = r.WaitFor(0, 0)
		g.Wait()
		_, late := w.AppendOne(payload(0)) // bookies do not know yet
		closed := w.Close()
		return errors.Join(deleted, late, is("wait", err, client.ErrNoSuchLedger), is("close", closed, client.ErrNoSuchLedger))
	})
}

// TestReadsTurnToAnotherReplica when one is dead, has damaged the entry, or has lost it.
func TestReadsTurnToAnotherReplica(t *testing.T) {
	for seed := range uint64(8) {
		c := newCluster(t, seed, sim.LAN(), 4)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3-int(seed%2), 2, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 30); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			c.nodeOf(r.Metadata().Fragments[0].Ensemble[0]).Crash(sim.KillProcess())
			entries, err := r.Read(0, 29)
			if err := holds(entries, err, 0, 29); err != nil {
				return err
			}
			for first := ledger.EntryID(0); first < 30; {
				entries, err := r.BatchRead(first, 0, 1200)
				if err != nil {
					return err
				}
				end := entries.List[len(entries.List)-1].ID
				if err := holds(entries, nil, first, end); err != nil {
					return err
				}
				first = end + 1
			}
			c.nodeOf(r.Metadata().Fragments[0].Ensemble[1]).Crash(sim.KillProcess())
			_, err = r.Read(0, 29)
			if errors.Is(err, client.ErrNoSuchEntry) {
				return fmt.Errorf("dead bookies said that there is no entry: %w", err)
			}
			return is("both replicas are dead", err, client.ErrUnavailable)
		})
		if c.visits(client.PointReadFailover) == 0 {
			t.Error("no read turned to another replica")
		}
	}
}

// TestWrongUseIsRefused, with the class that the caller can branch on.
func TestWrongUseIsRefused(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		_, err := one.Create(options(4, 4, 2))
		problem := is("more bookies than there are", err, client.ErrNotEnoughBookies)
		_, err = one.Create(options(3, 2, 3))
		problem = errors.Join(problem, is("quorums that rise", err, client.ErrInvalid))
		_, err = one.Open(77, open)
		problem = errors.Join(problem, is("a ledger that never was", err, client.ErrNoSuchLedger))
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return errors.Join(problem, err)
		}
		if err := write(w, 0, 3); err != nil {
			return err
		}
		_, err = one.Open(w.ID(), client.OpenOptions{Password: []byte("other")})
		problem = errors.Join(problem, is("another password", err, client.ErrUnauthorized))
		problem = errors.Join(problem, is("too long", w.Append(make([]byte, w.PayloadBytesMax()+1), &client.Op{}), client.ErrInvalid))
		r, err := one.OpenNoRecovery(w.ID(), open)
		if err != nil {
			return err
		}
		_, err = r.Read(2, 2)
		problem = errors.Join(problem, is("not known to be confirmed", err, client.ErrBeyondLAC))
		_, err = r.Read(2, 1)
		problem = errors.Join(problem, is("a range that falls", err, client.ErrInvalid))
		_, err = r.WaitFor(2, time.Second)
		problem = errors.Join(problem, is("the last entry of an idle writer", err, host.ErrTimeout))
		if err := w.Close(); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("closed again: %w", err)
		}
		if err := one.Delete(w.ID()); err != nil {
			return err
		}
		problem = errors.Join(problem, is("deleted again", one.Delete(w.ID()), client.ErrNoSuchLedger))
		_, err = one.Open(w.ID(), open)
		return errors.Join(problem, is("a deleted ledger", err, client.ErrNoSuchLedger))
	})
}

// TestCloseOfTheClientEndsEverything that is under way, and every append completes.
func TestCloseOfTheClientEndsEverything(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t, seed, sim.LAN(), 4)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 5); err != nil {
				return err
			}
			r, err := one.OpenNoRecovery(w.ID(), open)
			if err != nil {
				return err
			}
			g := h.Root().New("users")
			var ends [3]error
			g.Go("append", func() {
				for e := ledger.EntryID(5); ends[0] == nil; e++ {
					_, ends[0] = w.AppendOne(payload(e))
				}
			})
			g.Go("wait", func() { _, ends[1] = r.WaitFor(1_000_000, 0) })
			g.Go("recover", func() {
				h.Root().Sleep(time.Duration(seed) * time.Millisecond)
				_, ends[2] = one.Recover(w.ID(), open)
			})
			h.Root().Sleep(time.Duration(seed) * time.Millisecond)
			if seed%2 == 0 {
				c.bookies[0].Pause()
				h.Root().Sleep(time.Millisecond)
			}
			one.Close()
			g.Wait()
			if ends[1] == nil || ends[0] == nil {
				return fmt.Errorf("ends: %v", ends)
			}
			return nil
		})
	}
}
