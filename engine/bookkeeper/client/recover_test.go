package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// writing is a writer whose outcomes a test keeps: what was acknowledged must be in the ledger for ever.
type writing struct {
	id      ledger.ID
	ready   bool
	acked   ledger.EntryID
	failure error            // of the first append that failed
	absent  []ledger.EntryID // failed, and said not to be in the ledger
	over    bool
	enough  bool // set to end it although no append has failed
	abandon bool // instead of closing
}

// keepWriting appends until an append fails, or it is enough.
func (s *writing) keepWriting(h host.Host, one *client.Client, o client.CreateOptions, window int) error {
	s.acked = ledger.NoEntry
	w, err := one.Create(o)
	for tries := 0; err != nil && tries < 20; tries++ {
		h.Root().Sleep(500 * time.Millisecond)
		w, err = one.Create(o)
	}
	if err != nil {
		return err
	}
	s.id, s.ready = w.ID(), true
	done := &watching{queue: host.NewQueue[*client.Op](h, h.Root(), "done", 10_000)}
	next, underWay := ledger.EntryID(0), 0
	var failed error // a completion's; a refused append may come before earlier ones complete
	for s.failure == nil || underWay > 0 {
		for s.failure == nil && !s.enough && underWay < window {
			if err := w.Append(payload(next), &client.Op{Done: done}); err != nil {
				s.failure = err
				break
			}
			next++
			underWay++
		}
		if underWay == 0 {
			break
		}
		batch, _ := done.queue.Take(nil)
		for _, op := range batch {
			underWay--
			switch {
			case op.Err != nil:
				failed = op.Err
				if !errors.Is(op.Err, client.ErrOutcomeUnknown) && op.Entry != ledger.NoEntry {
					s.absent = append(s.absent, op.Entry)
				}
				if s.failure == nil {
					s.failure = op.Err
				}
			case failed != nil:
				return fmt.Errorf("entry %d was acknowledged behind one that failed with %v", op.Entry, failed)
			default:
				s.acked = op.Entry
			}
		}
		h.Root().Sleep(5 * time.Millisecond)
	}
	s.over = true
	if s.abandon {
		w.Abandon()
		return nil
	}
	return w.Close()
}

type watching struct{ queue *host.Queue[*client.Op] }

func (w *watching) Appended(op *client.Op) { w.queue.Offer(op) }

// TestRecoveryPutsTheWriterOutAndKeepsWhatWasAcknowledged: a client recovers a ledger that is being written; the writer
// finds itself fenced, and all that it was acknowledged is in the ledger, in its place.
func TestRecoveryPutsTheWriterOutAndKeepsWhatWasAcknowledged(t *testing.T) {
	var ends, readds int64
	for seed := range uint64(40) {
		profile := sim.LAN()
		profile.TailPermille, profile.TailMax = 50, 20*time.Millisecond
		c := newCluster(t, seed, profile, 5)
		var s writing
		quorum := [][3]int{{3, 3, 2}, {4, 3, 2}, {3, 2, 2}, {5, 5, 3}}[seed%4]
		c.run(func(h host.Host, one *client.Client) error {
			err := s.keepWriting(h, one, options(quorum[0], quorum[1], quorum[2]), 1+int(seed%12))
			if err == nil {
				return errors.New("the writer closed a ledger that was recovered")
			}
			if !errors.Is(err, client.ErrFenced) && !errors.Is(err, client.ErrClosed) {
				return err
			}
			return nil
		}, func(h host.Host, one *client.Client) error {
			for !s.ready || s.acked < 20+ledger.EntryID(seed%10) {
				h.Root().Sleep(3 * time.Millisecond)
			}
			if seed%3 == 0 {
				c.bookies[seed%5].Crash(sim.PowerCut(disk.Drop))
			}
			r, err := one.Open(s.id, open)
			if err != nil {
				return err
			}
			defer r.Close()
			for range 1000 {
				if s.over {
					break
				}
				h.Root().Sleep(10 * time.Millisecond)
			}
			if !s.over || s.acked > r.LastAddConfirmed() {
				return fmt.Errorf("acknowledged up to %d, the ledger ends at %d; writer over: %v", s.acked, r.LastAddConfirmed(), s.over)
			}
			entries, err := r.Read(0, r.LastAddConfirmed())
			return holds(entries, err, 0, r.LastAddConfirmed())
		})
		ends += c.visits(client.PointFenced)
		readds += c.visits(client.PointRecoveryReadd)
	}
	if ends == 0 || readds == 0 {
		t.Errorf("%d writers were fenced, %d entries were written again", ends, readds)
	}
}

// TestTwoRecoveriesAgree: both end with the same metadata, whoever wins.
func TestTwoRecoveriesAgree(t *testing.T) {
	var lost int64
	for seed := range uint64(30) {
		profile := sim.LAN()
		profile.TailPermille, profile.TailMax = 100, 20*time.Millisecond
		c := newCluster(t, seed, profile, 4)
		var id ledger.ID
		created := false
		var found []ledger.Metadata
		recovering := func(h host.Host, one *client.Client) error {
			for !created {
				h.Root().Sleep(10 * time.Millisecond)
			}
			m, err := one.Recover(id, open)
			if err != nil {
				return err
			}
			found = append(found, m)
			if len(found) == 2 && !found[0].Equal(found[1]) {
				return fmt.Errorf("%+v and %+v", found[0], found[1])
			}
			if m.LastEntry < 24 {
				return fmt.Errorf("the ledger ends at %d", m.LastEntry)
			}
			return nil
		}
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 25); err != nil {
				return err
			}
			w.Abandon()
			id, created = w.ID(), true
			return nil
		}, recovering, recovering)
		lost += c.visits(client.PointRecoveryLostRace)
	}
	if lost == 0 {
		t.Error("no recovery lost the race")
	}
}

// TestARecoveryThatCannotKnowSaysSo: with too few bookies it fails as unavailable, changes nothing, and succeeds when they
// are back.
func TestARecoveryThatCannotKnowSaysSo(t *testing.T) {
	for seed := range uint64(6) {
		c := newCluster(t, seed, sim.LAN(), 3)
		c.run(func(h host.Host, one *client.Client) error {
			w, err := one.Create(options(3, 3, 2))
			if err != nil {
				return err
			}
			if err := write(w, 0, 12); err != nil {
				return err
			}
			w.Abandon()
			c.bookies[0].Crash(sim.KillProcess())
			c.bookies[1].Crash(sim.KillProcess())
			_, err = one.Open(w.ID(), open)
			if err := is("recovery with one bookie of three", err, client.ErrUnavailable); err != nil {
				return err
			}
			c.start(0)
			h.Root().Sleep(20 * time.Second)
			r, err := one.Open(w.ID(), open)
			if err != nil {
				return err
			}
			if r.LastAddConfirmed() != 11 {
				return fmt.Errorf("the ledger ends at %d", r.LastAddConfirmed())
			}
			entries, err := r.Read(0, 11)
			return holds(entries, err, 0, 11)
		})
	}
}

// TestRecoveryAfterAllBookiesLostPower: in the middle of writing, and with whatever was not synced torn or gone. What was
// acknowledged is in the ledger; bookies that cannot prove what they never had do not keep it open for ever.
func TestRecoveryAfterAllBookiesLostPower(t *testing.T) {
	var unknown int64
	for seed := range uint64(24) {
		c := newCluster(t, seed, sim.LAN(), 3)
		modes := []disk.Survival{disk.Drop, disk.RandomPages, disk.Torn, disk.Mixed, disk.Keep}
		var s writing
		cut, armed := false, false
		powerCut := func() {
			for i := range c.bookies {
				c.bookies[i].Crash(sim.PowerCut(modes[(int(seed)+i)%len(modes)]))
				c.start(i)
			}
			cut = true
			s.enough = true // bookies that are back in time, and in no doubt, would let it go on
		}
		c.world.OnMark(func(_ *sim.Node, e host.Event) {
			if e.Name == bookie.PointAccepted && armed { // so that some of the journals are being written
				armed = false
				c.world.At(time.Duration(50+13*seed)*time.Microsecond, powerCut)
			}
		})
		c.run(func(h host.Host, one *client.Client) error {
			s.abandon = true
			return s.keepWriting(h, one, options(3, 3, 1+int(seed%2)), 12) // with 1, every bookie must prove an absence
		}, func(h host.Host, one *client.Client) error {
			for !s.ready || s.acked < 40 {
				h.Root().Sleep(3 * time.Millisecond)
			}
			armed = true
			for !cut || !s.over {
				h.Root().Sleep(100 * time.Millisecond)
			}
			r, err := one.Open(s.id, open)
			for tries := 0; err != nil && tries < 30; tries++ {
				h.Root().Sleep(time.Second)
				r, err = one.Open(s.id, open)
			}
			if err != nil {
				return err
			}
			if s.acked > r.LastAddConfirmed() {
				return fmt.Errorf("acknowledged up to %d, the ledger ends at %d", s.acked, r.LastAddConfirmed())
			}
			entries, err := r.Read(0, r.LastAddConfirmed())
			return holds(entries, err, 0, r.LastAddConfirmed())
		})
		unknown += c.visits(client.PointAllUnknown)
	}
	if unknown == 0 {
		t.Error("no recovery had to do without proof")
	}
}
