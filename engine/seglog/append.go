package seglog

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
)

// Placed says where messages went.
type Placed struct {
	Partition int
	First     Cursor // of the first; the others follow it
}

// Append appends messages, each a LogGroupList, to a partition of a topic: the one that is named, or with Balanced one
// that the store chooses. They get cursors one after the other. It answers when they are as durable as the mode says.
func (s *Store) Append(name string, number int, payloads ...[]byte) (Placed, error) {
	var few [1]partition.Message
	messages, err := s.check(few[:0], payloads)
	if err != nil {
		return Placed{}, err
	}
	if number == Balanced {
		return s.appendAnywhere(name, messages)
	}
	log, ahead, err := s.admit(name, number, newest(messages))
	if err != nil {
		return Placed{}, err
	}
	defer s.leave()
	if ahead {
		if err := s.lookAhead(messages); err != nil {
			return Placed{}, err
		}
	}
	first, err := log.Append(messages)
	return Placed{Partition: number, First: first}, ejection(err)
}

// admit lets an append in, and returns the log of its partition, if its directory is in service, and whether lookAhead is due.
// Unless it fails, leave follows.
func (s *Store) admit(name string, number int, newest Time) (log *partition.Partition, ahead bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closing {
		return nil, false, ErrClosed
	}
	t, err := s.topicLocked(name)
	if err != nil {
		return nil, false, err
	}
	if number < 0 || number >= len(t.members) {
		return nil, false, fmt.Errorf("partition %d of topic %s, which has %d: %w", number, name, len(t.members), ErrNoPartition)
	}
	if log, err = s.writableLocked(t.members[number]); err == nil {
		s.calls++
	}
	return log, newest > s.horizon, err
}

// newest is the largest time of messages.
func newest(messages []partition.Message) (t Time) {
	for i := range messages {
		t = max(t, messages[i].Time)
	}
	return t
}

// lookAhead refuses messages that are too far ahead of the clock. It remembers how far that is, so that few appends read the
// clock; each round of retention forgets it, since the clock may have gone back.
func (s *Store) lookAhead(messages []partition.Message) error {
	if s.config.FutureMax == 0 {
		return nil
	}
	limit := Time((int64(s.h.Now()) + int64(s.config.FutureMax)) / int64(s.config.TimeUnit))
	for i := range messages {
		if t := messages[i].Time; t > limit {
			return fmt.Errorf("message %d has the time %d, after %d, which is %v from now: %w", i, t, limit, s.config.FutureMax, ErrInvalid)
		}
	}
	s.mutex.Lock()
	s.horizon = limit
	s.mutex.Unlock()
	return nil
}

// check looks at messages before anything is done with them, and appends them to messages.
func (s *Store) check(messages []partition.Message, payloads [][]byte) ([]partition.Message, error) {
	for i, payload := range payloads {
		m, err := partition.NewMessage(payload)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// ejection marks the refusal of a partition that has failed: nothing was stored, and its directory is out of service.
func ejection(err error) error {
	if errors.Is(err, partition.ErrFailed) && !errors.Is(err, ErrOutcomeUnknown) {
		return fmt.Errorf("%w: %w", ErrEjected, err)
	}
	return err
}

// writableLocked is a member's log, if its directory is in service. The mutex is held.
func (s *Store) writableLocked(m *member) (*partition.Partition, error) {
	switch {
	case m.volume.ejected != nil:
		return nil, fmt.Errorf("volume %s: %w: %w", m.volume.name, ErrEjected, m.volume.ejected)
	case m.log == nil:
		return nil, fmt.Errorf("%w: %w", ErrEjected, s.absentLocked(m))
	}
	return m.log, nil
}

// appendAnywhere lets the partitions in service take turns, until one does not refuse, each asked once. Only a refusal lets
// another one be tried: what may have been stored must not be stored twice.
func (s *Store) appendAnywhere(name string, messages []partition.Message) (Placed, error) {
	if err := s.enter(); err != nil {
		return Placed{}, err
	}
	defer s.leave()
	if err := s.lookAhead(messages); err != nil {
		return Placed{}, err
	}
	t, err := s.topic(name)
	if err != nil {
		return Placed{}, err
	}
	for asked := range t.members {
		m, log := s.takeTurn(t)
		if m == nil {
			break
		}
		first, refused := log.Append(messages)
		if refused = ejection(refused); !errors.Is(refused, ErrEjected) {
			if asked > 0 && refused == nil {
				s.h.Probe().Mark(host.Event{Name: PointElsewhere, A: int64(m.number), B: int64(first)})
			}
			return Placed{Partition: m.number, First: first}, refused
		}
		err = refused
	}
	if err == nil {
		err = s.noDirectory(t)
	}
	return Placed{}, fmt.Errorf("topic %s: %w", t.name, err)
}

// noDirectory is why none of a topic's directories takes appends.
func (s *Store) noDirectory(t *topic) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var volumes []*volume
	for _, m := range t.members {
		volumes = append(volumes, m.volume)
	}
	return noneOf(volumes)
}

// noneOf is why none of these directories is in service: they are full, if all of them are. The store's mutex is held.
func noneOf(volumes []*volume) error {
	full := host.ErrNoSpace
	for _, v := range volumes {
		if !errors.Is(v.ejected, host.ErrNoSpace) {
			return ErrNoDirectory
		}
		full = v.ejected
	}
	return fmt.Errorf("%w: %w", ErrNoDirectory, full)
}

// takeTurn returns the next of a topic's partitions that is in service, or nil.
func (s *Store) takeTurn(t *topic) (*member, *partition.Partition) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for i := range t.members {
		m := t.members[(t.turn+i)%len(t.members)]
		if m.log != nil && m.volume.ejected == nil {
			t.turn = (m.number + 1) % len(t.members)
			return m, m.log
		}
	}
	return nil, nil
}
