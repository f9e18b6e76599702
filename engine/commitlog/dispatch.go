package commitlog

import (
	"fmt"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// dispatch makes units from confirmed messages until the store ends. It reads them back from the log, as a start does: what
// was written is the truth, and there is one way from it to the queues.
func (s *Store) dispatch() {
	w := walker{log: s.log, at: s.dispatched, chunk: s.config.DispatchBytes}
	for {
		limit, ok := s.awaitConfirmed(w.at)
		if !ok {
			return
		}
		w.limit = limit
		if err := s.dispatchBatch(&w); err != nil {
			s.fail(fmt.Errorf("dispatch at %d of the log: %w", w.at, err))
			return
		}
		s.rest()
	}
}

// rest has the dispatcher pause behind a batch, so that a stream of appends does not wake it for each of them: that cost as
// much as the appends. A message that comes alone has its unit at once, and so has every one that somebody waits for.
func (s *Store) rest() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	until := s.h.Elapsed() + s.config.DispatchPause
	s.resting = true
	for s.failed == nil && !s.urgent() {
		left := until - s.h.Elapsed()
		if left <= 0 || s.confirm.WaitFor(left) == host.Stopping {
			break
		}
	}
	s.resting, s.wanted = false, false
}

// urgent reports whether units are wanted now, or as many as are made at once. The mutex is held.
func (s *Store) urgent() bool {
	return s.wanted || s.suspended > 0 || s.closing || s.config.AckAfterDispatch ||
		s.confirmed-s.dispatched >= int64(s.config.DispatchBytes)
}

// wantUnits ends the dispatcher's pause if it may have units to make: a consumer has found nothing more. The mutex is held.
func (s *Store) wantUnits() {
	if s.resting && s.confirmed > s.dispatched {
		s.wanted = true
		s.confirm.Broadcast()
	}
}

// awaitConfirmed waits until there are messages behind at, and room for their units.
func (s *Store) awaitConfirmed(at int64) (limit int64, ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for s.failed == nil {
		full := s.pending >= s.config.PendingUnitsMax
		if s.confirmed > at && !full {
			return s.confirmed, true
		}
		if full {
			s.due.Broadcast()
		}
		if !s.confirm.Wait() {
			break
		}
	}
	return 0, false
}

// dispatchBatch makes the units of about DispatchBytes of messages, and lets consumers see them. Unlike upstream it never
// passes over what it cannot read: below the confirmed offset, that is damage.
func (s *Store) dispatchBatch(w *walker) error {
	from, units := w.at, int64(0)
	var touched []*queue
	var last *queue
	for w.at < w.limit && w.at-from < int64(s.config.DispatchBytes) {
		m, err := w.next()
		if err == errWalked {
			break
		}
		if noRecord(err) {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if err != nil {
			return err
		}
		q, err := s.enqueue(&m, last)
		if err != nil {
			return err
		}
		if q != nil && q != last {
			touched, last = append(touched, q), q
		}
		units++
		if s.h.Probe().Perhaps(PointDispatchLess) {
			break
		}
	}
	s.mutex.Lock()
	s.dispatched = w.at
	s.pending += units
	if s.h.Probe().Perhaps(PointCheckpointNow) {
		s.hurry = true
	}
	if s.hurry || s.dispatched-s.checkpointed >= s.config.CheckpointBytes {
		s.due.Broadcast()
	}
	s.moved.Broadcast()
	s.mutex.Unlock()
	for _, q := range touched {
		q.units.Announce()
	}
	s.h.Probe().Mark(host.Event{Name: PointDispatched, A: w.at, B: units})
	return nil
}

// enqueue makes the unit of a message, and its entries in the key index. Nil: it belongs into no queue. Messages often follow
// others of their queue: last is that of the one before, or nil.
func (s *Store) enqueue(m *message.Message, last *queue) (*queue, error) {
	if s.index != nil {
		s.index.Add(m)
	}
	if !m.InQueue() {
		return nil, nil
	}
	q := last
	if q == nil || q.id != m.Queue || q.topic.name != string(m.Topic) {
		q = s.findQueue(string(m.Topic), m.Queue)
	}
	if q == nil {
		return nil, fmt.Errorf("message at %d is of queue %d of topic %s: %w", m.PhysicalOffset, m.Queue, m.Topic, ErrNoQueue)
	}
	unit := consumequeue.Unit{Physical: m.PhysicalOffset, Size: int32(m.Size()), Tag: message.TagHash(m.Tag())}
	if err := q.units.Append(m.QueueOffset, unit); err != nil {
		return nil, fmt.Errorf("%v: message at %d: %w", q, m.PhysicalOffset, err)
	}
	return q, nil
}
