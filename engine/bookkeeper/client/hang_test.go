package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// took runs f and returns how long it took.
func took(h host.Host, f func() error) (time.Duration, error) {
	began := h.Elapsed()
	err := f()
	return h.Elapsed() - began, err
}

// TestAHungReplicaCostsOneSpeculation: a bookie hangs, and its connections stay open. The first read asks another replica
// after the speculative timeout, long before the request ends; the next reads prefer the others from the start. Late
// answers change nothing and leave no memory.
func TestAHungReplicaCostsOneSpeculation(t *testing.T) {
	config := smallClient()
	for seed := range uint64(8) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			id, err := forged(h, 3, 29, func(int, ledger.EntryID) bool { return false })
			if err != nil {
				return err
			}
			r, err := one.Open(id, open)
			if err != nil {
				return err
			}
			whole := func() error {
				if seed%2 == 0 {
					entries, err := r.Read(0, 29)
					return holds(entries, err, 0, 29)
				}
				entries, err := r.BatchRead(0, 10, 0)
				return holds(entries, err, 0, 9)
			}
			if err := whole(); err != nil { // there are connections
				return err
			}
			c.bookies[0].Pause()
			limit := config.SpeculativeReadTimeout + 50*time.Millisecond
			for round := range 4 {
				d, err := took(h, whole)
				if err != nil || d > limit {
					return fmt.Errorf("round %d took %s: %w", round, d, err)
				}
				limit = 50 * time.Millisecond
			}
			c.bookies[0].Resume()
			h.Root().Sleep(20 * time.Millisecond) // late answers come while reads go on
			return whole()
		})
		if c.visits(client.PointSpeculativeRead) == 0 {
			t.Error("no replica was asked speculatively")
		}
	}
}

// TestASlowReplicaIsNotReadTwice: it answers, only later than the speculative timeout, because it answers much.
func TestASlowReplicaIsNotReadTwice(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		id, err := forged(h, 3, 29, func(int, ledger.EntryID) bool { return false })
		if err != nil {
			return err
		}
		r, err := one.Open(id, open)
		if err != nil {
			return err
		}
		for e := range ledger.EntryID(30) {
			entries, err := r.Read(e, e)
			if err := holds(entries, err, e, e); err != nil {
				return err
			}
		}
		return nil
	})
	if n := c.visits(client.PointSpeculativeRead); n != 0 {
		t.Errorf("%d speculative reads of bookies that answer", n)
	}
}

// TestWaitForEndsInTime although the bookies hang: when its time is over, when the ledger is closed, and when one bookie has
// told enough, whatever the others may hide.
func TestWaitForEndsInTime(t *testing.T) {
	config := smallClient()
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 1+int(seed%2)))
			if err != nil {
				return err
			}
			if err := write(w, 0, 5); err != nil {
				return err
			}
			h.Root().Sleep(100 * time.Millisecond)
			r, err := one.OpenNoRecovery(w.ID(), open)
			if err != nil {
				return err
			}
			defer r.Close()
			c.bookies[0].Pause()
			c.bookies[1].Pause()
			d, err := took(h, func() error { _, err := r.WaitFor(3, time.Minute); return err })
			if err != nil || d > config.ReadTimeout/2 {
				return fmt.Errorf("one bookie knows, the wait took %s: %w", d, err)
			}
			d, err = took(h, func() error { _, err := r.WaitFor(50, 300*time.Millisecond); return err })
			if !errors.Is(err, host.ErrTimeout) || d > 310*time.Millisecond {
				return fmt.Errorf("a wait of 300ms took %s: %w", d, err)
			}
			g := h.Root().New("closer")
			g.Go("close", func() {
				h.Root().Sleep(50 * time.Millisecond)
				_ = w.Close()
			})
			d, err = took(h, func() error { _, err := r.WaitFor(50, time.Minute); return err })
			g.Wait()
			if !errors.Is(err, client.ErrBeyondLAC) || d > config.ReadTimeout/2 {
				return fmt.Errorf("the close was noticed after %s: %w", d, err)
			}
			return nil
		})
	}
}

// TestAHungBookieIsNotChosenAgain for new ledgers while it is suspected, as long as there are others.
func TestAHungBookieIsNotChosenAgain(t *testing.T) {
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 5)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 3); err != nil {
				return err
			}
			m := w.Metadata()
			hung := m.Fragments[0].Ensemble[0]
			c.nodeOf(hung).Pause()
			if err := write(w, 3, 3); err != nil {
				return err
			}
			h.Root().Sleep(2 * time.Second) // its adds time out, and it is replaced
			if m := w.Metadata(); m.Last().Ensemble[0] == hung {
				return errors.New("the hung bookie was not replaced")
			}
			for range 10 {
				next, err := one.Create(options(3, 3, 2))
				if err != nil {
					return err
				}
				m := next.Metadata()
				for _, b := range m.Fragments[0].Ensemble {
					if b == hung {
						return fmt.Errorf("%s was chosen", b)
					}
				}
				next.Abandon()
			}
			return w.Close()
		})
		if c.visits(pool.PointSuspected) == 0 {
			t.Error("nobody was suspected")
		}
	}
}

// TestAnImpatientEndIsNoReasonToGiveBatchesUp: the connection of a batch read ends because the bookie hangs.
func TestAnImpatientEndIsNoReasonToGiveBatchesUp(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 1)
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(1, 1, 1))
		if err != nil {
			return err
		}
		if err := write(w, 0, 20); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		r, err := one.Open(w.ID(), open)
		if err != nil {
			return err
		}
		c.bookies[0].Pause()
		_, err = r.Read(3, 3) // times out after a second; two more, and the connection ends
		if !errors.Is(err, client.ErrUnavailable) {
			return fmt.Errorf("a hung bookie: %w", err)
		}
		h.Root().Sleep(1500 * time.Millisecond)
		_, err = r.BatchRead(0, 10, 0)
		return is("a batch read of a hung bookie", err, client.ErrUnavailable)
	})
	if n := c.visits(client.PointBatchPaused); n != 0 {
		t.Errorf("batch reads were given up %d times", n)
	}
}

// TestLateAnswersOfARunningCallAreDropped: the bookie that hung answers while the same read still asks others.
func TestLateAnswersOfARunningCallAreDropped(t *testing.T) {
	profile := sim.LAN()
	profile.LatencyMin = 10 * time.Millisecond
	c := newCluster(t, 1, profile, 3)
	c.config.BatchReads = false
	c.run(func(h host.Host, one *client.Client) error {
		id, err := forged(h, 3, 29, func(int, ledger.EntryID) bool { return false })
		if err != nil {
			return err
		}
		r, err := one.Open(id, open)
		if err != nil {
			return err
		}
		entries, err := r.Read(0, 29)
		if err := holds(entries, err, 0, 29); err != nil {
			return err
		}
		c.bookies[0].Pause()
		c.world.At(c.config.SpeculativeReadTimeout+5*time.Millisecond, c.bookies[0].Resume)
		entries, err = r.Read(0, 29)
		return holds(entries, err, 0, 29)
	})
}

// TestTheLACIsReadFromEnoughBookies, an error otherwise, and a reader without a ledger says which it is.
func TestTheLACIsReadFromEnoughBookies(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return err
		}
		if err := write(w, 0, 6); err != nil {
			return err
		}
		r, err := one.OpenNoRecovery(w.ID(), open)
		if err != nil {
			return err
		}
		c.bookies[0].Pause()
		lac, err := r.ReadLastConfirmed()
		if err != nil || lac != 4 {
			return fmt.Errorf("one bookie hangs: LAC %d: %w", lac, err)
		}
		c.bookies[1].Pause()
		d, err := took(h, func() error { _, err := r.ReadLastConfirmed(); return err })
		if !errors.Is(err, client.ErrUnavailable) || d > c.config.ReadTimeout+100*time.Millisecond {
			return fmt.Errorf("two bookies hang, after %s: %w", d, err)
		}
		c.bookies[0].Resume()
		c.bookies[1].Resume()
		if err := one.Delete(w.ID()); err != nil {
			return err
		}
		_, err = r.WaitFor(100, 0)
		problem := is("wait", err, client.ErrNoSuchLedger)
		_, err = r.ReadLastConfirmed()
		problem = errors.Join(problem, is("of a deleted ledger", err, client.ErrNoSuchLedger))
		r.Close()
		_, err = r.ReadLastConfirmed()
		w.Abandon()
		return errors.Join(problem, is("of a closed reader", err, client.ErrClosed))
	})
}
