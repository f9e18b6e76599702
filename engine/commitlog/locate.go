package commitlog

import (
	"fmt"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// Place says where a message of a queue lies in the log.
type Place struct {
	Offset   int64 // in its queue
	Physical int64
	Size     int32
}

// Located is the answer to a pull whose messages' bytes nobody has looked at yet.
type Located struct {
	Status   Status
	Places   []Place // in the order of the queue, without gaps unless tags were given; each lies behind the one before
	Next     int64   // offset to go on at
	Min, Max int64   // of the queue: its first message, and behind its last
}

// Locate is Pull for those who send the bytes themselves: it reads queues and not the log. What lies at the places may be
// damaged, and may be removed before it is read: Lend tells of the latter, and Place.Decode of both.
func (s *Store) Locate(r PullRequest) (Located, error) {
	if err := s.begin(); err != nil {
		return Located{}, err
	}
	defer s.end()
	found, err := s.pull(&r, s.locateAll)
	return Located{Status: found.Status, Places: found.places, Next: found.Next, Min: found.Min, Max: found.Max}, err
}

func (s *Store) locateAll(q *queue, r *PullRequest, result *PullResult) error {
	first := s.log.First() // what is removed from now on, Lend tells
	behind := int64(0)     // the place before: whoever sends what lies between two places relies on their order
	return s.collect(q, r, result, func(offset int64, u consumequeue.Unit) error {
		place, err := s.placeOf(q, offset, u)
		switch {
		case err != nil:
			return err
		case place.Physical < first:
			return series.ErrGone
		case place.Physical < behind:
			return fmt.Errorf("message %d of %v has unit %+v, which leads before the end of the message before, at %d: %w", offset, q, u, behind, ErrCorrupt)
		}
		behind = place.Physical + int64(place.Size)
		result.places = append(result.places, place)
		return nil
	})
}

// placeOf says where a unit leads. It is not believed to lead into the log: its bytes may have rotted.
func (s *Store) placeOf(q *queue, offset int64, u consumequeue.Unit) (Place, error) {
	if !s.holds(u.Physical, int64(u.Size)) && u.Physical >= s.log.First() {
		return Place{}, fmt.Errorf("message %d of %v has unit %+v, which leads out of the log: %w", offset, q, u, ErrCorrupt)
	}
	return Place{Offset: offset, Physical: u.Physical, Size: u.Size}, nil
}

// Decode reads the message that b must be, and compares it with what lies at this place in a queue. ErrCorrupt: it is
// another, or none; message.ErrElsewhere besides: it is whole and belongs to another offset of the log.
func (p Place) Decode(topic string, queue int32, b []byte) (message.Message, error) {
	m, err := message.Decode(b, p.Physical)
	if err == nil && (string(m.Topic) != topic || m.Queue != queue || m.QueueOffset != p.Offset) {
		err = fmt.Errorf("it is message %d of queue %d of topic %s", m.QueueOffset, m.Queue, m.Topic)
	}
	if err != nil {
		return message.Message{}, fmt.Errorf("message %d of queue %d of topic %s, at %d of the log: %w: %w", p.Offset, queue, topic, p.Physical, ErrCorrupt, err)
	}
	return m, nil
}

// Lent is a file of the log that stays open until it is given back.
type Lent struct {
	store *Store
	piece *series.Piece
}

// Lend keeps the file open in which a located message lies. ErrGone: it was removed. Close of the store waits for Release.
func (s *Store) Lend(physical int64) (Lent, error) {
	if err := s.begin(); err != nil {
		return Lent{}, err
	}
	piece, err := s.log.Lend(physical)
	if err != nil {
		s.end()
		return Lent{}, err
	}
	return Lent{store: s, piece: piece}, nil
}

// Release gives the file back.
func (l Lent) Release() {
	l.piece.Release()
	l.store.end()
}

// Base is the offset in the log of the file's first byte.
func (l Lent) Base() int64 { return l.piece.Base() }

// File is the file itself, to be read and sent and nothing else.
func (l Lent) File() host.File { return l.piece.File() }

// Mapping is the whole file, mapped once for all who ask. ErrNoMapping: as many are mapped and in use as may be.
func (l Lent) Mapping() (host.Mapping, error) { return l.piece.Mapping() }

// FileEnd is the offset behind the file that physical lies in.
func (s *Store) FileEnd(physical int64) int64 { return s.log.FileEnd(physical) }

// ErrGone says that a message was removed since it was located.
var ErrGone = series.ErrGone

// ErrNoMapping says that no more files may be mapped.
var ErrNoMapping = series.ErrNoMapping
