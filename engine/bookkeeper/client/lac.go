package client

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// lastReads are the reads of last entries for one question about the LAC. Answers come in under the reader's mutex, so
// that one wait is for them and for changes of the metadata alike.
type lastReads struct {
	reader   *Reader
	arrived  []*lastRead
	ended    bool
	underWay int
	heard    []bool
	problem  error
}

// lastRead asks one bookie for its last entry.
type lastRead struct {
	channel.Request
	index  int
	bookie ledger.BookieID
	reads  *lastReads
}

// Completed hands the answer to the task that asked, or drops it if that has heard enough.
func (l *lastRead) Completed(*channel.Request) {
	if !l.reads.put(l) {
		l.Release()
	}
}

func (s *lastReads) put(l *lastRead) bool {
	s.reader.mutex.Lock()
	defer s.reader.mutex.Unlock()
	if s.ended {
		return false
	}
	s.arrived = append(s.arrived, l)
	s.reader.changed.Broadcast()
	return true
}

// end has what comes later release itself.
func (s *lastReads) end() {
	s.reader.mutex.Lock()
	s.ended = true
	left := s.arrived
	s.arrived = nil
	s.reader.mutex.Unlock()
	for _, one := range left {
		one.Release()
	}
}

// askLastConfirmed reads the last entry of the bookies in the last ensemble and raises the LAC by what they carry. It
// returns once no ack quorum can hide among those that have not answered: one that hangs holds nobody up. It also returns
// when the time is over, the ledger is closed, or the LAC has come to what the caller wants (tryReadLastConfirmed). An error
// means that an acknowledged entry may have escaped it.
func (r *Reader) askLastConfirmed(m *ledger.Metadata, d *ledger.Digester, want ledger.EntryID, until time.Duration) error {
	s := &lastReads{reader: r, heard: make([]bool, len(m.Last().Ensemble))}
	defer s.end()
	s.ask(m, until)
	until = min(until, r.client.h.Elapsed()+r.client.config.ReadTimeout) // also of what waits for a connection
	var batch []*lastRead
	for more := true; more && !covered(m.Quorum, s.heard); {
		batch, more = s.take(batch, want, until)
		for _, one := range batch {
			s.answered(one, d)
		}
	}
	if covered(m.Quorum, s.heard) || r.isSettled(want) {
		return nil
	}
	return fmt.Errorf("read the LAC of ledger %d: too few of %d bookies answered: %w", r.id, len(s.heard), s.failure())
}

// ask sends a read to each bookie of the last ensemble.
func (s *lastReads) ask(m *ledger.Metadata, until time.Duration) {
	c := s.reader.client
	timeout := min(c.config.ReadTimeout, max(until-c.h.Elapsed(), 1)) // zero would be the channel's own
	for i, bookie := range m.Last().Ensemble {
		one := &lastRead{index: i, bookie: bookie, reads: s}
		one.Request = channel.Request{
			Operation: wire.Read, Ledger: s.reader.id, Entry: ledger.NoEntry, Timeout: timeout, Done: one,
		}
		if err := c.pool.Offer(bookie, &one.Request); err != nil {
			s.problem = err
			continue
		}
		s.underWay++
	}
}

// take waits for answers. False: none will come, or they have no time left, or nobody wants them any more.
func (s *lastReads) take(into []*lastRead, want ledger.EntryID, until time.Duration) ([]*lastRead, bool) {
	r := s.reader
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(s.arrived) == 0 {
		if s.underWay == 0 || r.settled(want) {
			return into[:0], false
		}
		left := until - r.client.h.Elapsed()
		if left <= 0 || r.changed.WaitFor(left) == host.Stopping {
			return into[:0], false
		}
	}
	taken := s.arrived
	clear(into)
	s.arrived = into[:0]
	return taken, true
}

// settled reports whether who waits for an entry to be confirmed need not wait any more. The mutex must be held.
func (r *Reader) settled(want ledger.EntryID) bool {
	return r.confirmed >= want || r.closed || r.gone || r.current.State == ledger.Closed
}

func (r *Reader) isSettled(want ledger.EntryID) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.settled(want)
}

// answered takes in one answer.
func (s *lastReads) answered(one *lastRead, d *ledger.Digester) {
	s.underWay--
	if err := s.reader.lastAnswer(one, d); err != nil {
		s.problem = err
		return
	}
	s.heard[one.index] = true
}

func (s *lastReads) failure() error {
	if s.problem == nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, host.ErrTimeout)
	}
	return classed(ErrUnavailable, s.problem)
}

// lastAnswer takes in one bookie's last entry. That it has none is an answer too.
func (r *Reader) lastAnswer(one *lastRead, d *ledger.Digester) error {
	defer one.Release()
	if one.Err != nil {
		if readClass(one.Err) == ErrNoSuchEntry {
			return nil
		}
		return one.Err
	}
	entry, err := verified(d, one.Entries[0], r.id, ledger.NoEntry)
	if err != nil {
		r.mark(PointBadDigest, ledger.NoEntry, string(one.bookie))
		return fmt.Errorf("from %s: %w", one.bookie, err)
	}
	r.raise(entry.LastAddConfirmed)
	return nil
}

// covered reports whether no ack quorum can hide among the bookies that were not heard: of each write set, fewer than the
// ack quorum are silent.
func covered(q ledger.Quorum, heard []bool) bool {
	for first := range heard {
		silent := 0
		for i := range q.Write {
			if !heard[(first+i)%len(heard)] {
				silent++
			}
		}
		if silent >= q.Ack {
			return false
		}
	}
	return true
}
