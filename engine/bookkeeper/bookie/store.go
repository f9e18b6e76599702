package bookie

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/lastmark"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Points of the bookie's storage. A is a ledger or a sequence, B an entry or bytes.
const (
	PointSlowed          host.Point = "bookie.slowed"          // a batch was slowed by a filling cache
	PointCacheFull       host.Point = "bookie.cache-full"      // a batch waited for a full cache
	PointAccepted        host.Point = "bookie.accepted"        // in cache and journal group, not yet committed
	PointFenceAccepted   host.Point = "bookie.fence-accepted"  // not yet durable
	PointFenceDurable    host.Point = "bookie.fence-durable"   // not yet answered
	PointRefusedFenced   host.Point = "bookie.refused-fenced"  // an ordinary add met a fence
	PointRefusedLimbo    host.Point = "bookie.refused-limbo"   // an ordinary add met a ledger in limbo
	PointUnknown         host.Point = "bookie.unknown"         // a read was answered "unknown"
	PointRangeHole       host.Point = "bookie.range-hole"      // a range ended in front of entry B, which is not here
	PointDeleted         host.Point = "bookie.deleted"         // a delete is durable
	PointRefusedDeleted  host.Point = "bookie.refused-deleted" // an add met a deleted ledger
	PointSwapped         host.Point = "bookie.generation-swapped"
	PointPublished       host.Point = "bookie.published"             // flushed entries are found in the log
	PointSwappedReaders  host.Point = "bookie.swapped-under-readers" // a flushed generation is still pinned
	PointFenceInFlush    host.Point = "bookie.fence-raced-checkpoint"
	PointTableWritten    host.Point = "bookie.table-written" // not yet marked
	PointCheckpointed    host.Point = "bookie.checkpointed"
	PointCheckpointRetry host.Point = "bookie.checkpoint-failed" // and will be tried again
	PointReplayed        host.Point = "bookie.replayed"          // records are in memory, nothing rewritten yet. Extra: CleanStop, or nothing
	PointReplayFlush     host.Point = "bookie.replay-flush"      // the cache was full during replay
	PointLimbo           host.Point = "bookie.limbo"             // everything known went into limbo
	PointDoubtEnded      host.Point = "bookie.doubt-ended"       // A ledgers are in limbo instead; not yet durable
	PointServing         host.Point = "bookie.serving"
	PointFailed          host.Point = "bookie.failed" // fail-stop
	PointClosed          host.Point = "bookie.closed"
)

// CleanStop says that the journal ended with a footer: nothing can be missing.
const CleanStop = "clean-stop"

// Store is the storage of one bookie. All methods but Close may be called from any task.
type Store struct {
	h      host.Host
	config Config

	journalDir, ledgerDir host.Dir
	unlock                []func()

	journal *journal.Journal
	logs    *entrylog.Logs
	file    *ledgertable.File
	mark    *lastmark.Slots
	tasks   host.Group

	mutex    host.Mutex
	table    *ledgertable.Table
	fences   map[ledger.ID]*host.Ticket // fences that may not be durable yet
	deletes  map[ledger.ID]*host.Ticket // and deletes
	active   *writecache.Generation
	flushing *writecache.Generation
	failed   error
	closing  bool
	hurried  bool // adds do not wait for a full cache any more
	readers  int

	due      host.Cond // the checkpoint's task waits for work
	room     host.Cond // adds wait for a flush
	idle     host.Cond // the close waits for readers
	watcher  host.Cond // AwaitEnd, if it was called
	wanted   uint64    // checkpoints asked for
	finished uint64    // checkpoints done
	lastMade time.Duration
	scrub    scrubber

	// Owned by the checkpoint's task.
	marking    bool                   // a mark of this run was written, or may have been
	captured   uint64                 // sequence that the flushing generation covers
	logChanges ledgertable.LogChanges // not yet in the table
	dead       []entrylog.LogID       // to remove once the table no longer names them
}

// usable returns the error that ends all use, if there is one. The mutex must be held.
func (s *Store) usable() error {
	if s.failed != nil {
		return fmt.Errorf("%w: %w", ErrStopped, s.failed)
	}
	if s.closing {
		return ErrStopped
	}
	return nil
}

// fail stops the bookie for good.
func (s *Store) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failed != nil {
		return
	}
	s.failed = err
	s.h.Log(host.Error, "bookie stops", host.F("error", err))
	s.h.Probe().Mark(host.Event{Name: PointFailed})
	s.due.Broadcast()
	s.room.Broadcast()
	if s.watcher != nil {
		s.watcher.Broadcast()
	}
}

// AwaitEnd returns when g stops (nil), or with the reason for which the bookie had to stop.
func (s *Store) AwaitEnd(g host.Group) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.watcher = g.NewCond(s.mutex)
	for s.failed == nil {
		if !s.watcher.Wait() {
			return nil
		}
	}
	return s.failed
}

// keep says whether a ledger's entries are still wanted.
func (s *Store) keep(id ledger.ID) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.kept(id)
}

func (s *Store) kept(id ledger.ID) bool {
	l := s.table.Get(id)
	return l != nil && !l.Deleted
}

// List returns the ledgers that are not deleted, ascending, with those in limbo that may never have been here. With
// ErrUnknown they are those that are known, and others may have been lost.
func (s *Store) List() ([]ledger.ID, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	ids := make([]ledger.ID, 0, s.table.Len())
	s.table.Ascend(func(l *ledgertable.Ledger) bool {
		if !l.Deleted {
			ids = append(ids, l.ID)
		}
		return true
	})
	if s.table.Uncertain() {
		return ids, fmt.Errorf("list ledgers: %w", ErrUnknown)
	}
	return ids, nil
}

// Close finishes what was begun, writes everything to the entry log, closes the journal with a footer, and lets the
// directories go. After a failure it only lets go. Closing again does nothing.
func (s *Store) Close() error {
	s.mutex.Lock()
	if s.closing {
		s.mutex.Unlock()
		return nil
	}
	s.closing = true
	s.due.Broadcast()
	s.room.Broadcast()
	s.mutex.Unlock()
	s.scrub.end()
	s.tasks.Wait() // the checkpoint's task ends
	err := s.journalEnd()
	s.mutex.Lock()
	for s.readers > 0 {
		s.idle.Wait()
	}
	s.mutex.Unlock()
	s.release()
	s.tasks.Stop()
	if err == nil {
		s.h.Probe().Mark(host.Event{Name: PointClosed})
	}
	return err
}

// Hurry fails the adds that wait for room, and later ones that would: with a full disk they would wait for ever, and with
// them whoever has to stop. They were not begun, so ErrStopped is the truth. What was accepted is completed as ever, only
// that a journal which finds no space for its next file takes this as final. There is no way back: Close comes next.
func (s *Store) Hurry() {
	s.mutex.Lock()
	s.hurried = true
	s.room.Broadcast()
	s.mutex.Unlock()
	s.journal.Hurry()
}

// journalEnd drains the journal, checkpoints what it held, and writes its footer.
func (s *Store) journalEnd() error {
	err := s.journal.Drain()
	if err == nil {
		err = s.checkpoint()
	}
	if closed := s.journal.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("close bookie %s: %w", s.config.BookieID, err)
	}
	return nil
}

// release closes files, gives memory back and unlocks the directories.
func (s *Store) release() {
	if s.logs != nil {
		s.logs.Release()
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.mark != nil {
		_ = s.mark.Close()
	}
	for _, g := range []*writecache.Generation{s.active, s.flushing} {
		if g != nil {
			g.Unpin()
		}
	}
	s.active, s.flushing = nil, nil
	for _, unlock := range s.unlock {
		unlock()
	}
	s.unlock = nil
}
