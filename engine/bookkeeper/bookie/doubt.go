package bookie

import (
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// doubtChunk is how many ledgers go into limbo under one lock: about a millisecond.
const doubtChunk = 1024

// InDoubt says whether ledgers that the bookie does not know may have been lost here.
func (s *Store) InDoubt() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.table.Uncertain()
}

// SettleDoubt ends the doubt about ledgers that the bookie does not know: of those, only the given ones may have been
// lost. They go into limbo, each by itself, and stay there until they are deleted. Any other ledger is ordinary from now
// on. It returns once that is durable; a bookie that was not in doubt takes nothing from the list.
//
// The caller answers for the list. It holds every ledger of which an entry, a fence or a delete may have reached this
// bookie before Open, and which is still there: all that the metadata name at some time after Open returned will do.
//
// One write of the ledger table carries all of it. A crash before leaves the doubt in force; ledgers of the list that
// are in limbo then are so with every other one. An error is ErrStopped, or ErrMalformed for an id that cannot be.
func (s *Store) SettleDoubt(ids []ledger.ID) error {
	for _, id := range ids {
		if id < 0 {
			return fmt.Errorf("settle doubt about ledger %d: ids must not be negative: %w", id, ErrMalformed)
		}
	}
	for chunk := range slices.Chunk(ids, doubtChunk) {
		if settled, err := s.doubtEach(chunk); settled || err != nil {
			return err
		}
	}
	if settled, err := s.endDoubt(len(ids)); settled || err != nil {
		return err
	}
	// What is answered from here on is true whether or not this comes to be durable: it rests on the list. After a crash
	// before, the ledgers that began meanwhile are in limbo with the rest.
	return s.Flush()
}

// doubtEach puts ledgers into limbo, and reports whether that is no longer needed.
func (s *Store) doubtEach(ids []ledger.ID) (settled bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.usable(); err != nil {
		return false, fmt.Errorf("settle doubt: %w", err)
	}
	if !s.table.Uncertain() {
		return true, nil
	}
	for _, id := range ids {
		s.table.Doubt(id)
	}
	return false, nil
}

// endDoubt forgets the doubt about all ledgers. The rows in limbo and the flag are captured together by the next
// checkpoint, or the rows by one before it: never the flag without the rows.
func (s *Store) endDoubt(doubted int) (settled bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.usable(); err != nil {
		return false, fmt.Errorf("settle doubt: %w", err)
	}
	if !s.table.Uncertain() {
		return true, nil
	}
	s.table.Settle()
	s.h.Probe().Mark(host.Event{Name: PointDoubtEnded, A: int64(doubted)})
	return false, nil
}
