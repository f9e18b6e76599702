package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// Status says what a pull found, in upstream's words.
type Status uint8

// The answers to a pull.
const (
	Found               Status = iota + 1
	NoMatchedMessage           // there are messages, and none with a tag that is wanted: go on at Next
	NoMessageInQueue           // the queue never had one
	OffsetTooSmall             // what was asked for is removed: go on at Next
	OffsetOverflowOne          // the offset of the message that comes next
	OffsetOverflowBadly        // behind that
)

var statusNames = [...]string{
	Found: "FOUND", NoMatchedMessage: "NO_MATCHED_MESSAGE", NoMessageInQueue: "NO_MESSAGE_IN_QUEUE", OffsetTooSmall: "OFFSET_TOO_SMALL",
	OffsetOverflowOne: "OFFSET_OVERFLOW_ONE", OffsetOverflowBadly: "OFFSET_OVERFLOW_BADLY",
}

func (s Status) String() string {
	if int(s) >= len(statusNames) || s == 0 {
		return fmt.Sprintf("status %d", uint8(s))
	}
	return statusNames[s]
}

// PullRequest asks for messages of a queue.
type PullRequest struct {
	Topic   string
	Queue   int32
	Offset  int64         // of the first message
	Count   int           // at most so many; zero: as many as a pull may have
	Bytes   int64         // at most so many, though one message always fits; zero: as many as a pull may have
	Tags    []string      // messages with one of these tags only, compared by hash: the consumer compares the tags; none: all
	Suspend time.Duration // how long to wait for a message if there is none
	Waiting host.Group    // its stop ends the wait; nil: only the store's does
}

// NewWait makes a group for PullRequest.Waiting, for callers that have none: its Stop ends the wait of one pull, and nothing else.
// Stopping it once the pull has returned does no harm.
func (s *Store) NewWait() host.Group { return s.tasks.New("commitlog-wait") }

// PullResult is the answer.
type PullResult struct {
	Status   Status
	Messages []message.Message // in the order of the queue, without gaps unless tags were given
	Next     int64             // offset to go on at
	Min, Max int64             // of the queue: its first message, and behind its last

	places []Place // of the messages; Locate only
}

// Pull returns messages of a queue from an offset on. If there are none yet it waits for as long as the request says; when the
// store is closed meanwhile, the answer is that there are none.
func (s *Store) Pull(r PullRequest) (PullResult, error) {
	if err := s.begin(); err != nil {
		return PullResult{}, err
	}
	defer s.end()
	return s.pull(&r, s.fetchAll)
}

// fill puts what a pull has found into its result. It is called with each look at a queue.
type fill func(q *queue, r *PullRequest, result *PullResult) error

// pull looks until there is something to answer, or the time is over.
func (s *Store) pull(r *PullRequest, into fill) (PullResult, error) {
	q := s.findQueue(r.Topic, r.Queue)
	if q == nil {
		return PullResult{}, fmt.Errorf("pull from queue %d of topic %s: %w", r.Queue, r.Topic, ErrNoQueue)
	}
	if r.Waiting == nil {
		r.Waiting = s.tasks
	}
	r.Suspend = min(r.Suspend, s.config.SuspendMax)
	deadline := s.h.Elapsed() + r.Suspend
	for {
		result, err := s.get(q, r, into)
		if err != nil {
			return result, fmt.Errorf("pull from %v at %d: %w", q, r.Offset, err)
		}
		if result.Status == NoMatchedMessage {
			r.Offset = result.Next // what came meanwhile may match
		}
		left := deadline - s.h.Elapsed()
		if !result.worthWaiting() || left <= 0 || !s.suspend(q, r, left) {
			if result.Status != Found {
				s.mutex.Lock()
				s.wantUnits() // for the next pull
				s.mutex.Unlock()
			}
			return result, nil
		}
	}
}

// worthWaiting reports whether the next message of the queue may change the answer. Offsets that are off are told at once.
func (r *PullResult) worthWaiting() bool {
	switch r.Status {
	case NoMessageInQueue, OffsetOverflowOne:
		return true
	case NoMatchedMessage:
		return r.Next == r.Max
	}
	return false
}

// suspend waits until the queue has a message at the offset of the request. False: it is not worth looking again.
func (s *Store) suspend(q *queue, r *PullRequest, left time.Duration) bool {
	offset := r.Offset
	s.mutex.Lock()
	if s.suspended >= s.config.SuspendedMax || s.failed != nil {
		s.mutex.Unlock()
		return false
	}
	s.suspended++
	s.wantUnits()
	s.mutex.Unlock()
	s.h.Probe().Mark(host.Event{Name: PointSuspended, A: offset})
	woke := q.units.Wait(r.Waiting, offset, left)
	s.mutex.Lock()
	s.suspended--
	s.mutex.Unlock()
	if woke == host.Signalled {
		s.h.Probe().Mark(host.Event{Name: PointWoken, A: offset})
	}
	return woke == host.Signalled
}

// get is a pull that does not wait.
func (s *Store) get(q *queue, r *PullRequest, into fill) (PullResult, error) {
	for {
		first := s.log.First()
		low, high, err := s.bounds(q)
		if err != nil {
			return PullResult{}, err
		}
		result := PullResult{Next: r.Offset, Min: low, Max: high}
		switch {
		case high == 0:
			result.Status, result.Next = NoMessageInQueue, 0
		case r.Offset < low:
			result.Status, result.Next = OffsetTooSmall, low
		case r.Offset == high:
			result.Status = OffsetOverflowOne
		case r.Offset > high:
			result.Status, result.Next = OffsetOverflowBadly, high
		default:
			err = into(q, r, &result)
			if errors.Is(err, series.ErrGone) {
				if s.log.First() != first {
					continue // removed since the bounds were looked at: they have moved
				}
				err = result.untilDamage(err) // they would not move, however often they are looked at
			}
		}
		return result, err
	}
}

// untilDamage is for a pull that met a unit which leads before the log though nothing was removed: what came before it is whole, and
// whoever asks for this one is told.
func (r *PullResult) untilDamage(err error) error {
	if len(r.Messages)+len(r.places) > 0 {
		r.Status = Found
		return nil
	}
	return fmt.Errorf("its unit leads before the log: %w: %v", ErrCorrupt, err)
}

// fetchAll reads the messages of a pull whose offset is within the queue.
func (s *Store) fetchAll(q *queue, r *PullRequest, result *PullResult) error {
	at := window{log: s.log, first: s.config.ReadAheadMin, most: s.config.ReadAheadMax, limit: s.dispatchedNow()}
	return s.collect(q, r, result, func(offset int64, u consumequeue.Unit) error {
		m, err := s.fetch(q, &at, offset, u)
		if err == nil {
			result.Messages = append(result.Messages, m)
		}
		return err
	})
}

// collect chooses the messages of a pull whose offset is within the queue, and has each taken.
func (s *Store) collect(q *queue, r *PullRequest, result *PullResult, take func(offset int64, u consumequeue.Unit) error) error {
	count, bytes := s.config.PullCountMax, s.config.PullBytesMax
	if r.Count > 0 {
		count = min(count, r.Count)
	}
	if r.Bytes > 0 {
		bytes = min(bytes, r.Bytes)
	}
	hashes := make([]int64, len(r.Tags))
	for i, tag := range r.Tags {
		hashes[i] = message.TagHash([]byte(tag))
	}
	taken, atOnce := 0, unitsAtFirst
	for scanned := 0; scanned < s.config.ScanUnitsMax && taken < count; atOnce = min(2*atOnce, unitsAtOnce) {
		units, err := q.units.Read(result.Next, min(atOnce, s.config.ScanUnitsMax-scanned))
		if err != nil {
			return s.unreadable(err)
		}
		if len(units) == 0 {
			if result.Next < result.Max {
				return series.ErrGone // removed since the bounds were looked at
			}
			break
		}
		for _, u := range units {
			if taken == count {
				break
			}
			if len(hashes) == 0 || slices.Contains(hashes, u.Tag) {
				if bytes -= int64(u.Size); bytes < 0 && taken > 0 {
					result.Status = Found
					return nil
				}
				err := take(result.Next, u)
				if err != nil && taken > 0 && !errors.Is(err, series.ErrGone) {
					result.Status = Found
					return nil // what came before is whole; who asks for this one is told
				}
				if err != nil {
					return err
				}
				taken++
			}
			result.Next++
			scanned++
			if taken > 0 && s.h.Probe().Perhaps(PointPullLess) {
				result.Status = Found
				return nil
			}
		}
	}
	result.Status = NoMatchedMessage
	if taken > 0 {
		result.Status = Found
	}
	return nil
}

// So many units are read together: a few, since their messages may be long, then twice as many each time.
const (
	unitsAtFirst = 64
	unitsAtOnce  = 512
)

// unreadable says of an error of reading units what it means: they count, so they have to be there.
func (s *Store) unreadable(err error) error {
	if errors.Is(err, host.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

func (s *Store) dispatchedNow() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.dispatched
}

func (s *Store) confirmedNow() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.confirmed
}

// holds reports whether a record of this size may lie at an offset. What is read from units and index entries is not
// believed: their bytes may have rotted. Earlier versions left no more than the first bytes of a blank at the end of a file.
func (s *Store) holds(at, size int64) bool {
	if at < 0 || size < message.FixedBytes || at+size+message.PeekBytes > s.log.FileEnd(at) {
		return false
	}
	return at+size <= s.confirmedNow() // units of a batch may be seen before the batch counts as dispatched
}

// fetch reads the message that a unit points at, and compares it with what it has to be: nothing of another topic, queue or
// offset is ever answered.
func (s *Store) fetch(q *queue, at *window, offset int64, u consumequeue.Unit) (message.Message, error) {
	place, err := s.placeOf(q, offset, u)
	if err != nil {
		return message.Message{}, err
	}
	p, err := at.read(u.Physical, int64(u.Size))
	if err != nil {
		return message.Message{}, err
	}
	m, err := place.Decode(q.topic.name, q.id, p)
	if errors.Is(err, message.ErrElsewhere) && u.Physical < s.log.First() {
		return m, fmt.Errorf("%w: %w", series.ErrGone, err) // its file is in its next life
	}
	return m, err
}

// bounds are the offset of the queue's first message that is not removed, and the one behind its last. Messages go from the
// log without a word to the queues, so the first has to be looked for when the log begins behind it (rocketmq#8753: a
// queue whose messages are all gone begins at its end). Once it is found, that is right until the log begins elsewhere.
func (s *Store) bounds(q *queue) (low, high int64, err error) {
	for {
		first := s.log.First()
		looked := s.lookedAt(q, 0) >= first // before the bounds are read: else they may be of before
		low, high = q.units.Bounds()
		if low == high || looked {
			return low, high, nil
		}
		search := unitSearch{Store: s, q: q, low: low, high: high, first: first}
		low, err = search.run()
		if err == errMoved {
			continue
		}
		if err != nil {
			return low, high, s.unreadable(err)
		}
		q.units.MoveFirst(low)
		s.lookedAt(q, first)
		return low, high, nil
	}
}

// lookedAt notes that a queue's first unit is right for a log that begins at first, and returns the highest of those.
func (s *Store) lookedAt(q *queue, first int64) int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	q.looked = max(q.looked, first)
	return q.looked
}

// Bounds are the offset of a queue's first message, and the one behind its last.
func (s *Store) Bounds(topic string, id int32) (low, high int64, err error) {
	if err := s.begin(); err != nil {
		return 0, 0, err
	}
	defer s.end()
	q := s.findQueue(topic, id)
	if q == nil {
		return 0, 0, fmt.Errorf("bounds of queue %d of topic %s: %w", id, topic, ErrNoQueue)
	}
	return s.bounds(q)
}
