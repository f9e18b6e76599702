package bookie

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Entry is what a read found. Release gives its memory back.
type Entry struct {
	Ledger ledger.ID
	Entry  ledger.EntryID
	Body   []byte // the stored entry
	memory host.Memory
}

// Release gives the body's memory back; the body must not be used afterwards. The zero Entry has none.
func (e *Entry) Release() {
	if e.memory != nil {
		e.memory.Put(e.Body)
		e.memory, e.Body = nil, nil
	}
}

// Read returns the newest version of an entry. ErrNoEntry and ErrNoLedger are proof that no acknowledged entry was
// lost here; ErrUnknown says that there is no such proof; ErrCorrupt that the bytes are damaged.
func (s *Store) Read(id ledger.ID, entry ledger.EntryID) (Entry, error) {
	if err := s.beginRead(id); err != nil {
		return Entry{}, err
	}
	defer s.endRead()
	return s.read(id, entry)
}

// LastEntry returns the entry with the greatest id, wherever it is. In limbo a greater one may have been lost.
func (s *Store) LastEntry(id ledger.ID) (Entry, error) {
	if err := s.beginRead(id); err != nil {
		return Entry{}, err
	}
	defer s.endRead()
	last, err := s.lastEntry(id)
	if err != nil {
		return Entry{}, err
	}
	return s.read(id, last)
}

func (s *Store) lastEntry(id ledger.ID) (ledger.EntryID, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	l, err := s.readable(id)
	if err != nil {
		return 0, err
	}
	if l.Limbo || s.logs.Damaged() != nil {
		s.h.Probe().Mark(host.Event{Name: PointUnknown, A: int64(id), B: -1})
		return 0, fmt.Errorf("last entry of ledger %d: %w", id, ErrUnknown)
	}
	last := s.greatest(id)
	if last == ledger.NoEntry {
		return 0, fmt.Errorf("last entry of ledger %d: %w", id, ErrNoEntry)
	}
	return last, nil
}

// greatest is the greatest id of a ledger's entries, wherever they are. The mutex is held.
func (s *Store) greatest(id ledger.ID) ledger.EntryID {
	last := max(s.active.Last(id), s.logs.Last(id))
	if s.flushing != nil {
		last = max(last, s.flushing.Last(id))
	}
	return last
}

// markHole tells the laboratory of a range that ended although the ledger goes on behind it.
func (s *Store) markHole(id ledger.ID, next ledger.EntryID) {
	if !s.h.Probe().Active() {
		return
	}
	s.mutex.Lock()
	last := s.greatest(id)
	s.mutex.Unlock()
	if last > next {
		s.h.Probe().Mark(host.Event{Name: PointRangeHole, A: int64(id), B: int64(next)})
	}
}

// beginRead keeps the files open until endRead. A delete that is under way is waited for: "no such ledger" must not be
// said before it can be relied on.
func (s *Store) beginRead(id ledger.ID) error {
	s.mutex.Lock()
	for {
		if err := s.usable(); err != nil {
			s.mutex.Unlock()
			return err
		}
		ticket := s.deletes[id]
		if ticket == nil {
			break
		}
		s.mutex.Unlock()
		if err := s.await(ticket); err != nil {
			return fmt.Errorf("read ledger %d, which is being deleted: %w", id, err)
		}
		s.mutex.Lock()
		delete(s.deletes, id)
	}
	s.readers++
	s.mutex.Unlock()
	return nil
}

func (s *Store) endRead() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.readers--; s.readers > 0 {
		return
	}
	s.scrub.quieter()
	if s.closing {
		s.idle.Broadcast()
	}
}

// readable returns a ledger's row, or why it cannot be read.
func (s *Store) readable(id ledger.ID) (*ledgertable.Ledger, error) {
	l := s.table.Get(id)
	if l == nil && s.table.Uncertain() {
		s.h.Probe().Mark(host.Event{Name: PointUnknown, A: int64(id), B: -1})
		return nil, fmt.Errorf("ledger %d is not known, but may have been lost: %w", id, ErrUnknown)
	}
	if l == nil || l.Deleted {
		return nil, &absence{ledger: id, entry: ledger.NoEntry, cause: ErrNoLedger}
	}
	return l, nil
}

func (s *Store) read(id ledger.ID, entry ledger.EntryID) (Entry, error) {
	generation, body, limbo, err := s.cached(id, entry)
	if err != nil {
		return Entry{}, err
	}
	if generation == nil {
		return s.readLogs(id, entry, limbo)
	}
	defer generation.Unpin()
	return s.copyOf(id, entry, body), nil
}

func (s *Store) copyOf(id ledger.ID, entry ledger.EntryID, body []byte) Entry {
	e := Entry{Ledger: id, Entry: entry, memory: s.h.Memory()}
	e.Body = e.memory.Get(len(body))
	copy(e.Body, body)
	return e
}

// cached looks an entry up in the write cache. The generation it returns is pinned for the caller.
func (s *Store) cached(id ledger.ID, entry ledger.EntryID) (*writecache.Generation, []byte, bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	l, err := s.readable(id)
	if err != nil {
		return nil, nil, false, err
	}
	for _, g := range [...]*writecache.Generation{s.active, s.flushing} {
		if g == nil {
			continue
		}
		if body, ok := g.Get(id, entry); ok {
			g.Pin()
			return g, body, l.Limbo, nil
		}
	}
	return nil, nil, l.Limbo, nil
}

// readLogs reads from the entry logs.
func (s *Store) readLogs(id ledger.ID, entry ledger.EntryID, limbo bool) (Entry, error) {
	body, err := s.logs.Read(id, entry)
	if err != nil {
		return Entry{}, s.notInLogs(id, entry, limbo, err)
	}
	return Entry{Ledger: id, Entry: entry, Body: body, memory: s.h.Memory()}, nil
}

// notInLogs is the answer that a failure to read an entry from the logs comes to. What is in no log is absent only if
// nothing can have been lost.
func (s *Store) notInLogs(id ledger.ID, entry ledger.EntryID, limbo bool, err error) error {
	switch {
	case errors.Is(err, entrylog.ErrAbsent) && limbo:
		s.h.Probe().Mark(host.Event{Name: PointUnknown, A: int64(id), B: int64(entry)})
		return fmt.Errorf("entry %d of ledger %d: %w", entry, id, ErrUnknown)
	case errors.Is(err, entrylog.ErrAbsent):
		return &absence{ledger: id, entry: entry, cause: ErrNoEntry}
	case isDamage(err):
		return fmt.Errorf("entry %d of ledger %d: %w: %w", entry, id, ErrCorrupt, err)
	default:
		return fmt.Errorf("entry %d of ledger %d: %w", entry, id, err)
	}
}
