package commitlog

import (
	"errors"
	"fmt"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
)

// Boundary says which message a search by time means.
type Boundary uint8

// The boundaries.
const (
	Lower Boundary = iota // the first message at that time or later; the end of the queue if there is none
	Upper                 // the last message at that time or earlier; the first of the queue if there is none
)

// OffsetByTime returns the offset of a queue's message by store timestamp, in ms. Timestamps do not descend within a queue, and
// several messages may have one (rocketmq#4890).
func (s *Store) OffsetByTime(topic string, id int32, millis int64, b Boundary) (int64, error) {
	if err := s.begin(); err != nil {
		return 0, err
	}
	defer s.end()
	q := s.findQueue(topic, id)
	if q == nil {
		return 0, fmt.Errorf("search in queue %d of topic %s: %w", id, topic, ErrNoQueue)
	}
	for {
		first := s.log.First()
		offset, err := s.searchTime(q, millis, b)
		if !errors.Is(err, series.ErrGone) {
			return offset, err
		}
		if s.log.First() == first { // nothing was removed meanwhile: it would be the same, however often it is looked at
			return 0, fmt.Errorf("search in %v: a unit leads before the log: %w: %v", q, ErrCorrupt, err)
		}
	}
}

// searchTime returns the first offset whose message is later than wanted, or one less for Upper.
func (s *Store) searchTime(q *queue, millis int64, b Boundary) (int64, error) {
	low, high, err := s.bounds(q)
	if err != nil {
		return 0, err
	}
	at := window{log: s.log, limit: s.dispatchedNow()}
	from, to := low, high
	for from < to {
		middle := from + (to-from)/2
		units, err := q.units.Read(middle, 1)
		if err != nil || len(units) == 0 {
			return 0, s.unreadable(err)
		}
		m, err := s.fetch(q, &at, middle, units[0])
		if err != nil {
			return 0, err
		}
		if m.StoreTimestamp < millis || b == Upper && m.StoreTimestamp == millis {
			from = middle + 1
		} else {
			to = middle
		}
	}
	if b == Upper {
		return max(from-1, low), nil
	}
	return from, nil
}

// Agreement is what CheckAgreement counted.
type Agreement struct {
	Messages int64 // in the log
	Queued   int64 // of them, those that belong into queues
}

// CheckAgreement walks the whole log and compares it with the queues: each message has its unit, at its offset, and there are
// no other units. Nothing may be appended meanwhile, and all must be dispatched. ErrCorrupt tells the first difference.
func (s *Store) CheckAgreement() (a Agreement, err error) {
	if err := s.begin(); err != nil {
		return a, err
	}
	defer s.end()
	next := map[*queue]int64{}
	w := walker{log: s.log, at: s.log.First(), limit: s.dispatchedNow(), chunk: s.config.DispatchBytes}
	for {
		m, err := w.next()
		if err == errWalked {
			break
		}
		if noRecord(err) {
			return a, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if err != nil {
			return a, err
		}
		a.Messages++
		if !m.InQueue() {
			continue
		}
		a.Queued++
		if err := s.checkUnit(&m, next); err != nil {
			return a, err
		}
	}
	for _, q := range s.allQueues() {
		low, high, err := s.bounds(q)
		if err != nil {
			return a, err
		}
		if seen, ok := next[q]; ok && seen != high || !ok && low != high {
			return a, fmt.Errorf("%v has units from %d to %d, and the log messages up to %d: %w", q, low, high, seen, ErrCorrupt)
		}
	}
	return a, nil
}

// checkUnit compares a message with its unit. next is the offset that follows in each queue.
func (s *Store) checkUnit(m *message.Message, next map[*queue]int64) error {
	q := s.findQueue(string(m.Topic), m.Queue)
	if q == nil {
		return fmt.Errorf("message at %d is of queue %d of topic %s, which is not there: %w", m.PhysicalOffset, m.Queue, m.Topic, ErrCorrupt)
	}
	if want, seen := next[q]; seen && want != m.QueueOffset {
		return fmt.Errorf("%v: message %d at %d follows %d: %w", q, m.QueueOffset, m.PhysicalOffset, want-1, ErrCorrupt)
	}
	next[q] = m.QueueOffset + 1
	if low, _ := q.units.Bounds(); m.QueueOffset < low {
		return nil // consumers were told that it is gone; then the removal of its file failed, and a start has found it again
	}
	units, err := q.units.Read(m.QueueOffset, 1)
	if err != nil {
		return s.unreadable(err)
	}
	if len(units) == 0 || units[0].Physical != m.PhysicalOffset || int(units[0].Size) != m.Size() || units[0].Tag != message.TagHash(m.Tag()) {
		return fmt.Errorf("%v: message %d at %d of %d bytes has unit %v: %w", q, m.QueueOffset, m.PhysicalOffset, m.Size(), units, ErrCorrupt)
	}
	return nil
}
