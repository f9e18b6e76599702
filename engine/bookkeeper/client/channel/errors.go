package channel

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// The classes of failure that a caller may branch on. Each answer of a bookie has its own.
var (
	// ErrOutcomeUnknown: the add may or may not have been stored.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrBroken: the channel has ended. The error that ended it is wrapped as well.
	ErrBroken = errors.New("channel has ended")
	// ErrFull: Offer found no room.
	ErrFull = errors.New("channel is full")
	// ErrProtocol: the peer sent what is no answer to any request.
	ErrProtocol = errors.New("peer breaks the protocol")

	ErrNoLedger        = errors.New("no such ledger")
	ErrNoEntry         = errors.New("no such entry")
	ErrBadRequest      = errors.New("bad request")
	ErrIO              = errors.New("bookie failed to read or write")
	ErrUnauthorized    = errors.New("wrong master key")
	ErrBadVersion      = errors.New("protocol version not supported")
	ErrFenced          = errors.New("ledger is fenced")
	ErrReadOnly        = errors.New("bookie is read-only")
	ErrTooManyRequests = errors.New("bookie has too many requests")
	// ErrUnknown: the bookie does not have it, and cannot prove that it never had.
	ErrUnknown = errors.New("bookie may have lost it")
)

// classOf returns the class of a code. A code that no bookie should send is an error of the bookie.
func classOf(code wire.Code) error {
	switch code {
	case wire.NoLedger:
		return ErrNoLedger
	case wire.NoEntry:
		return ErrNoEntry
	case wire.BadRequest:
		return ErrBadRequest
	case wire.Unauthorized:
		return ErrUnauthorized
	case wire.BadVersion:
		return ErrBadVersion
	case wire.Fenced:
		return ErrFenced
	case wire.ReadOnly:
		return ErrReadOnly
	case wire.TooManyRequests:
		return ErrTooManyRequests
	case wire.UnknownLedgerState:
		return ErrUnknown
	default:
		return ErrIO
	}
}

// answered is the error for a request that got this code. An add that failed inside the bookie may still be stored.
func (c *Channel) answered(r *Request, code wire.Code) error {
	if code == wire.OK {
		return nil
	}
	class := classOf(code)
	if code.String() == class.Error() { // told once
		return fmt.Errorf("%s: %w", c.about(r), class)
	}
	if r.Operation == wire.Add && class == ErrIO {
		return fmt.Errorf("%s: %s: %w: %w", c.about(r), code, ErrOutcomeUnknown, class)
	}
	return fmt.Errorf("%s: %s: %w", c.about(r), code, class)
}

// late is the error for a request that got no answer in time.
func (c *Channel) late(r *Request) error {
	if r.Operation == wire.Add {
		return fmt.Errorf("%s: %w: %w", c.about(r), ErrOutcomeUnknown, host.ErrTimeout)
	}
	return fmt.Errorf("%s: %w", c.about(r), host.ErrTimeout)
}

// lost is the error for a request whose channel ended first.
func (c *Channel) lost(r *Request, cause error) error {
	if r.Operation == wire.Add {
		return fmt.Errorf("%s: %w: %w", c.about(r), ErrOutcomeUnknown, cause)
	}
	return fmt.Errorf("%s: %w", c.about(r), cause)
}

// about names a request and its peer.
func (c *Channel) about(r *Request) string {
	switch r.Operation {
	case wire.Auth:
		return fmt.Sprintf("auth at %s", c.conn.Peer())
	default:
		return fmt.Sprintf("%s entry %d of ledger %d at %s", r.Operation, r.Entry, r.Ledger, c.conn.Peer())
	}
}
