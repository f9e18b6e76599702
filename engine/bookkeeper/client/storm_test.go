package client_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/sim"
)

var stormSeeds = flag.Int("storm.seeds", 20, "seeds of the storm tests")

// storm is one ledger that is written, tailed and recovered while the world breaks.
type storm struct {
	*cluster
	random    *rand.Rand
	writing   writing
	confirmed ledger.EntryID // by marks
	closedAt  map[ledger.EntryID]bool
	over      bool // no more faults
	recoverAt time.Duration
}

// TestNothingAcknowledgedIsLostInAStorm: bookies are killed and come back, links break, stall and reset, also those to the
// metadata store, so that answers to its writes are lost; a writer writes, and may be killed; a reader tails, and two
// clients recover the ledger. In the end it is closed once, holds all that was acknowledged in its place, and nothing that was
// reported absent.
func TestNothingAcknowledgedIsLostInAStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("in worlds only, where the race detector is blind")
	}
	reached := map[host.Point]int64{}
	points := []host.Point{
		client.PointEnsembleChanged, client.PointRecoveryEnsemble, client.PointRecoveryLostRace, client.PointCASUnknown,
		client.PointCASConflict, client.PointFenced, client.PointResent, client.PointRecoveryReadd,
	}
	for seed := range uint64(*stormSeeds) {
		profile := sim.LAN()
		profile.TailPermille, profile.TailMax = 30, 100*time.Millisecond
		s := &storm{cluster: newCluster(t, 1000+seed, profile, 5), confirmed: ledger.NoEntry, closedAt: map[ledger.EntryID]bool{}}
		s.random = s.world.Stream("storm")
		s.world.OnMark(s.mark)
		s.recoverAt = time.Duration(s.random.IntN(15000)) * time.Millisecond
		s.world.Net().OnSend(s.loseAnswers)
		s.world.At(500*time.Millisecond, s.breakSomething)
		if seed%3 == 0 {
			s.world.At(s.recoverAt+time.Duration(s.random.IntN(100))*time.Millisecond, s.killWriter)
		}
		s.run(s.write, s.tail, s.recover, s.recover)
		for _, p := range points {
			reached[p] += s.visits(p)
		}
		if t.Failed() {
			return
		}
	}
	t.Log(reached)
	for _, p := range points {
		if reached[p] == 0 && *stormSeeds >= 20 {
			t.Errorf("%s was never reached", p)
		}
	}
}

func (s *storm) mark(_ *sim.Node, e host.Event) {
	switch e.Name {
	case client.PointAcked:
		s.confirmed = ledger.EntryID(e.B)
	case client.PointClosed:
		s.closedAt[ledger.EntryID(e.B)] = true
	case client.PointRecoveryStarted:
		if s.random.IntN(3) == 0 {
			s.kill(s.random.IntN(len(s.bookies)), 2*time.Second)
		}
	}
}

// loseAnswers breaks some connections to the metadata store just after something was sent.
func (s *storm) loseAnswers(send *sim.Send) {
	user := send.From.Name()
	if !s.over && send.To == s.store && strings.HasPrefix(user, "client") && s.random.IntN(15) == 0 {
		s.world.At(time.Duration(s.random.IntN(500))*time.Microsecond, func() { s.world.Net().Reset("metadata", user) })
	}
}

// killWriter ends the writer's process, if it has a ledger by then.
func (s *storm) killWriter() {
	if s.writing.ready && s.world.Node("client-0").Running() {
		s.world.Node("client-0").Crash(sim.KillProcess())
		s.writing.over = true
	}
}

func (s *storm) kill(i int, pause time.Duration) {
	if s.bookies[i].Running() {
		s.bookies[i].Crash(sim.KillProcess())
		s.world.At(pause, func() { s.start(i) })
	}
}

// breakSomething breaks one thing, mends it later, and comes again.
func (s *storm) breakSomething() {
	if s.over || s.world.Elapsed() > 40*time.Second {
		return
	}
	i := s.random.IntN(len(s.bookies))
	name, user := s.bookies[i].Name(), fmt.Sprintf("client-%d", s.random.IntN(4))
	pause := time.Duration(s.random.IntN(3000)) * time.Millisecond
	switch s.random.IntN(6) {
	case 0:
		s.kill(i, pause)
	case 1:
		s.world.Net().Partition(name, user, s.random.IntN(2) == 0)
		s.world.At(pause, func() { s.world.Net().Heal(name, user) })
	case 2:
		s.world.Net().Stall(name, user, pause)
	case 3:
		s.world.Net().Reset(name, user)
	default:
		s.world.Net().Reset("metadata", user)
	}
	s.world.At(pause/2+time.Duration(s.random.IntN(1000))*time.Millisecond, s.breakSomething)
}

func (s *storm) write(h host.Host, one *client.Client) error {
	shapes := [][3]int{{3, 3, 2}, {4, 3, 2}, {3, 2, 2}, {3, 3, 3}, {4, 2, 1}}
	q := shapes[s.random.IntN(len(shapes))]
	o := options(q[0], q[1], q[2])
	o.Writer.DelayEnsembleChange = s.random.IntN(3) == 0
	err := s.writing.keepWriting(h, one, o, 1+s.random.IntN(15))
	for _, class := range []error{client.ErrFenced, client.ErrClosed, client.ErrUnavailable, client.ErrNotEnoughBookies} {
		if errors.Is(err, class) {
			return nil
		}
	}
	return err
}

func (s *storm) awaitLedger(h host.Host) {
	for !s.writing.ready {
		h.Root().Sleep(10 * time.Millisecond)
	}
}

func (s *storm) tail(h host.Host, one *client.Client) error {
	s.awaitLedger(h)
	var r *client.Reader
	for {
		var err error
		if r, err = one.OpenNoRecovery(s.writing.id, open); err == nil {
			break
		}
		h.Root().Sleep(time.Second)
	}
	defer r.Close()
	next, highest := ledger.EntryID(0), ledger.NoEntry
	for {
		lac, err := r.WaitFor(next, 30*time.Second)
		if errors.Is(err, client.ErrBeyondLAC) {
			return nil
		}
		if err != nil && !errors.Is(err, host.ErrTimeout) {
			return err
		}
		if lac < highest || lac > s.confirmed && !r.Closed() {
			return fmt.Errorf("LAC %d after %d, confirmed is %d", lac, highest, s.confirmed)
		}
		highest = lac
		if lac < next {
			continue
		}
		entries, err := r.Read(next, lac)
		if errors.Is(err, client.ErrUnavailable) {
			h.Root().Sleep(500 * time.Millisecond)
			continue
		}
		if err := holds(entries, err, next, lac); err != nil {
			return err
		}
		next = lac + 1
	}
}

func (s *storm) recover(h host.Host, one *client.Client) error {
	s.awaitLedger(h)
	h.Root().Sleep(s.recoverAt + time.Duration(s.random.IntN(20))*time.Millisecond)
	var r *client.Reader
	for tries := 0; ; tries++ {
		var err error
		if r, err = one.Open(s.writing.id, open); err == nil {
			break
		}
		if tries == 100 || !errors.Is(err, client.ErrUnavailable) && !errors.Is(err, client.ErrNotEnoughBookies) {
			return err
		}
		h.Root().Sleep(time.Second)
	}
	defer r.Close()
	for range 1000 {
		if s.writing.over {
			break
		}
		h.Root().Sleep(100 * time.Millisecond)
	}
	s.over = true
	h.Root().Sleep(30 * time.Second) // everything is mended
	last := r.LastAddConfirmed()
	if !s.writing.over || s.writing.acked > last || s.confirmed > last {
		return fmt.Errorf("acknowledged up to %d, marked up to %d, the ledger ends at %d; writer over: %v",
			s.writing.acked, s.confirmed, last, s.writing.over)
	}
	if len(s.closedAt) > 1 || len(s.closedAt) == 1 && !s.closedAt[last] {
		return fmt.Errorf("closed at %v, and read as %d", s.closedAt, last)
	}
	for _, absent := range s.writing.absent {
		if absent <= last {
			return fmt.Errorf("entry %d was reported absent, and the ledger ends at %d", absent, last)
		}
	}
	if last == ledger.NoEntry {
		return nil
	}
	entries, err := r.Read(0, last)
	return holds(entries, err, 0, last)
}
