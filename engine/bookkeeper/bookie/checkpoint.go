package bookie

import (
	"errors"

	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/host"
)

// flushAtPercent of a generation is where a checkpoint starts if none is running: early enough that the next one can
// fill meanwhile without being slowed.
const flushAtPercent = 50

// changedRowsMax is how many rows of the ledger table one group may change.
const changedRowsMax = 1 << 20

// Flush makes everything accepted so far durable outside the journal, and returns when it is. A failing checkpoint is
// tried again for as long as the bookie lives.
func (s *Store) Flush() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	// One that is running now may have captured its mark already.
	target := s.finished + 2
	for s.finished < target {
		if err := s.usable(); err != nil {
			return err
		}
		s.wanted = max(s.wanted, target)
		s.due.Signal()
		if !s.room.Wait() {
			return ErrStopped
		}
	}
	return nil
}

// wantCheckpoint asks for a checkpoint if none is running or asked for. The mutex must be held.
func (s *Store) wantCheckpoint() {
	if s.flushing == nil && s.wanted <= s.finished {
		s.wanted = s.finished + 1
		s.due.Signal()
	}
}

// checkpoints is the task that makes them, one after the other.
func (s *Store) checkpoints() {
	for s.awaitDue() {
		err := s.checkpoint()
		if err == nil {
			s.checkpointed()
			continue
		}
		s.h.Probe().Mark(host.Event{Name: PointCheckpointRetry})
		s.h.Log(host.Warn, "checkpoint failed and will be tried again", host.F("error", err))
		s.mutex.Lock()
		if s.usable() == nil {
			s.due.WaitFor(s.config.RetryPause)
		}
		s.wanted = max(s.wanted, s.finished+1)
		s.mutex.Unlock()
	}
}

func (s *Store) checkpointed() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.finished++
	s.lastMade = s.h.Elapsed()
	s.room.Broadcast()
}

// awaitDue waits until a checkpoint was asked for, the active generation is half full, or the interval has passed with
// something to do. False: the bookie stops.
func (s *Store) awaitDue() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for s.usable() == nil {
		if s.wanted > s.finished || s.active.Bytes() >= s.generationBytes()*flushAtPercent/100 {
			return true
		}
		left := s.config.CheckpointInterval - (s.h.Elapsed() - s.lastMade)
		if left <= 0 {
			if s.journal.Sealed() > s.mark.Last().Journal.Sequence || s.active.Entries() > 0 {
				return true
			}
			left = s.config.CheckpointInterval
		}
		if s.due.WaitFor(left) == host.Stopping {
			return false
		}
	}
	return false
}

// checkpoint moves the mark: everything in sealed journal groups becomes durable in the entry log and the ledger table,
// and only then does the mark say so. The order is the promise; each step may fail, and then the mark stays.
func (s *Store) checkpoint() error {
	sealed := s.swap()
	if err := s.flush(); err != nil {
		return err
	}
	mark, err := s.writeTable()
	if err != nil {
		return err
	}
	s.h.Probe().Mark(host.Event{Name: PointTableWritten, A: int64(sealed)})
	mark.Journal = s.journal.MarkAt(sealed)
	s.marking = true
	if err := s.mark.Write(mark); err != nil {
		return err
	}
	s.h.Probe().Mark(host.Event{Name: PointCheckpointed, A: int64(sealed)})
	s.cleanUp(mark)
	return nil
}

// swap captures the sequence that the checkpoint will cover, and takes the active generation out for flushing. One
// that an earlier checkpoint could not flush is older and goes first: then the capture must not cover the active one,
// so the mark stays where that earlier checkpoint captured it.
func (s *Store) swap() (sealed uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.flushing != nil {
		return s.captured
	}
	s.captured = s.journal.Sealed()
	if s.active.Bytes() == 0 { // a generation whose ledgers were all deleted has no entries, but takes memory
		return s.captured
	}
	s.flushing = s.active
	s.active = writecache.NewGeneration(s.h, s.config.ChunkBytes)
	s.h.Probe().Mark(host.Event{Name: PointSwapped, A: int64(s.captured), B: s.flushing.Bytes()})
	return s.captured
}

// flush writes the flushing generation to the entry log and, when it is durable there, lets readers find it there
// instead of in memory.
func (s *Store) flush() error {
	if s.flushing == nil {
		return nil
	}
	flushed, err := s.logs.Flush(s.flushing, s.keep)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if flushed != nil {
		s.logChanges.Set = append(s.logChanges.Set, s.logs.Publish(flushed, s.kept))
		s.h.Probe().Mark(host.Event{Name: PointPublished, B: flushed.Bytes()})
	}
	if s.flushing.Unpin() {
		s.h.Probe().Mark(host.Event{Name: PointSwappedReaders})
	}
	s.flushing = nil
	s.room.Broadcast()
	s.scrub.quieter()
	return nil
}

// writeTable makes the ledger table durable: what changed, or everything if the file asks for it.
func (s *Store) writeTable() (lastmark.Mark, error) {
	dead := s.logs.Dead()
	s.logs.Retire(dead)
	s.dead = append(s.dead, dead...)
	s.logChanges.Gone = append(s.logChanges.Gone, dead...)
	whole := s.file.NeedsSnapshot() || s.manyChanged()
	logs := s.logChanges
	if whole {
		logs.Set, logs.Gone = s.logs.States(), nil
	}
	s.mutex.Lock()
	changes := s.table.Capture(whole)
	s.mutex.Unlock()
	at, err := s.file.Write(changes, logs)
	if err != nil {
		return lastmark.Mark{}, err
	}
	s.logChanges.Set, s.logChanges.Gone = nil, nil
	s.tellExtent(s.file.Extent())
	return lastmark.Mark{Table: at}, nil
}

// manyChanged says that so many ledgers have changed that a snapshot, which is written in groups, is the better way.
func (s *Store) manyChanged() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.table.ChangedRows() > changedRowsMax
}

// cleanUp removes what the durable mark makes superfluous. A failure costs space, not data, and the next checkpoint or
// start tries again.
func (s *Store) cleanUp(mark lastmark.Mark) {
	dead := s.dead
	s.dead = nil
	err := errors.Join(s.journal.Trim(mark.Journal), s.file.RemoveOld(), s.logs.Remove(dead))
	if err != nil {
		s.h.Log(host.Warn, "checkpoint could not clean up", host.F("error", err))
	}
}
