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

// uneven writes a ledger with a short entry in front of count long ones, and opens it.
func uneven(one *client.Client, o client.CreateOptions, count, bytes int) (*client.Reader, error) {
	w, err := one.Create(o)
	if err != nil {
		return nil, err
	}
	if _, err := w.AppendOne(make([]byte, 10)); err != nil {
		return nil, err
	}
	for range count {
		if _, err := w.AppendOne(make([]byte, bytes)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return one.Open(w.ID(), open)
}

// peak is the most memory in use while f runs.
func peak(h host.Host, f func() error) (int64, error) {
	g := h.Root().New("peak")
	var most int64
	over := false
	g.Go("sample", func() {
		for !over && h.Root().Sleep(50*time.Microsecond) {
			most = max(most, h.Memory().InUse())
		}
	})
	err := f()
	over = true
	g.Wait()
	return most, err
}

// TestABatchReadOfAStripedLedgerIsBoundedByItsBytes: how many entries fit is guessed from the first one, and the guess may
// be wrong by orders of magnitude.
func TestABatchReadOfAStripedLedgerIsBoundedByItsBytes(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		r, err := uneven(one, options(3, 2, 2), 200, 4000)
		if err != nil {
			return err
		}
		before := h.Memory().InUse()
		most, err := peak(h, func() error {
			entries, err := r.BatchRead(0, 0, 20_000)
			if err == nil && (len(entries.List) < 2 || len(entries.List) > 5) {
				err = fmt.Errorf("%d entries", len(entries.List))
			}
			entries.Release()
			return err
		})
		// The bound, and what is in flight when it is reached, which input buffers hold as well.
		if limit := int64(20_000 + 3*8*4100); err == nil && most-before > limit {
			err = fmt.Errorf("%d bytes were in use, at most %d are allowed", most-before, limit)
		}
		return err
	})
}

// TestAReadIsBoundedByItsBytes, and says so instead of filling memory.
func TestAReadIsBoundedByItsBytes(t *testing.T) {
	for _, quorum := range [][3]int{{3, 3, 2}, {3, 2, 2}} {
		c := newCluster(t, 1, sim.LAN(), 3)
		c.config.ReadBytesMax = 160 << 10
		c.run(func(h host.Host, one *client.Client) error {
			r, err := uneven(one, options(quorum[0], quorum[1], quorum[2]), 100, 4000)
			if err != nil {
				return err
			}
			_, err = r.Read(0, 100)
			if err := is("400 kB at once", err, client.ErrInvalid); err != nil {
				return err
			}
			entries, err := r.Read(10, 30)
			if err == nil && len(entries.List) != 21 {
				err = fmt.Errorf("%d entries", len(entries.List))
			}
			entries.Release()
			return err
		})
	}
}

// TestBatchesOfOneReadArePipelined: a range that takes many batches takes less time than they would one after the other,
// and comes in order.
func TestBatchesOfOneReadArePipelined(t *testing.T) {
	profile := sim.LAN()
	profile.LatencyMin = 10 * time.Millisecond
	c := newCluster(t, 1, profile, 3)
	c.run(func(h host.Host, one *client.Client) error {
		const last = 999 // about 40 batches of a bookie that answers 8 KiB at most
		id, err := forged(h, 3, last, func(int, ledger.EntryID) bool { return false })
		if err != nil {
			return err
		}
		r, err := one.Open(id, open)
		if err != nil {
			return err
		}
		entries, err := r.Read(0, 9)
		if err := holds(entries, err, 0, 9); err != nil {
			return err
		}
		d, err := took(h, func() error {
			entries, err := r.Read(0, last)
			return holds(entries, err, 0, last)
		})
		if err == nil && d > 250*time.Millisecond {
			err = fmt.Errorf("the read took %s", d)
		}
		return err
	})
}

// TestALongAppendMakesRoomForAllWhoWait, not only for the first of them.
func TestALongAppendMakesRoomForAllWhoWait(t *testing.T) {
	profile := sim.LAN()
	profile.LatencyMin = 10 * time.Millisecond
	c := newCluster(t, 1, profile, 3)
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return err
		}
		if err := write(w, 0, 1); err != nil {
			return err
		}
		g := h.Root().New("appenders")
		g.Go("long", func() { _, _ = w.AppendOne(make([]byte, 9<<10)) })
		h.Root().Sleep(time.Millisecond)
		d, _ := took(h, func() error {
			for range 10 {
				g.Go("short", func() { _, _ = w.AppendOne(make([]byte, 10)) })
			}
			g.Wait()
			return nil
		})
		if d > 100*time.Millisecond {
			err = fmt.Errorf("ten appends behind a long one took %s", d)
		}
		return errors.Join(err, w.Close())
	})
}

// TestABusyWriterDoesNotStarveAnother: who takes from the budget again and again does not pass those that wait for it.
func TestABusyWriterDoesNotStarveAnother(t *testing.T) {
	for seed := range uint64(10) {
		w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed%3) * 100})
		rounds, passed := 0, -1
		w.NewNode("client").Start(func(h host.Host) error {
			b := client.NewBudget(h, 1)
			h.Root().Go("busy", func() {
				for ; rounds < 100 && b.Take() == nil; rounds++ {
					h.Root().Sleep(time.Millisecond)
					b.Give()
				}
			})
			h.Root().Sleep(time.Millisecond / 2)
			err := b.Take()
			passed = rounds
			b.Give()
			h.Root().Wait()
			return err
		})
		if v := w.Run(time.Minute); v.Failed() {
			t.Fatalf("seed %d\n%s", seed, v.String())
		}
		if passed < 0 || passed > 2 {
			t.Errorf("seed %d: the busy one went first %d times", seed, passed)
		}
	}
}
