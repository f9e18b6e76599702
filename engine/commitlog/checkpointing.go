package commitlog

import (
	"errors"
	"fmt"

	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
)

// checkpointAtTimes is the task that makes units durable: after an interval, and earlier if the log has grown by as much as a
// start may read, or the units in memory are too many.
func (s *Store) checkpointAtTimes() {
	for s.awaitDue() {
		err := s.checkpointOrFail(false)
		if err == nil {
			continue
		}
		s.h.Log(host.Warn, "cannot make a checkpoint; it is tried again", host.F("error", err))
		if s.Failed() != nil || !s.tasks.Sleep(s.config.RetryPause) {
			return
		}
	}
}

// awaitDue waits until a checkpoint is due. False: the store ends.
func (s *Store) awaitDue() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	begun := s.h.Elapsed()
	for s.failed == nil {
		if s.hurry || s.holdsFiles() || s.dispatched-s.checkpointed >= s.config.CheckpointBytes || s.pending >= s.config.PendingUnitsMax {
			return true
		}
		left := s.config.CheckpointInterval - (s.h.Elapsed() - begun)
		if left <= 0 {
			if s.dispatched > s.checkpointed || s.lags() {
				return true
			}
			begun = s.h.Elapsed()
			continue
		}
		if s.due.WaitFor(left) == host.Stopping {
			return false
		}
	}
	return false
}

// lags reports whether the older checkpoint keeps files of the log or of queues that the newer one, or a third, would let go: it must come up
// also when appends have ended, and at once if they are refused for lack of space. The mutex is held.
func (s *Store) lags() bool { return s.checkpointed > s.covered || s.log.First() > s.coveredFirst }

// holdsFiles reports whether a checkpoint would let files go from a disk that is full. The mutex is held.
func (s *Store) holdsFiles() bool {
	switch {
	case !s.diskFull && !s.roomless:
		return false
	case s.lags():
		return true
	}
	return s.dispatched > s.checkpointed && s.covered <= s.log.FileEnd(s.log.First())
}

// awaitCheckpoint holds back a group that would have a start read more of the log than it may. It does not while a full disk refuses
// checkpoints: then appends go on as long as there are files for them. Nor does it if nothing lies before the group that a checkpoint lacks,
// or while a checkpoint waits for the blank that ends this group or the next one (seal).
func (s *Store) awaitCheckpoint(end int64) {
	if end <= s.unhindered {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	most := max(s.config.UncheckedBytesMax, s.config.CheckpointBytes)
	defer func() { s.unhindered = s.checkpointed + most }() // checkpoints never go back
	for waits := false; s.failed == nil && !s.starved && !s.sealing && end-s.checkpointed > most && s.checkpointed < s.confirmed; waits = true {
		if !waits {
			s.h.Probe().Mark(host.Event{Name: PointUnchecked, A: end, B: s.checkpointed})
		}
		s.wantUnits() // without them there is nothing to check
		s.hurry = s.hurry || s.dispatched > s.checkpointed
		s.due.Broadcast()
		if !s.moved.Wait() {
			return
		}
	}
}

// checkpointOrFail makes a checkpoint. A full disk is told and nothing else: all of it can be tried again. Any other failure
// stops the store.
func (s *Store) checkpointOrFail(clean bool) error {
	err := s.checkpoint(clean)
	full := errors.Is(err, host.ErrNoSpace) && !errors.Is(err, errSync) && !errors.Is(err, consumequeue.ErrSync)
	s.mutex.Lock()
	s.starved = full
	s.moved.Broadcast()
	s.mutex.Unlock()
	if full {
		s.wantRoom()
	}
	if err != nil && !full {
		s.fail(fmt.Errorf("checkpoint: %w", err))
	}
	return err
}

// checkpoint makes all units durable that there are, and stores how far that is. The order is what recovery builds on: units,
// then the log below every message that has one, then the directories, then the file that says so. So no unit ever counts whose message a
// crash can take back, and nothing is said to be durable that is not.
func (s *Store) checkpoint(clean bool) error {
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	s.mutex.Lock()
	c := checkpoint{dispatched: s.dispatched, clean: clean, first: s.log.First()}
	covered := s.pending
	s.hurry = false
	s.mutex.Unlock()
	for _, q := range s.allQueues() {
		state, err := q.units.Flush()
		if err != nil {
			return fmt.Errorf("%v: %w", q, err)
		}
		c.queues = append(c.queues, queueRecord{topic: q.topic.name, id: q.id, state: state})
	}
	if s.index != nil {
		var err error
		if c.index, err = s.index.Flush(); err != nil {
			return fmt.Errorf("key index: %w", err)
		}
	}
	to, err := s.seal() // the units of a batch under way are flushed, too
	if err != nil {
		return err
	}
	s.mutex.Lock()
	c.stored = s.lastStored
	s.mutex.Unlock()
	if err := s.syncLog(to); err != nil {
		return err
	}
	s.mutex.Lock()
	c.synced = s.synced
	s.mutex.Unlock()
	if err := s.nameQueues(); err != nil {
		return err
	}
	if err := s.storeCheckpoint(&c); err != nil {
		return err
	}
	s.install(&c, covered)
	return s.removeUnits(&s.older)
}

// install lets the others know what is durable now.
func (s *Store) install(c *checkpoint, covered int64) {
	s.mutex.Lock()
	s.checkpointed, s.covered, s.coveredFirst = c.dispatched, min(c.dispatched, s.older.dispatched), s.older.first
	s.pending -= covered
	s.confirm.Broadcast() // the dispatcher may have waited for room
	s.moved.Broadcast()   // and so may a group
	if s.diskFull {
		s.roomless = true
		s.clean.Signal() // the first file may have waited for this
	}
	s.mutex.Unlock()
	s.h.Probe().Mark(host.Event{Name: PointCheckpointed, A: c.dispatched, B: c.synced})
}

// removeUnits removes the files of queues whose messages are gone, as the older checkpoint says: a start may have to go by it.
func (s *Store) removeUnits(c *checkpoint) error {
	for _, record := range c.queues {
		q := s.findQueue(record.topic, record.id)
		if record.state.First/s.config.QueueFileUnits == q.removed {
			continue
		}
		if err := q.units.RemoveBelow(record.state); err != nil {
			return fmt.Errorf("%v: %w", q, err)
		}
		q.removed = record.state.First / s.config.QueueFileUnits
	}
	return nil
}
