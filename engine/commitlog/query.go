package commitlog

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// indexDirectory is the name of the key index's directory, and that of its files among the open ones.
const indexDirectory = "index"

// openIndex opens the key index that a checkpoint describes; nil if it is switched off. What it then lacks, remakeIndex adds.
func (s *Store) openIndex(c *checkpoint) (*keyindex.Index, error) {
	if !s.config.KeyIndex {
		return nil, nil
	}
	dir, err := s.dir.Sub(indexDirectory)
	if err == nil {
		err = s.dir.SyncDir()
	}
	if err != nil {
		return nil, err
	}
	return keyindex.Open(s.h, keyindex.Options{
		Dir: dir, Files: s.files, Owner: indexDirectory, Slots: s.config.IndexSlots, Entries: s.config.IndexEntries,
		SnapshotEntries: s.config.IndexSnapshotEntries, State: c.index, LogFirst: s.log.First(),
	})
}

// remakeIndex adds to the key index what the log has and it has not, below what the checkpoint calls dispatched: a file of it is missing or
// damaged, or it was switched off, or the checkpoint is one whose files a later start has removed. It reads the log from the first message of
// the first such file on: behind the complete files that are sound.
func (s *Store) remakeIndex(c *found) error {
	if s.index == nil || s.index.Lack() == nil || s.log.Empty() {
		return nil
	}
	lack := s.index.Lack()
	from := max(lack.From, s.log.First())
	if from >= c.dispatched && !errors.Is(lack.Why, keyindex.ErrDamaged) {
		return nil // there is no checkpoint: the replay adds everything
	}
	s.h.Probe().Mark(host.Event{Name: PointIndexRemade, A: from, B: c.dispatched})
	s.h.Log(host.Warn, "the key index is made anew from the log; the start takes longer",
		host.F("from", from), host.F("to", c.dispatched), host.F("reason", lack.Why))
	w := walker{log: s.log, at: from, limit: c.dispatched, chunk: s.config.DispatchBytes}
	for added := int64(1); w.at < w.limit; added++ {
		if added%s.config.PendingUnitsMax == 0 { // that much is held in memory
			if err := s.flushIndex(); err != nil {
				return err
			}
		}
		m, err := w.next()
		if err == errWalked {
			break
		}
		if noRecord(err) {
			return fmt.Errorf("make the key index anew: %w", s.lostBelow(w.at, c.synced))
		}
		if err != nil {
			return fmt.Errorf("make the key index anew: %w", err)
		}
		s.index.Add(&m)
	}
	return nil
}

// Query returns messages of a topic that have a key, stored between two times in ms, at most limit, the newest first.
func (s *Store) Query(topic, key string, from, to int64, limit int) ([]message.Message, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	if s.index == nil {
		return nil, fmt.Errorf("query by key: %w", ErrNoIndex)
	}
	offsets, err := s.index.Lookup([]byte(topic), []byte(key), from, to, candidatesOf*limit)
	if errors.Is(err, keyindex.ErrDamaged) {
		err = fmt.Errorf("%w: %w; take that file away, and the next start makes the index anew", ErrCorrupt, err)
	}
	if err != nil {
		return nil, fmt.Errorf("query key %q of topic %s: %w", key, topic, err)
	}
	var found []message.Message
	for _, at := range offsets {
		if len(found) == limit {
			break
		}
		m, err := s.read(at)
		if errors.Is(err, series.ErrGone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("query key %q of topic %s: %w", key, topic, err)
		}
		if !hasHash(&m, message.KeyHash([]byte(topic), []byte(key))) {
			return nil, fmt.Errorf("query key %q of topic %s: the key index leads to the message at %d, which has no key of that hash: %w", key, topic, at, ErrCorrupt)
		}
		if string(m.Topic) == topic && hasKey(&m, key) && m.StoreTimestamp >= from && m.StoreTimestamp <= to {
			found = append(found, m)
		}
	}
	return found, nil
}

// candidatesOf bounds how many entries of the index a query looks at for each message it wants: hashes collide.
const candidatesOf = 4

func hasKey(m *message.Message, key string) bool {
	var keys []string
	m.Keys(func(k []byte) { keys = append(keys, string(k)) })
	return slices.Contains(keys, key)
}

// hasHash reports whether an entry with this hash may lead to a message.
func hasHash(m *message.Message, hash int32) (has bool) {
	m.Keys(func(k []byte) { has = has || message.KeyHash(m.Topic, k) == hash })
	return has
}

// read returns the message at an offset that the index names.
func (s *Store) read(at int64) (message.Message, error) {
	head := make([]byte, message.PeekBytes)
	if !s.holds(at, message.FixedBytes) {
		return message.Message{}, s.notThere(at, message.ErrCorrupt)
	}
	if err := s.log.ReadAt(head, at); err != nil {
		return message.Message{}, err
	}
	kind, size := message.Peek(head)
	if kind != message.Record || !s.holds(at, size) {
		return message.Message{}, s.notThere(at, message.ErrCorrupt)
	}
	p := make([]byte, size)
	if err := s.log.ReadAt(p, at); err != nil {
		return message.Message{}, err
	}
	m, err := message.Decode(p, at)
	if err != nil {
		return m, s.notThere(at, err)
	}
	return m, nil
}

// notThere says what it means that there is no record where one was: its file may be in its next life.
func (s *Store) notThere(at int64, err error) error {
	if at < s.log.First() {
		return fmt.Errorf("%w: %w", series.ErrGone, err)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
