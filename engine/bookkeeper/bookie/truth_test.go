package bookie_test

import (
	"bytes"
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// progress is how far a client knows that something came which it asked for.
type progress uint8

const (
	never progress = iota
	asked          // may have happened
	acknowledged
)

// truth is what the clients of one bookie know, over all its lives. check holds the bookie to it.
type truth struct {
	ledgers map[ledger.ID]*ledgerTruth
}

type ledgerTruth struct {
	entries map[ledger.EntryID]*entryTruth
	fence   progress
	removal progress
}

// entryTruth is one entry's versions in the order in which they were submitted, one after the other.
type entryTruth struct {
	versions [][]byte
	durable  int // the newest version that must not be lost; -1: none
}

func newTruth() *truth { return &truth{ledgers: map[ledger.ID]*ledgerTruth{}} }

func (t *truth) ledger(id ledger.ID) *ledgerTruth {
	l := t.ledgers[id]
	if l == nil {
		l = &ledgerTruth{entries: map[ledger.EntryID]*entryTruth{}}
		t.ledgers[id] = l
	}
	return l
}

// submit makes the next version of an entry and notes that it is under way.
func (t *truth) submit(id ledger.ID, entry ledger.EntryID, size int) []byte {
	l := t.ledger(id)
	e := l.entries[entry]
	if e == nil {
		e = &entryTruth{durable: -1}
		l.entries[entry] = e
	}
	body := stored(id, entry, size)
	version := len(e.versions)
	for i := ledger.HeaderBytes; i < len(body); i++ {
		body[i] ^= byte(version * 101)
	}
	e.versions = append(e.versions, body)
	return body
}

// acked notes the acknowledgement of the version that was submitted last.
func (t *truth) acked(id ledger.ID, entry ledger.EntryID) {
	e := t.ledgers[id].entries[entry]
	e.durable = len(e.versions) - 1
}

// verdict collects what a check found. A bookie that was not torn must be certain of everything.
type verdict struct {
	certain bool
	unknown int // answers "unknown"
}

// check compares everything the bookie says with what its clients know. What it shows counts as durable from then on:
// a bookie serves after a restart only what it has made durable again.
func (t *truth) check(s *bookie.Store, v *verdict) error {
	listed, err := s.List()
	if err != nil && !errors.Is(err, bookie.ErrUnknown) {
		return err
	}
	for _, id := range listed {
		if t.ledgers[id] == nil {
			return fmt.Errorf("ledger %d was invented", id)
		}
	}
	for _, id := range host.SortedKeys(t.ledgers) {
		if err := t.ledgers[id].check(s, id, v); err != nil {
			return fmt.Errorf("ledger %d: %w", id, err)
		}
	}
	return nil
}

func (l *ledgerTruth) check(s *bookie.Store, id ledger.ID, v *verdict) error {
	gone := 0
	for _, entry := range host.SortedKeys(l.entries) {
		missing, err := l.entries[entry].check(s, id, entry, v, l.removal != never)
		if err != nil {
			return err
		}
		if missing {
			gone++
		}
	}
	if err := l.checkRemoval(gone); err != nil {
		return err
	}
	for _, entry := range []ledger.EntryID{strangeEntry, 1 << 40} {
		_, err := s.Read(id, entry)
		if err = v.absence(err); err != nil {
			return fmt.Errorf("entry %d was never written: %w", entry, err)
		}
	}
	if err := l.checkLast(s, id, v); err != nil {
		return err
	}
	return l.checkRefusals(s, id, v)
}

// strangeEntry is an id that no scenario writes.
const strangeEntry ledger.EntryID = 7_777

// check reads one entry. missing: its ledger is gone, which is for the ledger to judge.
func (e *entryTruth) check(s *bookie.Store, id ledger.ID, entry ledger.EntryID, v *verdict, mayGo bool) (missing bool, err error) {
	got, err := s.Read(id, entry)
	if mayGo && errors.Is(err, bookie.ErrNoLedger) {
		return true, nil
	}
	if err != nil && e.durable >= 0 {
		return false, fmt.Errorf("entry %d, version %d, was durable: %w", entry, e.durable, err)
	}
	if err != nil {
		if err = v.absence(err); err != nil {
			return false, fmt.Errorf("entry %d was never acknowledged: %w", entry, err)
		}
		return false, nil
	}
	defer got.Release()
	for version := len(e.versions) - 1; version >= max(e.durable, 0); version-- {
		if bytes.Equal(got.Body, e.versions[version]) {
			e.durable = version
			return false, nil
		}
	}
	return false, fmt.Errorf("entry %d is none of its versions from %d to %d: %.60x", entry, e.durable, len(e.versions)-1, got.Body)
}

// absence judges an error in the place of something that need not be there: nil if it says so.
func (v *verdict) absence(err error) error {
	switch {
	case err == nil:
		return errors.New("it was found")
	case errors.Is(err, bookie.ErrUnknown) && v.certain:
		return fmt.Errorf("nothing can have been torn, and yet: %w", err)
	case errors.Is(err, bookie.ErrUnknown):
		v.unknown++
		return nil
	case errors.Is(err, bookie.ErrNoEntry), errors.Is(err, bookie.ErrNoLedger):
		return nil
	default:
		return fmt.Errorf("neither there nor absent: %w", err)
	}
}

func (l *ledgerTruth) checkRemoval(gone int) error {
	switch {
	case gone > 0 && gone < len(l.entries):
		return fmt.Errorf("%d of %d entries are gone: a ledger is deleted as a whole", gone, len(l.entries))
	case l.removal == acknowledged && gone == 0 && len(l.entries) > 0:
		return errors.New("it was deleted and is back")
	case l.removal == asked && gone > 0 && l.wasThere():
		l.removal = acknowledged
	case l.removal == asked && len(l.entries) > 0 && gone == 0:
		l.removal = never
	}
	return nil
}

// wasThere reports whether the bookie must have known the ledger.
func (l *ledgerTruth) wasThere() bool {
	for _, e := range l.entries {
		if e.durable >= 0 {
			return true
		}
	}
	return l.fence == acknowledged
}

func (l *ledgerTruth) checkLast(s *bookie.Store, id ledger.ID, v *verdict) error {
	last, err := s.LastEntry(id)
	if err != nil {
		if v.absence(err) != nil {
			return fmt.Errorf("last entry: %w", err)
		}
	}
	defer last.Release()
	if l.removal == acknowledged && err == nil {
		return errors.New("a deleted ledger has a last entry")
	}
	for _, entry := range host.SortedKeys(l.entries) {
		if l.removal == never && l.entries[entry].durable >= 0 && !errors.Is(err, bookie.ErrUnknown) && (err != nil || last.Entry < entry) {
			return fmt.Errorf("last entry is %d (%v), but %d is durable", last.Entry, err, entry)
		}
	}
	return nil
}

// checkRefusals tries an ordinary add, and a recovery add if the ledger was deleted.
func (l *ledgerTruth) checkRefusals(s *bookie.Store, id ledger.ID, v *verdict) error {
	if l.removal == acknowledged {
		a := bookie.Add{Body: stored(id, strangeEntry, 8), Recovery: true}
		if err := s.AddOne(&a); !errors.Is(err, bookie.ErrFenced) {
			return fmt.Errorf("a recovery add to a deleted ledger: %w", orTaken(err))
		}
	}
	if l.removal == asked || l.removal == never && l.fence != acknowledged {
		return nil
	}
	a := bookie.Add{Body: stored(id, strangeEntry, 8)}
	err := s.AddOne(&a)
	if errors.Is(err, bookie.ErrFenced) {
		return nil
	}
	if errors.Is(err, bookie.ErrUnknown) && !v.certain {
		v.unknown++
		return nil
	}
	return fmt.Errorf("an ordinary add to a ledger that is fenced or deleted: %w", orTaken(err))
}

func orTaken(err error) error {
	if err == nil {
		return errors.New("it was taken")
	}
	return err
}
