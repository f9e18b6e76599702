package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// recover brings log, queues and index together: see doc.go. When it returns, everything that was found is durable, and a
// checkpoint says so: a crash at once leaves the same.
func (s *Store) recover() error {
	c, err := s.lastCheckpoint()
	if err != nil {
		return err
	}
	if err := s.adopt(&c); err != nil {
		return err
	}
	s.durable, s.slot = c.checkpoint, max(c.slot, 0)
	if c.older != nil {
		s.older = *c.older
	}
	if err := s.makeRoom(c.older != nil); err != nil {
		return err
	}
	if err := s.remakeIndex(&c); err != nil {
		return err
	}
	from, end := c.dispatched, c.synced
	if !c.clean || c.doubtful() || s.log.Short() { // behind the older of two checkpoints the store ran on, however it was closed before
		limit, restored, err := s.restoreTail(c.synced)
		if err != nil {
			return err
		}
		if !restored {
			limit = s.log.Present()
		}
		if end, err = s.replay(&c, limit); err != nil {
			return err
		}
		if end, err = s.cutAndRewrite(c.synced, end); err != nil {
			return err
		}
	}
	s.tail, s.stored = end, max(s.stored, c.stored)
	s.written, s.synced, s.confirmed, s.sealed, s.dispatched, s.lastStored = end, end, end, end, end, s.stored
	s.h.Probe().Mark(host.Event{Name: PointRecovered, A: end, B: end - from})
	// Not clean: from now on the log may be longer than it says. Twice, so that both slots say the same: retention may go by them, and
	// whichever goes bad, the next start is as short.
	for range CheckpointFiles() {
		if err := s.checkpoint(false); err != nil {
			return err
		}
	}
	return errors.Join(s.removeTail(), s.dropAside(&c))
}

// removeAllUnits removes what there is of queues. Nothing of it counts without a checkpoint.
func (s *Store) removeAllUnits() error {
	topics, err := s.queues.List()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, topic := range topics {
		if !topic.Dir || checkTopic(topic.Name) != nil {
			continue
		}
		if err := removeFilesBelow(s.queues, topic.Name); err != nil {
			return fmt.Errorf("remove units of topic %s: %w", topic.Name, err)
		}
	}
	return nil
}

// removeFilesBelow removes the files in the directories of a directory.
func removeFilesBelow(dir host.Dir, name string) error {
	above, err := dir.Sub(name)
	if err != nil {
		return err
	}
	queues, err := above.List()
	for _, queue := range queues {
		if err != nil || !queue.Dir {
			continue
		}
		var files host.Dir
		var infos []host.Info
		if files, err = above.Sub(queue.Name); err == nil {
			infos, err = files.List()
		}
		for _, info := range infos {
			if err == nil && !info.Dir {
				err = files.Remove(info.Name)
			}
		}
	}
	return err
}

// adopt makes topics, queues and index of what a checkpoint says, and of directories if it may not be the last one.
func (s *Store) adopt(c *found) (err error) {
	if s.index, err = s.openIndex(&c.checkpoint); err != nil {
		return err
	}
	there, err := s.queues.List()
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for _, record := range c.queues {
		t := s.topics[record.topic]
		if t == nil {
			t = &topic{name: record.topic}
			s.topics[record.topic] = t
		}
		if int(record.id) != len(t.queues) {
			return fmt.Errorf("checkpoint has queue %d of topic %s where %d is next: %w", record.id, record.topic, len(t.queues), ErrCorrupt)
		}
		q, err := s.makeQueue(t, record.id, record.state)
		if err != nil {
			return fmt.Errorf("open queue %d of topic %s: %w", record.id, record.topic, err)
		}
		t.queues = append(t.queues, q)
		s.queueCount++
		if _, named := slices.BinarySearchFunc(there, t.name, func(i host.Info, name string) int { return strings.Compare(i.Name, name) }); named && c.sequence > 0 {
			t.named = len(t.queues)
		}
	}
	if c.doubtful() {
		return s.adoptDirectories()
	}
	return nil
}

// replay reads the log behind the checkpoint up to its end, at limit at the latest, and appends to queues and index what they lack.
func (s *Store) replay(c *found, limit int64) (end int64, err error) {
	w := walker{log: s.log, at: c.dispatched, limit: limit, chunk: s.config.DispatchBytes}
	for units := int64(1); ; units++ {
		if units%s.config.PendingUnitsMax == 0 { // the whole log may have to be read
			if err := s.flushUnits(); err != nil {
				return 0, err
			}
		}
		m, err := w.next()
		if err == errWalked {
			break
		}
		if noRecord(err) {
			s.h.Probe().Mark(host.Event{Name: PointTornTail, A: w.at})
			if w.at >= c.synced {
				err = s.tellCut(&w, c, err)
			} else {
				err = s.lostBelow(w.at, c.synced)
			}
			if err != nil {
				return 0, err
			}
			break
		}
		if err != nil {
			return 0, err
		}
		if err := s.replayed(&m); err != nil {
			return 0, err
		}
	}
	if w.at < c.synced {
		return 0, s.lostBelow(w.at, c.synced)
	}
	return w.at, nil
}

// flushUnits writes the units in memory, and the entries of the key index. They do not count before a checkpoint says so.
func (s *Store) flushUnits() error {
	for _, q := range s.allQueues() {
		if _, err := q.units.Flush(); err != nil {
			return fmt.Errorf("%v: %w", q, err)
		}
	}
	return s.flushIndex()
}

// flushIndex is flushUnits for the key index.
func (s *Store) flushIndex() error {
	if s.index == nil {
		return nil
	}
	if _, err := s.index.Flush(); err != nil {
		return fmt.Errorf("key index: %w", err)
	}
	return nil
}

// replayed brings the unit of a message that was read again into its queue, unless it is there.
func (s *Store) replayed(m *message.Message) error {
	s.stored = max(s.stored, m.StoreTimestamp)
	if !m.InQueue() {
		_, err := s.enqueue(m, nil)
		return err
	}
	if m.Queue < 0 || int64(m.Queue) >= int64(s.config.QueuesMax) {
		return fmt.Errorf("message at %d is of queue %d: %w", m.PhysicalOffset, m.Queue, ErrCorrupt)
	}
	if s.findQueue(string(m.Topic), m.Queue) == nil {
		if err := checkTopic(string(m.Topic)); err != nil {
			return fmt.Errorf("message at %d: %w: %w", m.PhysicalOffset, ErrCorrupt, err)
		}
		if _, err := s.ensure(string(m.Topic), max(s.config.QueuesPerTopic, m.Queue+1)); err != nil {
			return err
		}
	}
	q := s.findQueue(string(m.Topic), m.Queue)
	q.next = max(q.next, m.QueueOffset+1)
	if _, end := q.units.Bounds(); m.QueueOffset < end {
		if s.index != nil {
			s.index.Add(m)
		}
		return nil // the checkpoint counts units behind what it calls dispatched
	}
	_, err := s.enqueue(m, q)
	return err
}

// cutAndRewrite ends the log where its last record ends, and writes again what is not known to be on the media: after a failed
// sync, the page cache may hold what a power cut takes away, and call it clean. A copy is saved before. It returns where the next group begins.
func (s *Store) cutAndRewrite(synced, end int64) (int64, error) {
	invariant.Check(end >= synced, "what is durable is not cut off")
	if end > synced {
		if err := s.saveTail(synced, end); err != nil {
			return 0, err
		}
	}
	if err := s.log.Cut(end); err != nil {
		return 0, err
	}
	next := s.padded(end)
	if next != end { // a group was cut in its middle
		if err := s.log.WriteAt(message.AppendBlank(nil, end, next-end), end); err != nil {
			return 0, err
		}
	}
	err := eachPart(s.log, synced, end, func(at int64, p []byte) error {
		if err := s.log.ReadAt(p, at); err != nil {
			return err
		}
		return s.log.WriteAt(p, at)
	})
	if err != nil {
		return 0, fmt.Errorf("write again what was found: %w", err)
	}
	if err := s.log.Sync(synced, next); err != nil {
		return 0, err
	}
	s.h.Probe().Mark(host.Event{Name: PointRewritten, A: end, B: end - synced})
	return next, nil
}
