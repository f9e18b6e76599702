package bookie

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
)

// The classes of answers that a caller may branch on.
var (
	ErrNoEntry        = errors.New("no such entry")
	ErrNoLedger       = errors.New("no such ledger")
	ErrFenced         = errors.New("ledger is fenced")
	ErrUnauthorized   = errors.New("wrong master key")
	ErrUnknown        = errors.New("unknown: may have been lost in an unclean stop")
	ErrCorrupt        = errors.New("stored bytes are damaged")
	ErrOutcomeUnknown = errors.New("outcome unknown")
	ErrTooLarge       = errors.New("entry is too large")
	ErrMalformed      = errors.New("entry is malformed")
	ErrStopped        = errors.New("bookie is stopped")
	ErrCookie         = errors.New("cookie does not fit")
)

// absence is the answer that something is not here. Readers that follow a writer get it all the time, so its text is
// made only for those who want to see it.
type absence struct {
	ledger ledger.ID
	entry  ledger.EntryID // NoEntry: the ledger as a whole
	cause  error
}

func (a *absence) Error() string {
	if a.entry == ledger.NoEntry {
		return fmt.Sprintf("ledger %d: %v", a.ledger, a.cause)
	}
	return fmt.Sprintf("entry %d of ledger %d: %v", a.entry, a.ledger, a.cause)
}

func (a *absence) Unwrap() error { return a.cause }
