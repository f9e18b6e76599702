package bookie

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/internal/invariant"
)

// Add is one entry to store. Err is its outcome once its batch has completed: nil, ErrFenced, ErrUnauthorized,
// ErrUnknown (limbo), ErrMalformed, ErrTooLarge, ErrStopped, or ErrOutcomeUnknown.
type Add struct {
	MasterKey ledger.MasterKey
	Recovery  bool   // accepted although the ledger is fenced or in limbo
	Body      []byte // the stored entry; not used after Submit has returned
	Err       error

	ledger   ledger.ID
	entry    ledger.EntryID
	header   record.Header
	accepted bool
}

// Batch is what one connection submits together: one lock, one place in a journal group, one completion. It belongs to
// the store from Submit until it appears in Done.
type Batch struct {
	Adds []Add
	Done *host.Queue[*Batch] // takes the batch back; must have room for all that are outstanding

	store      *Store
	generation *writecache.Generation // pinned from the append until the group is written
}

// Submit starts the adds of a batch in order. It waits while the cache or the journal is full, and never for the disk
// otherwise. The bodies are copied before it returns.
func (s *Store) Submit(b *Batch) {
	b.store = s
	if _, err := s.start(b.Adds, b); err != nil {
		b.fail(err)
		b.finish()
	}
}

// AddOne stores one entry and waits until it is acknowledged. The error is also in a.Err.
func (s *Store) AddOne(a *Add) error {
	adds := []Add{*a}
	ticket, err := s.start(adds, nil)
	switch {
	case err != nil:
		a.Err = err
	case !adds[0].accepted:
		a.Err = adds[0].Err
	default:
		a.Err = s.await(ticket)
	}
	return a.Err
}

// start does what Submit promises. With an error nothing was started. done, if not nil, is completed by the journal,
// or here if every add was refused.
func (s *Store) start(adds []Add, done *Batch) (*host.Ticket, error) {
	bytes := s.prepare(adds)
	if bytes > s.config.BatchBytesMax {
		return nil, fmt.Errorf("batch of %d bytes, the bookie takes %d: %w", bytes, s.config.BatchBytesMax, ErrTooLarge)
	}
	appender, err := s.lockForAdds()
	if err != nil {
		return nil, err
	}
	accepted := 0
	for i := range adds {
		if adds[i].Err == nil {
			adds[i].Err = s.accept(&appender, &adds[i])
		}
		if adds[i].Err == nil {
			adds[i].accepted = true
			accepted++
		}
	}
	var completion journal.Completion
	if accepted > 0 {
		completion = s.pinWhileWriting(done)
	}
	ticket := appender.End(completion)
	if s.h.Probe().Perhaps(PointCheckpointNow) {
		s.wantCheckpoint()
	}
	s.mutex.Unlock()
	if done != nil && accepted == 0 {
		done.finish()
	}
	s.h.Probe().Mark(host.Event{Name: PointAccepted, A: int64(accepted)})
	return ticket, nil
}

// writing is a generation that a journal group may refer to: long bodies are not copied into a group. A checkpoint can
// overtake a slow journal, so each batch keeps its generation's memory until its group is written or has failed.
type writing writecache.Generation

// Committed lets the generation go. It serves adds that have no batch.
func (w *writing) Committed(error) { (*writecache.Generation)(w).Unpin() }

// pinWhileWriting pins the active generation for a batch, and returns what unpins it.
func (s *Store) pinWhileWriting(b *Batch) journal.Completion {
	s.active.Pin()
	if b == nil {
		return (*writing)(s.active)
	}
	b.generation = s.active
	return b
}

// FramingBytes is what the journal adds to an entry at most: its header, and the record of a ledger that begins with it.
// Submit counts it with every entry of a batch, and so must whoever collects one.
const FramingBytes = 2*record.HeaderSize + ledgerRecordBytes

// prepare checks and checksums the entries, which needs no lock, and returns what the good ones take in the journal.
func (s *Store) prepare(adds []Add) (bytes int64) {
	for i := range adds {
		a := &adds[i]
		a.Err, a.accepted = nil, false
		var err error
		switch a.ledger, a.entry, err = ledger.Key(a.Body); {
		case err != nil:
			a.Err = fmt.Errorf("%w: %w", ErrMalformed, err)
		case a.ledger < 0 || a.entry < 0:
			a.Err = fmt.Errorf("entry %d of ledger %d: ids must not be negative: %w", a.entry, a.ledger, ErrMalformed)
		case len(a.Body) > s.config.EntryBytesMax:
			a.Err = fmt.Errorf("entry %d of ledger %d has %d bytes, the bookie takes %d: %w",
				a.entry, a.ledger, len(a.Body), s.config.EntryBytesMax, ErrTooLarge)
		default:
			a.header = record.MakeHeader(kindEntry, a.Body)
			bytes += int64(len(a.Body) + FramingBytes)
		}
	}
	return bytes
}

// admit slows and stops adds while the cache fills: from SlowFromPercent on if a flush is running, since then nothing
// but its end makes room. Hold has them wait for a checkpoint in any case.
func (s *Store) admit(hold bool) error {
	slowed := false
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for {
		if err := s.usable(); err != nil {
			return err
		}
		delay := s.slowDown()
		if s.active.Bytes() < s.generationBytes() && !hold && (slowed || delay == 0) {
			return nil
		}
		s.wantCheckpoint()
		if s.active.Bytes() >= s.generationBytes() || hold {
			hold = false
			s.h.Probe().Mark(host.Event{Name: PointCacheFull, A: s.active.Bytes()})
			if s.hurried || !s.room.Wait() {
				return fmt.Errorf("add while the write cache is full: %w", ErrStopped)
			}
			continue
		}
		s.h.Probe().Mark(host.Event{Name: PointSlowed, A: s.active.Bytes()})
		slowed = true
		s.room.WaitFor(delay)
	}
}

// slowDown is how long a batch waits: nothing below SlowFromPercent, and linearly more up to a full generation.
func (s *Store) slowDown() time.Duration {
	full := s.generationBytes()
	from := full * int64(s.config.SlowFromPercent) / 100
	if s.flushing == nil {
		return 0
	}
	if s.active.Bytes() < from || full == from {
		if s.h.Probe().Perhaps(PointSlowNow) {
			return s.config.SlowestDelay
		}
		return 0
	}
	return time.Duration(int64(s.config.SlowestDelay) * min(s.active.Bytes()-from+1, full-from) / (full - from))
}

// lockForAdds is lockForAppend once the cache has room for a batch.
func (s *Store) lockForAdds() (journal.Appender, error) {
	for admitted := false; ; admitted = true {
		appender, err := s.lockForAppend()
		hold := err == nil && !admitted && s.h.Probe().Perhaps(PointHoldNow)
		if err != nil || (s.active.Bytes() < s.generationBytes() && (admitted || !hold && s.slowDown() == 0)) {
			return appender, err
		}
		appender.End(nil)
		s.mutex.Unlock()
		if err := s.admit(hold); err != nil {
			return appender, err
		}
	}
}

// lockForAppend takes the mutex and opens an appender at a moment at which the journal's open group has room. Whoever
// holds the mutex is alone in appending; without an error the caller ends the appender and unlocks.
func (s *Store) lockForAppend() (appender journal.Appender, err error) {
	for {
		s.mutex.Lock()
		if err := s.usable(); err != nil {
			s.mutex.Unlock()
			return appender, err
		}
		if appender, ok := s.journal.Begin(); ok {
			return appender, nil
		}
		s.mutex.Unlock()
		if err := s.journal.AwaitRoom(); err != nil {
			return appender, s.journalError(err)
		}
	}
}

// journalError classifies a failure to append or commit, and stops the bookie if the journal has failed.
func (s *Store) journalError(err error) error {
	if errors.Is(err, journal.ErrFailed) {
		s.fail(err)
	}
	return fmt.Errorf("%w: %w", ErrStopped, err)
}

// accept decides about one add and, if it is accepted, puts it into the cache and then into the journal's group: a
// checkpoint that swaps generations finds in the cache whatever a sealed group holds.
func (s *Store) accept(appender *journal.Appender, a *Add) error {
	l := s.table.Get(a.ledger)
	if l == nil {
		if s.table.Uncertain() && !a.Recovery && !(a.entry == 0 && s.config.TakesNewInDoubt) {
			s.h.Probe().Mark(host.Event{Name: PointRefusedLimbo, A: int64(a.ledger), B: int64(a.entry)})
			return fmt.Errorf("add entry %d of ledger %d, which may have been lost here: %w", a.entry, a.ledger, ErrUnknown)
		}
		l = s.createLedger(a.ledger)
		if !a.Recovery {
			l.Limbo = false // it begins here
		}
	}
	if err := s.refuse(l, a); err != nil {
		return err
	}
	if !l.HasKey {
		l.HasKey, l.MasterKey = true, a.MasterKey
		s.table.Changed(l)
		appendRecord(appender, kindLedger, ledgerRecord(l.ID, &l.MasterKey))
	}
	body := s.active.Insert(a.ledger, a.entry, a.Body)
	appender.Record(&a.header, body)
	return nil
}

// refuse returns why a ledger does not take an add, nil if it does.
func (s *Store) refuse(l *ledgertable.Ledger, a *Add) error {
	probe := s.h.Probe()
	switch {
	case l.Deleted:
		probe.Mark(host.Event{Name: PointRefusedDeleted, A: int64(l.ID), B: int64(a.entry)})
		return fmt.Errorf("add entry %d of ledger %d, which was deleted: %w", a.entry, l.ID, ErrFenced)
	case l.HasKey && l.MasterKey != a.MasterKey:
		return fmt.Errorf("add entry %d of ledger %d: %w", a.entry, l.ID, ErrUnauthorized)
	case a.Recovery:
		return nil
	case l.Fenced:
		probe.Mark(host.Event{Name: PointRefusedFenced, A: int64(l.ID), B: int64(a.entry)})
		return fmt.Errorf("add entry %d of ledger %d: %w", a.entry, l.ID, ErrFenced)
	case l.Limbo:
		probe.Mark(host.Event{Name: PointRefusedLimbo, A: int64(l.ID), B: int64(a.entry)})
		return fmt.Errorf("add entry %d of ledger %d, whose fence may have been lost here: %w", a.entry, l.ID, ErrUnknown)
	}
	return nil
}

func appendRecord(appender *journal.Appender, kind record.Kind, body []byte) {
	h := record.MakeHeader(kind, body)
	appender.Record(&h, body)
}

// await waits for a ticket and translates its outcome for an operation that was started.
func (s *Store) await(ticket *host.Ticket) error {
	err := ticket.Wait()
	if err == nil {
		return nil
	}
	if errors.Is(err, journal.ErrFailed) {
		s.fail(err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// Committed is called by the journal with the outcome of the batch's group.
func (b *Batch) Committed(err error) {
	b.generation.Unpin()
	b.generation = nil
	if err != nil {
		b.store.fail(err)
		err = fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		for i := range b.Adds {
			if b.Adds[i].accepted {
				b.Adds[i].Err = err
			}
		}
	}
	b.finish()
}

// fail gives every add that has no error yet the same one.
func (b *Batch) fail(err error) {
	for i := range b.Adds {
		if b.Adds[i].Err == nil {
			b.Adds[i].Err = err
		}
	}
}

func (b *Batch) finish() {
	taken := b.Done.Offer(b)
	invariant.Check(taken, "a batch's queue has room for every batch that is outstanding")
}
