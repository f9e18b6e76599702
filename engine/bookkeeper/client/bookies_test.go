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
)

// TestAwaitBookiesReturnsWhenTheyAreThere: Create fails at once before, and succeeds after.
func TestAwaitBookiesReturnsWhenTheyAreThere(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 0)
	c.run(func(h host.Host, one *client.Client) error {
		_, err := one.Create(options(3, 3, 2))
		problem := is("no bookies", err, client.ErrNotEnoughBookies)
		for i := range 3 {
			node := c.world.NewNode(fmt.Sprintf("late-%d", i))
			node.SetDaemon(true)
			node.Start(func(h host.Host) error {
				h.Root().Sleep(time.Duration(i+1) * 3 * time.Second)
				return runBookie(h, ledger.BookieID(fmt.Sprintf("late-%d:3181", i)), smallStore(), smallServer())
			})
		}
		start := h.Elapsed()
		problem = errors.Join(problem, one.AwaitBookies(0, nil), one.AwaitBookies(3, host.Within(h, h.Root(), time.Minute)))
		if took := h.Elapsed() - start; took < 8*time.Second || took > 12*time.Second {
			problem = errors.Join(problem, fmt.Errorf("the third bookie comes after 9s, and was seen after %v", took))
		}
		_, err = one.Create(options(3, 3, 2))
		return errors.Join(problem, err)
	})
}

// TestAwaitBookiesEnds with its scope, with the client, or because the store is dead, and says which.
func TestAwaitBookiesEnds(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 1)
	c.run(func(h host.Host, one *client.Client) error {
		start := h.Elapsed()
		err := one.AwaitBookies(2, host.Within(h, nil, 3*time.Second))
		problem := errors.Join(is("deadline", err, host.ErrTimeout), is("deadline", err, client.ErrNotEnoughBookies))
		if took := h.Elapsed() - start; took < 3*time.Second || took > 3100*time.Millisecond {
			problem = errors.Join(problem, fmt.Errorf("the deadline of 3s was kept after %v", took))
		}
		g := h.Root().New("stopped")
		g.Stop()
		problem = errors.Join(problem,
			is("stop", one.AwaitBookies(2, &host.Scope{Group: g}), host.ErrStopping),
			is("negative", one.AwaitBookies(-1, nil), client.ErrInvalid))
		c.store.Crash(sim.KillProcess())
		start = h.Elapsed()
		err = one.AwaitBookies(1, host.Within(h, nil, 5*time.Second))
		problem = errors.Join(problem, is("dead store", err, client.ErrUnavailable), is("dead store", err, host.ErrTimeout))
		if took := h.Elapsed() - start; took > 5100*time.Millisecond {
			problem = errors.Join(problem, fmt.Errorf("the deadline of 5s was kept after %v", took))
		}
		waiters := h.Root().New("waiters")
		var closed error
		waiters.Go("wait", func() { closed = one.AwaitBookies(2, nil) })
		h.Root().Sleep(time.Second)
		one.Close()
		waiters.Wait()
		return errors.Join(problem, is("closed", closed, client.ErrClientClosed), is("late", one.AwaitBookies(1, nil), client.ErrClientClosed))
	})
}

// TestCreationThatCannotBeSaysWhy, once.
func TestCreationThatCannotBeSaysWhy(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 1)
	c.run(func(h host.Host, one *client.Client) error {
		undigested, wide := options(1, 1, 1), options(100, 3, 2)
		undigested.Digest = ledger.DigestUnstored
		var problem error
		for text, o := range map[string]client.CreateOptions{
			"ack quorum 0": {}, "digest type": undigested, "at most 64": wide, "choose 3 of 1 writable bookies: not": options(3, 3, 2),
		} {
			_, err := one.Create(o)
			if err == nil || !strings.Contains(err.Error(), text) || strings.Count(err.Error(), "not enough bookies") > 1 {
				problem = errors.Join(problem, fmt.Errorf("got %v, want %q in it", err, text))
			}
		}
		return problem
	})
}

// TestAnOpenLedgerIsReadAtOnce: a reader that opens it without recovery knows what was confirmed before, without asking.
// When the bookies are dead it begins with what the metadata say.
func TestAnOpenLedgerIsReadAtOnce(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
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
		defer r.Close()
		entries, err := r.Read(0, 8)
		if err := holds(entries, err, 0, 8); err != nil {
			return err
		}
		for _, b := range c.bookies {
			b.Crash(sim.KillProcess())
		}
		start := h.Elapsed()
		late, err := one.OpenNoRecovery(w.ID(), open)
		if err != nil {
			return err
		}
		defer late.Close()
		if took := h.Elapsed() - start; late.LastAddConfirmed() != ledger.NoEntry || took > 2*time.Second {
			return fmt.Errorf("LAC %d of dead bookies after %v", late.LastAddConfirmed(), took)
		}
		return nil
	})
}

// TestErrorsSayItOnce: a class that several layers have, and the key of a ledger that is not there.
func TestErrorsSayItOnce(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 3)
	c.run(func(h host.Host, one *client.Client) error {
		w, err := one.Create(options(3, 3, 2))
		if err != nil {
			return err
		}
		if _, err := one.Recover(w.ID(), open); err != nil {
			return err
		}
		_, fenced := w.AppendOne(payload(0))
		_, absent := one.Open(77, open)
		problem := errors.Join(is("append", fenced, client.ErrFenced), is("open", absent, client.ErrNoSuchLedger))
		for text, err := range map[string]error{"fenced": fenced, "no such ledger": absent, "L0077": absent} {
			if err == nil || strings.Count(err.Error(), text) != 1 {
				problem = errors.Join(problem, fmt.Errorf("not %q once in: %w", text, err))
			}
		}
		return problem
	})
}
