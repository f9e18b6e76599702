package client_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

// collected takes the appends of one task back, and keeps the first failure.
type collected struct {
	left    int
	gate    host.Gate
	failure error
}

func (c *collected) Appended(op *client.Op) {
	if op.Err != nil && c.failure == nil {
		c.failure = op.Err
	}
	if c.left--; c.left == 0 {
		c.gate.Open()
	}
}

// pour appends count entries as fast as the window takes them, and waits for all.
func pour(h host.Host, w *client.Writer, count int) error {
	all := &collected{left: count, gate: h.Root().NewGate()}
	for e := range ledger.EntryID(count) {
		if err := w.Append(payload(e), &client.Op{Done: all}); err != nil {
			return err
		}
	}
	all.gate.Wait()
	return all.failure
}

// crowd writes count entries to each of some ledgers at the same time, reads one of them back, and closes all.
func crowd(h host.Host, one *client.Client, writers, count int, o client.CreateOptions) error {
	g := h.Root().New("crowd")
	ends := host.NewQueue[error](h, g, "ends", writers)
	for range writers {
		g.Go("writer", func() {
			w, err := one.Create(o)
			if err != nil {
				ends.Offer(err)
				return
			}
			if err := pour(h, w, count); err != nil {
				ends.Offer(fmt.Errorf("ledger %d: %w", w.ID(), err))
				return
			}
			entries, err := readAll(one, w, count)
			ends.Offer(errors.Join(holds(entries, err, 0, ledger.EntryID(count-1)), w.Close()))
		})
	}
	g.Wait()
	ends.End()
	all, _ := ends.Take(nil)
	return errors.Join(all...)
}

// readAll reads while others still write. The last entry is written again, so that the LAC of the others gets out.
func readAll(one *client.Client, w *client.Writer, count int) (*client.Entries, error) {
	if _, err := w.AppendOne(payload(ledger.EntryID(count))); err != nil {
		return nil, err
	}
	r, err := one.OpenNoRecovery(w.ID(), open)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Read(0, ledger.EntryID(count-1))
}

// narrow makes lines to bookies that a single window overfills.
func narrow(c *client.Config) {
	c.Pool.Channel.RequestsMax, c.Pool.ParkedMax, c.Pool.ParkedBytesMax = 4, 4, 1<<10
	c.AppendBytesMax = 64 << 10
}

// TestAFullLineIsNoFailureOfTheBookie: many writers share the line to a bookie, and together they fill it although each
// keeps to its window. Bookies that are healthy stay in the ensemble, and nothing fails.
func TestAFullLineIsNoFailureOfTheBookie(t *testing.T) {
	var lent int64
	for seed := range uint64(12) {
		c := newCluster(t, seed, sim.LAN(), 5)
		narrow(&c.config)
		c.run(func(h host.Host, one *client.Client) error { return crowd(h, one, 8, 120, options(3, 3, 2)) })
		if n := c.visits(client.PointEnsembleChanged); n != 0 {
			t.Errorf("seed %d: %d ensemble changes without a fault", seed, n)
		}
		lent += c.visits(pool.PointLent)
	}
	if lent == 0 {
		t.Error("no line was ever full")
	}
}

// TestAHungBookieIsReplacedInACrowd: the line to it is full of others' entries, so that a writer may have none on the wire.
// It still learns in time that nothing moves.
func TestAHungBookieIsReplacedInACrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	var stalled int64
	for seed := range uint64(12) {
		c := newCluster(t, seed, sim.LAN(), 4)
		narrow(&c.config)
		c.run(func(h host.Host, one *client.Client) error {
			h.Root().Go("hang", func() {
				h.Root().Sleep(time.Duration(20+seed) * time.Millisecond)
				c.bookies[seed%4].Pause()
			})
			d, err := took(h, func() error { return crowd(h, one, 8, 200, options(3, 3, 2)) })
			// The line stands still for one timeout, for all writers at once. Then the bookie is suspected, so that nobody chooses
			// it again. The rest is work: the writes take a third of a second.
			if limit := 2 * c.config.AddTimeout; err == nil && d > limit {
				err = fmt.Errorf("it took %s, at most %s are allowed", d, limit)
			}
			return err
		})
		if c.visits(client.PointEnsembleChanged) == 0 {
			t.Errorf("seed %d: the hung bookie was not replaced", seed)
		}
		stalled += c.visits(pool.PointStalled)
	}
	if stalled == 0 {
		t.Error("no add ever waited in a line that did not move")
	}
}

// TestManyRecoveriesShareALine: each writes its tail again, while a writer that was put out still has entries in line. No
// healthy bookie is replaced, and what was acknowledged is there.
func TestManyRecoveriesShareALine(t *testing.T) {
	for seed := range uint64(12) {
		c := newCluster(t, seed, sim.LAN(), 4)
		narrow(&c.config)
		c.run(func(h host.Host, one *client.Client) error {
			g := h.Root().New("recoveries")
			ends := host.NewQueue[error](h, g, "ends", 8)
			for range 8 {
				g.Go("recovery", func() { ends.Offer(takeOver(h, one)) })
			}
			g.Wait()
			ends.End()
			all, _ := ends.Take(nil)
			return errors.Join(all...)
		})
		if n := c.visits(client.PointRecoveryEnsemble) + c.visits(client.PointEnsembleChanged); n != 0 {
			t.Errorf("seed %d: %d ensemble changes without a fault", seed, n)
		}
	}
}

// takeOver recovers a ledger from under a writer whose window is full, and abandons that.
func takeOver(h host.Host, one *client.Client) error {
	w, err := one.Create(options(3, 3, 2))
	if err != nil {
		return err
	}
	if err := write(w, 0, 20); err != nil {
		return err
	}
	all := &collected{left: 10, gate: h.Root().NewGate()}
	for e := range ledger.EntryID(10) {
		if err := w.Append(payload(20+e), &client.Op{Done: all}); err != nil {
			return err
		}
	}
	r, err := one.Open(w.ID(), open)
	w.Abandon()
	if err != nil {
		return err
	}
	all.gate.Wait()
	entries, err := r.Read(0, 19)
	return holds(entries, err, 0, 19)
}

// TestASlowBookieSlowsOnlyThoseWhoNeedIt: it answers, so it is not replaced, and the line to it is long. The bytes in that line are
// counted, but are never so many that a writer to other bookies waits for them.
func TestASlowBookieSlowsOnlyThoseWhoNeedIt(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	const crowded, wanted = 16, 2000 // alone, a writer stores 20,000 entries a second
	for seed := range uint64(4) {
		c := newCluster(t, seed, sim.LAN(), 4)
		c.config.WindowEntries, c.config.WindowBytes, c.config.AppendBytesMax = 64, 64<<10, 512<<10
		c.config.Pool.Channel.RequestsMax, c.config.AddTimeout = 32, time.Minute
		c.run(func(h host.Host, one *client.Client) error {
			g, over := h.Root().New("writers"), false
			appends := func(w *client.Writer, size int) *counted {
				taken := &counted{}
				g.Go("writer", func() {
					for !over && w.Append(make([]byte, size), &client.Op{Done: taken}) == nil {
					}
					w.Abandon()
				})
				return taken
			}
			other, err := createdOn(one, bookieAddr(0), false)
			if err != nil {
				return err
			}
			for range crowded {
				w, err := createdOn(one, bookieAddr(0), true)
				if err != nil {
					return err
				}
				appends(w, 1000)
			}
			c.world.Net().SlowLink("client-0", "bookie-0", 300, time.Hour)
			taken := appends(other, 100)
			h.Root().Sleep(3 * time.Second) // the budget would be used up by then
			before := taken.good
			h.Root().Sleep(time.Second)
			after := taken.good
			over = true
			g.Wait()
			h.Root().Sleep(time.Second) // their tasks end a moment later
			if n := one.Busy(); n != 0 {
				return fmt.Errorf("%d writers have adds under way after all have ended", n)
			}
			if n := after - before; n < wanted {
				return fmt.Errorf("%d entries in a second, at least %d are wanted", n, wanted)
			}
			return nil
		})
	}
}

// counted counts the appends that were acknowledged.
type counted struct{ good int }

func (c *counted) Appended(op *client.Op) {
	if op.Err == nil {
		c.good++
	}
}

// createdOn makes ledgers until one lies on a bookie, or does not.
func createdOn(one *client.Client, bookie ledger.BookieID, wanted bool) (*client.Writer, error) {
	for {
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return nil, err
		}
		m := w.Metadata()
		if slices.Contains(m.Last().Ensemble, bookie) == wanted {
			return w, nil
		}
		w.Abandon()
	}
}
