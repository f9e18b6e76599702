package lakebed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// The classes of failure that a caller may branch on, with errors.Is. An error may be of several: an append whose context
// ended is ErrOutcomeUnknown and context.Canceled; one that found the ledger fenced after a bookie had taken the entry is
// ErrFenced and ErrOutcomeUnknown.
var (
	// ErrOutcomeUnknown: of an append, the entry may become a part of the ledger, or may not, and only the closed ledger tells.
	// Of Create, Delete and Writer.Close, it may have been done, or may still be.
	ErrOutcomeUnknown = client.ErrOutcomeUnknown
	// ErrFenced: somebody opened the ledger with recovery. This writer is out, and must not be replaced by another of the same
	// ledger: create a new one, if the ledgers are still yours to write.
	ErrFenced = client.ErrFenced
	// ErrClosed: the ledger is closed, or the Writer or Reader is.
	ErrClosed = client.ErrClosed
	// ErrStoreClosed: the Store was closed.
	ErrStoreClosed = client.ErrClientClosed
	// ErrNoSuchEntry: every bookie that should have the entry is sure that it never had. Of an entry up to the LAC this is
	// data loss.
	ErrNoSuchEntry = client.ErrNoSuchEntry
	// ErrNoSuchLedger: there is no ledger of this id, or it was deleted.
	ErrNoSuchLedger = client.ErrNoSuchLedger
	// ErrNotEnoughBookies: fewer bookies take writes than the ledger needs. Store.AwaitBookies waits for them.
	ErrNotEnoughBookies = client.ErrNotEnoughBookies
	// ErrUnauthorized: the password or the digest type is not the ledger's.
	ErrUnauthorized = client.ErrUnauthorized
	// ErrDigest: no copy could be read, and at least one is there and damaged.
	ErrDigest = client.ErrDigest
	// ErrBeyondLAC: the entries are not known to be confirmed yet, or lie behind the end of a closed ledger.
	ErrBeyondLAC = client.ErrBeyondLAC
	// ErrMaybeLost: no copy was found, and a bookie that may have had one cannot prove that it had not.
	ErrMaybeLost = client.ErrMaybeLost
	// ErrUnavailable: bookies or the metadata store did not answer as needed. Trying again later may help.
	ErrUnavailable = client.ErrUnavailable
	// ErrInvalid: no store accepts such a request.
	ErrInvalid = client.ErrInvalid
	// ErrMetadata: the ledger's metadata cannot be understood.
	ErrMetadata = client.ErrMetadata
	// ErrConflict: somebody has written metadata that contradict what this writer knows for certain.
	ErrConflict = client.ErrConflict
	// ErrTooManyChanges: the writer has replaced as many bookies as it may. Close it, and go on in a new ledger.
	ErrTooManyChanges = client.ErrTooManyChanges
)

// ended is why a context is over: its error, and its cause besides, if that is another.
func ended(ctx context.Context) error {
	if ctx.Err() == nil && ctx.Done() != nil {
		<-ctx.Done() // its deadline has passed, and its own timer is a moment late
	}
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// isOver reports whether a context has ended, or is about to: a scope that was made from it knows its deadline by itself.
func isOver(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) <= 0
}

// storeError gives the failure of a read of metadata its class.
func (s *Store) storeError(ctx context.Context, doing string, err error) error {
	cut := errors.Is(err, host.ErrTimeout) || errors.Is(err, host.ErrStopping)
	var class error
	switch {
	case err == nil:
		return nil
	case s.isClosed():
		return fmt.Errorf("%s: %w", doing, ErrStoreClosed)
	case cut && isOver(ctx) && errors.Is(err, host.ErrRefused):
		return fmt.Errorf("%s: %w: %w", doing, ended(ctx), err) // a context that was too short is not all there is to say
	case cut && isOver(ctx):
		return fmt.Errorf("%s: %w", doing, ended(ctx))
	case errors.Is(err, metadata.ErrNotExist):
		return fmt.Errorf("%s: %w", doing, ErrNoSuchLedger)
	case errors.Is(err, ErrMetadata), errors.Is(err, metadata.ErrContent):
		class = ErrMetadata
	case errors.Is(err, metadata.ErrInvalid):
		class = ErrInvalid
	default:
		class = ErrUnavailable
	}
	if errors.Is(err, class) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, class, err)
}
