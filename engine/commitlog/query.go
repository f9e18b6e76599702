package commitlog

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/commitlog/keyindex"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
)

// indexDirectory is the name of the key index's directory, and that of its files among the open ones.
const indexDirectory = "index"

// openIndex opens the key index that a checkpoint describes; nil if it is switched off. An index that was off for a while
// begins anew, behind what was stored meanwhile.
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
		SnapshotEntries: s.config.IndexSnapshotEntries, State: c.index,
	})
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

// read returns the message at an offset that the index names.
func (s *Store) read(at int64) (message.Message, error) {
	head := make([]byte, message.BlankBytes)
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
