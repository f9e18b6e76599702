package replicated

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
)

// Bounds of the last look.
const (
	verifyTries    = 24 // to recover a ledger, or to read a stretch of it
	verifyPauseMin = 50 * time.Millisecond
	verifyPauseMax = 2 * time.Second
	verifyPatience = 20 * time.Second // after which nothing is tried twice
	verifyEntries  = 16               // that one read asks for
)

// Stuck is a ledger that a healed world did not recover, or did not give back.
type Stuck struct {
	Ledger ledger.ID
	Err    error
}

// Verify looks at every ledger that sessions know, as a new client in a world that is healed as far as it must be: opens
// it with recovery and reads all of it, entry by entry and in batches, as final reads. It returns the ledgers that could
// not be opened, and false if the group stops.
func (s *Session) Verify() ([]Stuck, bool) {
	var stuck []Stuck
	s.patient = s.h.Elapsed() + verifyPatience
	for _, b := range s.lab.all() {
		v, err := s.openFinally(b)
		switch {
		case s.group.Stopping():
			return stuck, false
		case errors.Is(err, client.ErrNoSuchLedger):
			continue
		case err != nil:
			stuck = append(stuck, Stuck{b.id, fmt.Errorf("open with recovery: %w", err)})
			continue
		}
		v.all()
		v.reader.Close()
	}
	return stuck, !s.group.Stopping()
}

// openFinally tries again as long as somebody might still be getting up.
func (s *Session) openFinally(b *book) (v *view, err error) {
	for try := range verifyTries {
		v, err = s.open(b, true, true)
		if err == nil || errors.Is(err, client.ErrNoSuchLedger) || !s.pause(try) {
			return v, err
		}
	}
	return nil, err
}

// pause waits longer from try to try. False: there is no other try.
func (s *Session) pause(try int) bool {
	return s.h.Elapsed() < s.patient && s.group.Sleep(min(verifyPauseMin<<min(try, 10), verifyPauseMax))
}

// all reads the whole ledger twice.
func (v *view) all() {
	last := v.reader.LastAddConfirmed()
	m := &v.lab.mix
	v.through(last, func(next ledger.EntryID) ledger.EntryID {
		return v.single(next, min(last, next+verifyEntries-1))
	})
	v.through(last, func(next ledger.EntryID) ledger.EntryID { return v.batch(next, 2*m.BatchCountMax, 4*m.BatchBytesMax) })
}

// through reads from the first entry to last. Reads that fail are tried again, since a bookie may still be getting up;
// only a failure of the last try is final.
func (v *view) through(last ledger.EntryID, read func(next ledger.EntryID) ledger.EntryID) {
	next := v.book.first
	for try := 0; next <= last; {
		v.last = try == verifyTries || v.h.Elapsed() >= v.patient
		got := read(next)
		if got > next {
			next, try = got, 0
			continue
		}
		if try++; try > verifyTries || !v.pause(try) {
			return
		}
	}
}

// anewEntries is how many entries the last look appends to a ledger of its own.
const anewEntries = 3

// WriteAnew creates a ledger and appends to it, in a world in which enough bookies are whole. It tries again, since some
// may still be getting up or settling what they lost. False: it never worked, and the group does not stop.
func (s *Session) WriteAnew() bool {
	s.patient = s.h.Elapsed() + verifyPatience
	for try := range verifyTries {
		if s.writeOne() || s.group.Stopping() {
			return true
		}
		if !s.pause(try) {
			break
		}
	}
	return s.group.Stopping()
}

func (s *Session) writeOne() bool {
	a := s.create()
	if a == nil {
		return false
	}
	for range anewEntries {
		a.append()
		if !a.await(1) || a.failed {
			break
		}
	}
	a.await(a.underWay)
	a.end()
	return !a.failed
}
