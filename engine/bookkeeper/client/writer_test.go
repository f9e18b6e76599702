package client_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// window takes appends back in the order in which they complete.
type window struct {
	queue *host.Queue[*client.Op]
	order []ledger.EntryID
}

func newWindow(h host.Host) *window {
	return &window{queue: host.NewQueue[*client.Op](h, h.Root(), "window", 1<<30)}
}

func (w *window) Appended(op *client.Op) { w.queue.Offer(op) }

// drain takes count appends back; the first error is returned.
func (w *window) drain(count int) error {
	var failure error
	for count > 0 {
		batch, ok := w.queue.Take(nil)
		if !ok {
			return host.ErrStopping
		}
		count -= len(batch)
		for _, op := range batch {
			if op.Err != nil && failure == nil {
				failure = op.Err
			}
			if op.Err == nil {
				w.order = append(w.order, op.Entry)
			}
		}
	}
	return failure
}

// pipeline appends count entries, as many at a time as the window takes.
func pipeline(h host.Host, w *client.Writer, first ledger.EntryID, count int) error {
	done := newWindow(h)
	for i := range ledger.EntryID(count) {
		if err := w.Append(payload(first+i), &client.Op{Done: done}); err != nil {
			return errors.Join(err, done.drain(int(i)))
		}
	}
	if err := done.drain(count); err != nil {
		return err
	}
	for i, got := range done.order {
		if want := first + ledger.EntryID(i); got != want {
			return fmt.Errorf("entry %d was acknowledged where %d was to be", got, want)
		}
	}
	return nil
}

// TestAppendsArePipelinedAndAcknowledgedInOrder, with more of them than the window holds, over a network that splits and
// delays.
func TestAppendsArePipelinedAndAcknowledgedInOrder(t *testing.T) {
	for seed := range uint64(12) {
		profile := sim.LAN()
		profile.SplitPermille = int(seed%4) * 100
		profile.TailPermille, profile.TailMax = 20, 30*time.Millisecond
		c := newCluster(t, seed, profile, 4)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(4-int(seed%2), 3, 2))
			if err != nil {
				return err
			}
			if err := pipeline(h, w, 0, 200); err != nil {
				return err
			}
			if w.LastAddConfirmed() != 199 {
				return fmt.Errorf("LAC %d", w.LastAddConfirmed())
			}
			if err := w.Close(); err != nil {
				return err
			}
			if err := is("append behind the end", w.Append(nil, &client.Op{Done: newWindow(h)}), client.ErrClosed); err != nil {
				return err
			}
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			entries, err := r.Read(0, 199)
			return holds(entries, err, 0, 199)
		})
		if seed == 0 && c.visits(client.PointWindowFull) == 0 {
			t.Error("the window was never full")
		}
	}
}

// TestWritingGoesOnWhenABookieDies: in a new fragment on another bookie, without losing an acknowledged entry; and the
// ledger closes with both fragments.
func TestWritingGoesOnWhenABookieDies(t *testing.T) {
	for seed := range uint64(20) {
		c := newCluster(t, seed, sim.LAN(), 5)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 10); err != nil {
				return err
			}
			victim := c.nodeOf(w.Metadata().Fragments[0].Ensemble[seed%3])
			if seed%2 == 0 {
				c.world.At(time.Duration(seed)*300*time.Microsecond, func() { victim.Crash(sim.PowerCut(disk.Drop)) })
			} else {
				c.world.Net().Partition(victim.Name(), "client-0", false)
			}
			for round := range ledger.EntryID(15) {
				if err := pipeline(h, w, 10+10*round, 10); err != nil {
					return err
				}
				h.Root().Sleep(200 * time.Millisecond)
			}
			if err := w.Close(); err != nil {
				return err
			}
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			if n := len(r.Metadata().Fragments); n != 2 {
				return fmt.Errorf("%d fragments", n)
			}
			entries, err := r.Read(0, 159)
			return holds(entries, err, 0, 159)
		})
		if c.visits(client.PointEnsembleChanged) == 0 {
			t.Errorf("seed %d: the ensemble did not change", seed)
		}
	}
}

// TestAWriterWithoutSparesGoesOnWhileItsQuorumStands, and fails with what it is short of when the quorum falls: appends
// fail with an open outcome then, and the ledger can still be closed.
func TestAWriterWithoutSparesGoesOnWhileItsQuorumStands(t *testing.T) {
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			c.bookies[0].Crash(sim.KillProcess())
			if err := pipeline(h, w, 0, 40); err != nil {
				return err
			}
			c.bookies[1].Crash(sim.KillProcess())
			_, err = w.AppendOne(payload(40))
			if err := errors.Join(is("append", err, client.ErrNotEnoughBookies), is("append", err, client.ErrOutcomeUnknown)); err != nil {
				return err
			}
			if !strings.Contains(err.Error(), "bookie "+string(bookieAddr(0))) {
				return fmt.Errorf("does not name the bookie that failed first: %w", err)
			}
			_, err = w.AppendOne(payload(41))
			if errors.Is(err, client.ErrOutcomeUnknown) {
				return fmt.Errorf("an append that was never sent: %w", err)
			}
			if err := w.Close(); err != nil {
				return err
			}
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			if r.LastAddConfirmed() != 39 {
				return fmt.Errorf("last entry %d", r.LastAddConfirmed())
			}
			entries, err := r.Read(0, 39)
			return holds(entries, err, 0, 39)
		})
	}
}

// TestASlowBookieSlowsTheWriterDown instead of being replaced or filling memory: acknowledgements do not wait for it, so
// something else must.
func TestASlowBookieSlowsTheWriterDown(t *testing.T) {
	for seed := range uint64(4) {
		profile := sim.LAN()
		profile.TailPermille = 0 // times the slowness, they would be longer than an add may take
		c := newCluster(t, seed, profile, 5)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 5); err != nil {
				return err
			}
			slow := c.nodeOf(w.Metadata().Fragments[0].Ensemble[seed%3]).Name()
			c.world.Net().SlowLink(slow, "client-0", 200, time.Hour)
			if err := pipeline(h, w, 5, 800); err != nil {
				return err
			}
			return w.Close()
		})
		if c.visits(client.PointSlowBookie) == 0 || c.visits(client.PointSendsFull)+c.visits(client.PointEnsembleChanged) != 0 {
			t.Errorf("seed %d: slow %d, sends full %d, changes %d", seed, c.visits(client.PointSlowBookie),
				c.visits(client.PointSendsFull), c.visits(client.PointEnsembleChanged))
		}
	}
}

// TestWritersShareABudget: many writers with full windows go on by turns, and a writer that is abandoned while it waits
// stops waiting.
func TestWritersShareABudget(t *testing.T) {
	var waited int64
	for seed := range uint64(8) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			g := h.Root().New("writers")
			ends := make([]error, 5)
			for i := range ends {
				g.Go("writer", func() {
					w, err := one.Create(options(3, 3, 2))
					if err != nil {
						ends[i] = err
						return
					}
					if i > 0 {
						ends[i] = errors.Join(pipeline(h, w, 0, 150), w.Close())
						return
					}
					g.Go("abandon", func() {
						h.Root().Sleep(3 * time.Millisecond)
						w.Abandon()
					})
					for err == nil {
						_, err = w.AppendOne(make([]byte, 5000))
					}
					ends[i] = is("abandoned", err, client.ErrClosed)
				})
			}
			g.Wait()
			return errors.Join(ends...)
		})
		waited += c.visits(client.PointBudgetSpent)
	}
	if waited == 0 {
		t.Error("the budget was never spent")
	}
}

// TestACloseMayComeWithAFailure: in the same moment in which bookies are asked for, so that the close and the question
// wait side by side.
func TestACloseMayComeWithAFailure(t *testing.T) {
	cutOff := 0
	for seed := range uint64(100) {
		c := newCluster(t, seed, sim.LAN(), 4)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 10); err != nil {
				return err
			}
			victim := c.nodeOf(w.Metadata().Fragments[0].Ensemble[seed%3]).Name()
			c.world.Net().Stall("client-0", victim, time.Minute)
			if err := w.Append(payload(10), &client.Op{Done: newWindow(h)}); err != nil {
				return err
			}
			h.Root().Sleep(10 * time.Millisecond)
			c.world.Net().Reset("client-0", victim)
			h.Root().Sleep(time.Duration(seed/10) * time.Microsecond)
			if err := w.Close(); err != nil {
				return err
			}
			switch w.Metadata().LastEntry {
			case 9:
				cutOff++ // the close came before the entry was acknowledged
			case 10:
			default:
				return fmt.Errorf("closed at %d", w.Metadata().LastEntry)
			}
			return nil
		})
	}
	if cutOff == 0 || cutOff == 100 {
		t.Errorf("%d of 100 closes cut the entry off: none came at the moment", cutOff)
	}
}

// TestACloseWithoutTheStoreIsOfUnknownOutcome, and not for ever under way; recovery finds what was acknowledged, whether
// the close was done or not.
func TestACloseWithoutTheStoreIsOfUnknownOutcome(t *testing.T) {
	for seed := range uint64(4) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 10); err != nil {
				return err
			}
			c.world.Net().Partition("metadata", "client-0", seed%2 == 0) // one way: it is done, and nobody is told
			problem := is("close", w.Close(), client.ErrOutcomeUnknown)
			c.world.Net().HealAll()
			h.Root().Sleep(time.Minute)
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return errors.Join(problem, err)
			}
			if r.LastAddConfirmed() != 9 {
				return errors.Join(problem, fmt.Errorf("the ledger ends at %d", r.LastAddConfirmed()))
			}
			entries, err := r.Read(0, 9)
			return errors.Join(problem, holds(entries, err, 0, 9))
		})
	}
}
