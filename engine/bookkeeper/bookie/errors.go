package bookie

import "errors"

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
