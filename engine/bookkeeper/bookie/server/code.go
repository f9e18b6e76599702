package server

import (
	"errors"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/wire"
)

// code is what a client is told of an error of the store. Everything that has no class of its own is an input/output
// error: of an add it leaves open whether the entry is there, and of a read whether it ever was.
func (s *Server) code(err error) wire.Code {
	switch {
	case err == nil:
		return wire.OK
	case errors.Is(err, bookie.ErrStopped), errors.Is(err, bookie.ErrOutcomeUnknown), errors.Is(err, bookie.ErrCorrupt):
		return wire.IOError // first: whatever else such an error wraps is no answer to the request
	case errors.Is(err, bookie.ErrUnknown):
		return s.config.UnknownAnswer
	case errors.Is(err, bookie.ErrNoLedger):
		return wire.NoLedger
	case errors.Is(err, bookie.ErrNoEntry):
		return wire.NoEntry
	case errors.Is(err, bookie.ErrMalformed), errors.Is(err, bookie.ErrTooLarge):
		return wire.BadRequest
	case errors.Is(err, bookie.ErrUnauthorized):
		return wire.Unauthorized
	case errors.Is(err, bookie.ErrFenced):
		return wire.Fenced
	}
	return wire.IOError
}
