package commitlog

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commit"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// AnyQueue lets the store choose the queue: each in turn.
const AnyQueue int32 = -1

// Placed says where a message is.
type Placed struct {
	Queue       int32
	QueueOffset int64
	Physical    int64
	Stored      int64 // store timestamp, ms
}

// Append stores a message and returns when it is as safe as the flush mode says. Queue offset, physical offset and store
// timestamp of m are the store's to give; m and what it points at may be used again when Append has returned.
func (s *Store) Append(m message.Message) (Placed, error) {
	if err := s.check(&m); err != nil {
		return Placed{}, err
	}
	q, others, err := s.admit(&m)
	if err != nil {
		return Placed{}, err
	}
	defer s.end()
	var rest message.Rest
	if others { // who would wait for the lock meanwhile
		rest = message.RestOf(&m)
	}
	placed, ticket, err := s.place(q, &m, rest)
	if err != nil {
		return Placed{}, err
	}
	if err := ticket.Wait(); err != nil {
		return Placed{}, fmt.Errorf("append at %d of the log: %w: %w", placed.Physical, ErrOutcomeUnknown, err)
	}
	if s.config.AckAfterDispatch {
		if err := s.awaitUnit(placed.Physical); err != nil {
			return Placed{}, fmt.Errorf("message at %d of the log is stored, its unit is not: %w: %w", placed.Physical, ErrOutcomeUnknown, err)
		}
	}
	return placed, nil
}

// admit lets an append in, and returns the queue it goes to and whether other calls are inside. Unless it fails, the caller calls
// end. For a topic that exists it takes the lock once.
func (s *Store) admit(m *message.Message) (q *queue, others bool, err error) {
	s.mutex.Lock()
	if s.closing {
		s.mutex.Unlock()
		return nil, false, ErrStopped
	}
	others = s.users > 0
	s.users++
	t := s.topics[string(m.Topic)]
	if t == nil {
		s.mutex.Unlock()
		if t, err = s.autoCreate(string(m.Topic)); err != nil {
			s.end()
			return nil, false, err
		}
		s.mutex.Lock()
	}
	q, err = t.choose(m)
	full := s.diskFull
	s.mutex.Unlock()
	if err == nil && full {
		err = s.refusal(q)
	}
	if err != nil {
		s.end()
		return nil, false, err
	}
	return q, others, nil
}

// check looks at all of a message but its topic's name.
func (s *Store) check(m *message.Message) error {
	if len(m.Body) > s.config.BodyBytesMax {
		return fmt.Errorf("body of %d bytes, more than %d: %w", len(m.Body), s.config.BodyBytesMax, ErrIllegal)
	}
	if len(m.Properties) > s.config.PropertiesMax {
		return fmt.Errorf("properties of %d bytes, more than %d: %w", len(m.Properties), s.config.PropertiesMax, ErrIllegal)
	}
	return m.Check()
}

// autoCreate makes a topic that is named by a message for the first time.
func (s *Store) autoCreate(name string) (*topic, error) {
	if err := checkTopic(name); err != nil {
		return nil, err
	}
	if !s.config.AutoCreateTopic {
		return nil, fmt.Errorf("append to topic %s: %w", name, ErrNoQueue)
	}
	return s.ensure(name, s.config.QueuesPerTopic)
}

// choose returns the queue that a message names, or with AnyQueue the next in turn, which the message then names. The store's
// mutex is held.
func (t *topic) choose(m *message.Message) (*queue, error) {
	if m.Queue == AnyQueue {
		t.turn = (t.turn + 1) % len(t.queues)
		m.Queue = int32(t.turn)
	}
	if m.Queue < 0 || int(m.Queue) >= len(t.queues) {
		return nil, fmt.Errorf("append to queue %d of topic %s, which has %d: %w", m.Queue, t.name, len(t.queues), ErrNoQueue)
	}
	return t.queues[m.Queue], nil
}

// refusal says that the disk is too full for an append.
func (s *Store) refusal(q *queue) error {
	s.h.Probe().Mark(host.Event{Name: PointRefused})
	return fmt.Errorf("append to %v: the disk is fuller than its warning level: %w", q, host.ErrNoSpace)
}

// place puts the message into the open group, and commits that if nobody else is there. Of its checksum, rest was computed
// before. After an error it is not stored.
func (s *Store) place(q *queue, m *message.Message, rest message.Rest) (placed Placed, ticket commit.Ticket, err error) {
	for {
		g, ok := s.commits.Enter()
		if !ok { // others have filled it, or it has failed
			if err := s.commits.AwaitRoom(); err != nil {
				return placed, ticket, err
			}
			if s.isFull() {
				return placed, ticket, s.refusal(q)
			}
			continue
		}
		if len(g.runs) == 0 && s.blank {
			s.tail = s.padded(s.tail)
		}
		at, fits := s.room(int64(m.Size()))
		if fits {
			before := len(g.bytes)
			placed = s.encode(g, q, m, rest, at)
			return placed, s.commits.Commit(int64(len(g.bytes) - before)), nil
		}
		s.commits.Withdraw()
		if err := s.log.Await(at); err != nil {
			s.h.Probe().Mark(host.Event{Name: PointRefused, A: at})
			if errors.Is(err, host.ErrNoSpace) {
				s.wantRoom()
			}
			return placed, ticket, fmt.Errorf("append to %v: %w", q, stoppedBy(err))
		}
		if s.isFull() {
			return placed, ticket, s.refusal(q)
		}
	}
}

// stoppedBy says of a wait that a stop has ended that the store has stopped.
func stoppedBy(err error) error {
	if errors.Is(err, host.ErrStopping) {
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
	return err
}

func (s *Store) isFull() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.diskFull
}

// room returns where a record of this size goes: at the tail, or at the start of the next file if a blank would not fit
// behind it. Not ok: that file is not there yet. The open group's lock is held.
func (s *Store) room(size int64) (at int64, ok bool) {
	at = s.tail
	early := at%s.config.FileBytes != 0 && s.h.Probe().Perhaps(PointRollNow)
	if end := s.log.FileEnd(at); early || at+size+message.BlankBytes > end {
		at = end
	}
	if at >= s.there && s.log.Has(at) {
		s.there = s.log.FileEnd(at)
	}
	return at, at < s.there
}

// encode appends the record to the group, behind a blank if it begins a new file. The open group's lock is held: store
// timestamps ascend with the offsets, and so do queue offsets.
func (s *Store) encode(g *group, q *queue, m *message.Message, rest message.Rest, at int64) Placed {
	if len(g.runs) == 0 {
		g.begin(s.tail)
	}
	if at != s.tail {
		g.bytes = message.AppendBlank(g.bytes, s.tail, at-s.tail)
		g.begin(at)
	}
	if at%s.config.FileBytes == 0 {
		s.h.Probe().Mark(host.Event{Name: PointRolled, A: at})
	}
	s.stored = max(s.stored, s.wallMillis()) // the clock may jump back
	m.QueueOffset, m.PhysicalOffset, m.StoreTimestamp = 0, at, s.stored
	if m.InQueue() {
		m.QueueOffset = q.next
		q.next++
	}
	g.bytes = message.AppendWith(g.bytes, m, rest)
	s.tail = at + int64(m.Size())
	g.end, g.stored = s.tail, s.stored
	// What no sync follows at once need not fill its sector: it is sealed when a checkpoint is to count it. A group that is full
	// cannot be entered for that.
	g.blank = g.blank || s.config.Flush != FlushNever || int64(len(g.bytes)) >= s.config.GroupBytesMax
	s.blank = g.blank
	return Placed{Queue: q.id, QueueOffset: m.QueueOffset, Physical: at, Stored: s.stored}
}

// clockTrust is how long a look at the wall clock is moved on by the other one, which takes half as long to read.
const clockTrust = 10 * time.Millisecond

// wallMillis is the wall clock, in ms. A jump may be seen by clockTrust late. The open group's lock is held.
func (s *Store) wallMillis() int64 {
	now := s.h.Elapsed()
	if now >= s.wallUntil {
		s.wallBase, s.wallUntil = s.h.Now()-host.Wall(now), now+clockTrust
	}
	return int64(s.wallBase+host.Wall(now)) / millisecondsOf
}

// awaitUnit waits until the message at this offset has its unit.
func (s *Store) awaitUnit(physical int64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for s.dispatched <= physical {
		if s.failed != nil {
			return s.failed
		}
		if !s.moved.Wait() {
			return ErrStopped
		}
	}
	return nil
}
