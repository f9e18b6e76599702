package server_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

// storm breaks the world between client and bookie at random moments.
type storm struct {
	*cluster
	rand      *rand.Rand
	crashes   bool
	until     time.Duration
	gapMillis int // between strikes, at most
}

func (s *storm) begin() {
	s.world.At(time.Duration(1+s.rand.IntN(s.gapMillis))*time.Millisecond, func() {
		if s.world.Elapsed() > s.until {
			s.world.Net().HealAll()
			return
		}
		s.strike()
		s.begin()
	})
}

func (s *storm) strike() {
	net := s.world.Net()
	a, b := "client", "bookie"
	if s.rand.IntN(2) == 0 {
		a, b = b, a
	}
	lasting := time.Duration(s.rand.IntN(2000+2*s.gapMillis)) * time.Millisecond
	switch s.rand.IntN(7) {
	case 0, 1:
		net.Reset(a, b)
	case 2:
		net.Stall(a, b, lasting)
	case 3:
		net.SlowLink(a, b, int64(2+s.rand.IntN(200)), lasting)
	case 4:
		net.Partition(a, b, s.rand.IntN(2) == 0)
		s.world.At(lasting*2, func() { net.Heal(a, b) })
	case 5:
		s.bookie.Pause()
		s.world.At(lasting, s.bookie.Resume)
	case 6:
		if s.crashes && s.bookie.Running() {
			s.powerCut()
		}
	}
}

// TestNothingAcknowledgedIsLostInAStorm of resets, stalls, slow links, partitions, pauses and, for half of the seeds,
// power cuts with half-open connections. Every request ends once, what was acknowledged is read back, what was fenced
// takes nothing more, and neither side keeps memory.
func TestNothingAcknowledgedIsLostInAStorm(t *testing.T) {
	effects, visits := map[string]int64{}, map[host.Point]int64{}
	acked, unknown := 0, 0
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		profile := sim.LAN()
		profile.SplitPermille, profile.WindowBytes = 300, 8<<10
		c := newCluster(t, seed, profile, smallServer())
		restart(c)
		s := &storm{cluster: c, rand: c.world.Stream("storm"), crashes: seed%2 == 0, until: 20 * time.Second, gapMillis: 80}
		if seed%8 == 3 {
			s.gapMillis = 2000 // few strikes that last: a connection must live long for an answer to be owed for long
		}
		s.world.At(time.Millisecond, s.begin)
		w := &workload{acked: map[ledger.ID]map[ledger.EntryID]bool{}}
		c.run(w.run)
		acked, unknown = acked+w.stored, unknown+w.unknown
		for name, count := range c.world.Effects() {
			effects[name] += count
		}
		for _, p := range stormPoints {
			visits[p] += c.bookie.Visits(p) + c.world.Node("client").Visits(p)
		}
	}
	t.Logf("%d adds acknowledged, %d of unknown outcome; %v; %v", acked, unknown, effects, visits)
	if testing.Short() {
		return // too few seeds to come everywhere
	}
	for _, name := range []string{"reset", "stall", "slow-link", "partition", "one-way-partition", "half-open", "split-read", "power-cut"} {
		if effects[name] == 0 {
			t.Errorf("no seed had an effect of %s", name)
		}
	}
	for _, p := range stormPoints {
		if visits[p] == 0 {
			t.Errorf("no seed came to %s", p)
		}
	}
}

// TestAStormIsTheSameEachTime: nothing in server or channel depends on what the world does not control.
func TestAStormIsTheSameEachTime(t *testing.T) {
	var hashes []uint64
	for range 2 {
		c := newCluster(t, 4, sim.LAN(), smallServer())
		restart(c)
		s := &storm{cluster: c, rand: c.world.Stream("storm"), crashes: true, until: 20 * time.Second, gapMillis: 80}
		s.world.At(time.Millisecond, s.begin)
		c.run((&workload{acked: map[ledger.ID]map[ledger.EntryID]bool{}}).run)
		hashes = append(hashes, c.world.Hash())
	}
	if hashes[0] != hashes[1] {
		t.Errorf("the same seed gave %016x and %016x", hashes[0], hashes[1])
	}
}

// stormPoints must each be reached by some seed, or the storm proves less than it says.
var stormPoints = []host.Point{
	server.PointCombined, server.PointBroken, server.PointUnanswered, server.PointFenceRead, server.PointDrained,
	channel.PointTimedOut, channel.PointLate, channel.PointBroken, channel.PointImpatient, channel.PointInLine,
	channel.PointNextInLine,
}

// workload writes ledgers one after the other over channels that it dials again, fences each in the end, and remembers
// what was acknowledged.
type workload struct {
	acked   map[ledger.ID]map[ledger.EntryID]bool
	stored  int
	unknown int
}

func (w *workload) run(h host.Host) error {
	for id := ledger.ID(0); h.Elapsed() < 21*time.Second; id++ {
		w.acked[id] = map[ledger.EntryID]bool{}
		if err := w.session(h, id); err != nil {
			return fmt.Errorf("ledger %d: %w", id, err)
		}
	}
	return w.verify(h)
}

// session is the life of one channel: it writes until the channel breaks or enough is done, in windows of adds with
// reads between.
func (w *workload) session(h host.Host, id ledger.ID) error {
	c, err := dial(h, smallChannel())
	if err != nil {
		return err
	}
	defer c.Close()
	const window = 24
	for first := ledger.EntryID(0); first < 10*window && c.Err() == nil; first += window {
		done := newCollector(h, 4*window)
		taken := 0
		for e := first; e < first+window; e++ {
			for _, r := range requestsFor(id, e) {
				r.Done = done
				err := c.Submit(r)
				if err == nil {
					taken++
				} else if !errors.Is(err, channel.ErrBroken) && !errors.Is(err, host.ErrTimeout) {
					return err
				}
			}
		}
		for _, r := range done.await(taken) {
			if err := w.judge(r); err != nil {
				return err
			}
			r.Release()
		}
	}
	return nil
}

// requestsFor is an add, and reads that race with it and each other.
func requestsFor(id ledger.ID, e ledger.EntryID) []*channel.Request {
	read := channel.Request{Operation: wire.Read, Ledger: id, Entry: e}
	requests := []*channel.Request{{Operation: wire.Add, MasterKey: key, Body: stored(id, e, 50)}, &read}
	switch e % 6 {
	case 0:
		again := read
		requests = append(requests, &again)
	case 3:
		requests = append(requests, &channel.Request{Operation: wire.BatchRead, Ledger: id, Entry: e - 3, MaxSize: 1000})
	}
	return requests
}

// judge checks one outcome and remembers it.
func (w *workload) judge(r *channel.Request) error {
	if r.Operation != wire.Add {
		for i, e := range r.Entries {
			if string(e) != string(stored(r.Ledger, r.Entry+ledger.EntryID(i), 50)) {
				return fmt.Errorf("%s returned other bytes for entry %d", r.Operation, r.Entry)
			}
		}
		negative := errors.Is(r.Err, channel.ErrNoEntry) || errors.Is(r.Err, channel.ErrNoLedger)
		if negative || r.Err == nil || expected(r.Err) {
			return nil
		}
		return r.Err
	}
	switch {
	case r.Err == nil:
		w.acked[r.Ledger][r.Entry] = true
		w.stored++
	case errors.Is(r.Err, channel.ErrOutcomeUnknown):
		w.unknown++
	case errors.Is(r.Err, channel.ErrUnknown): // limbo after a power cut
	default:
		return r.Err
	}
	return nil
}

// expected reports whether an error of a read is one that the storm explains.
func expected(err error) bool {
	return errors.Is(err, channel.ErrBroken) || errors.Is(err, host.ErrTimeout) || errors.Is(err, channel.ErrUnknown) ||
		errors.Is(err, channel.ErrIO)
}

// verify fences each ledger and reads everything that was acknowledged, when the storm is over.
func (w *workload) verify(h host.Host) error {
	h.Root().Sleep(5 * time.Second)
	c, err := dial(h, smallChannel())
	if err != nil {
		return err
	}
	defer c.Close()
	for _, id := range host.SortedKeys(w.acked) {
		r, err := c.FenceAndRead(id, ledger.NoEntry, key, 0)
		if err == nil {
			r.Release()
		} else if !errors.Is(err, channel.ErrNoEntry) && !errors.Is(err, channel.ErrUnknown) {
			return err
		}
		if err := c.AddEntry(add(id, 10_000, 50), 0); !errors.Is(err, channel.ErrFenced) {
			return fmt.Errorf("add to fenced ledger %d: %w", id, err)
		}
		for _, e := range host.SortedKeys(w.acked[id]) {
			r, err := c.ReadEntry(id, e, 0)
			if err := holds(r, err, id, e, 50); err != nil {
				return fmt.Errorf("acknowledged entry is lost: %w", err)
			}
		}
	}
	return nil
}
