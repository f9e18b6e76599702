package bookie

import (
	"fmt"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// Fence refuses all ordinary adds of a ledger from now on, for ever. It returns once the fence is durable: whoever is
// told of it, or of anything that was read after it, may rely on it after any crash. A ledger that the bookie does not
// know is created. Fencing again waits for the first fence.
//
// Errors: ErrUnauthorized, ErrNoLedger for a deleted ledger, ErrStopped, ErrOutcomeUnknown.
func (s *Store) Fence(id ledger.ID, key ledger.MasterKey) error {
	if id < 0 {
		return fmt.Errorf("fence ledger %d: ids must not be negative: %w", id, ErrMalformed)
	}
	appender, err := s.lockForAppend()
	if err != nil {
		return err
	}
	l := s.table.Get(id)
	if l == nil {
		l = s.createLedger(id)
	}
	if err := refuseFence(l, key); err != nil {
		appender.End(nil)
		s.mutex.Unlock()
		return err
	}
	if l.Fenced {
		ticket := s.fences[id]
		appender.End(nil)
		s.mutex.Unlock()
		if ticket == nil {
			return nil
		}
		return s.await(ticket)
	}
	ticket := s.appendFence(&appender, l, key)
	s.mutex.Unlock()
	s.h.Probe().Mark(host.Event{Name: PointFenceAccepted, A: int64(id)})
	if err := s.await(ticket); err != nil {
		return err
	}
	s.mutex.Lock()
	delete(s.fences, id)
	s.mutex.Unlock()
	s.h.Probe().Mark(host.Event{Name: PointFenceDurable, A: int64(id)})
	return nil
}

func refuseFence(l *ledgertable.Ledger, key ledger.MasterKey) error {
	if l.Deleted {
		return fmt.Errorf("fence ledger %d, which was deleted: %w", l.ID, ErrNoLedger)
	}
	if l.HasKey && l.MasterKey != key {
		return fmt.Errorf("fence ledger %d: %w", l.ID, ErrUnauthorized)
	}
	return nil
}

// appendFence changes the ledger and appends the fence in one step under the mutex, so that the fence's record follows
// every add that was accepted before it (bookkeeper#4701: two locks let an add slip in behind the fence).
func (s *Store) appendFence(appender *journal.Appender, l *ledgertable.Ledger, key ledger.MasterKey) *host.Ticket {
	if !l.HasKey {
		l.HasKey, l.MasterKey = true, key
		appendRecord(appender, kindLedger, ledgerRecord(l.ID, &key))
	}
	l.Fenced = true
	s.table.Changed(l)
	appendRecord(appender, kindFence, ledgerRecord(l.ID, nil))
	ticket := appender.End(nil)
	s.fences[l.ID] = ticket
	if s.flushing != nil {
		s.h.Probe().Mark(host.Event{Name: PointFenceInFlush, A: int64(l.ID)})
	}
	return ticket
}

// Delete removes a ledger. It returns once the deletion is durable; from then on reads find no ledger and adds are
// refused as if it were fenced, also after restarts. A ledger that the bookie does not know is remembered as deleted.
//
// Errors: ErrStopped, ErrOutcomeUnknown.
func (s *Store) Delete(id ledger.ID) error {
	if id < 0 {
		return fmt.Errorf("delete ledger %d: ids must not be negative: %w", id, ErrMalformed)
	}
	appender, err := s.lockForAppend()
	if err != nil {
		return err
	}
	l := s.table.Get(id)
	if l == nil {
		l = s.createLedger(id)
	}
	l.Deleted, l.Limbo = true, false
	s.table.Changed(l)
	s.active.Drop(id)
	appendRecord(&appender, kindDelete, ledgerRecord(id, nil))
	ticket := appender.End(nil)
	s.deletes[id] = ticket
	s.mutex.Unlock()
	if err := s.await(ticket); err != nil {
		return err
	}
	s.mutex.Lock()
	delete(s.deletes, id)
	s.mutex.Unlock()
	s.logs.Drop(id)
	s.h.Probe().Mark(host.Event{Name: PointDeleted, A: int64(id)})
	return nil
}
