package client

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// The classes of failure that a caller may branch on. An error may be of two: an append that found the ledger fenced
// after another bookie had taken the entry is ErrFenced and ErrOutcomeUnknown.
var (
	// ErrOutcomeUnknown: an append failed, but the entry may be on a bookie, and recovery may yet make it a part of the
	// ledger. Of Create, Delete and Close: it may have been done, or may still be.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrFenced: another client is recovering the ledger, or has. This writer is out.
	ErrFenced = errors.New("ledger is fenced")
	// ErrClosed: the ledger is closed, or the handle is.
	ErrClosed = errors.New("ledger is closed")
	// ErrClientClosed: the client was closed.
	ErrClientClosed = errors.New("client is closed")
	// ErrNoSuchEntry: every replica says that it never had the entry. Of an entry up to the LAC, this is data loss.
	// Of a recovery: this is the ledger's last confirmed entry, without which it cannot be closed.
	ErrNoSuchEntry = errors.New("no such entry")
	// ErrNoSuchLedger: there are no metadata of the ledger.
	ErrNoSuchLedger = errors.New("no such ledger")
	// ErrNotEnoughBookies: fewer bookies are available than are needed.
	ErrNotEnoughBookies = errors.New("not enough bookies")
	// ErrUnauthorized: the password or the digest type is not the ledger's.
	ErrUnauthorized = errors.New("wrong password or digest type")
	// ErrDigest: no replica could be read, and one that answered did so with bytes that are not the entry. Of a
	// recovery: so it is with an entry that may have been confirmed.
	ErrDigest = ledger.ErrDigest
	// ErrBeyondLAC: the range is not known to be confirmed, or ends behind the last entry of a closed ledger.
	ErrBeyondLAC = errors.New("beyond the last confirmed entry")
	// ErrMaybeLost: no replica has the entry, and one of them cannot prove that it never had it.
	ErrMaybeLost = errors.New("a bookie may have lost it")
	// ErrUnavailable: bookies or the metadata store did not answer as needed. Trying again later may help.
	ErrUnavailable = errors.New("unavailable")
	// ErrInvalid: no ledger accepts such a request.
	ErrInvalid = errors.New("invalid request")
	// ErrMetadata: the ledger's metadata cannot be understood.
	ErrMetadata = ledger.ErrMetadata
	// ErrTooManyChanges: the writer has replaced as many bookies as it may: maxAllowedEnsembleChanges.
	ErrTooManyChanges = errors.New("too many ensemble changes")
	// ErrBookieFailed: a bookie failed, and the writer was told to end then.
	ErrBookieFailed = errors.New("a bookie of the ensemble failed")
	// ErrConflict: another client has written metadata that contradict what this one knows for certain.
	ErrConflict = errors.New("metadata contradict this client")
)

// readClass is the class of a replica's failure to answer a read.
func readClass(err error) error {
	switch {
	case errors.Is(err, ErrDigest):
		return ErrDigest
	case errors.Is(err, channel.ErrNoEntry), errors.Is(err, channel.ErrNoLedger):
		return ErrNoSuchEntry
	case errors.Is(err, channel.ErrUnknown):
		return ErrMaybeLost
	case errors.Is(err, channel.ErrUnauthorized):
		return ErrUnauthorized
	case errors.Is(err, pool.ErrClosed):
		return ErrClientClosed
	case errors.Is(err, channel.ErrBadRequest):
		return ErrInvalid
	default:
		return ErrUnavailable
	}
}

// failureClass is the class of a core's failure.
func failureClass(f protocol.Failure) error {
	switch f {
	case protocol.Fenced:
		return ErrFenced
	case protocol.ClosedElsewhere, protocol.CloseAsked:
		return ErrClosed
	case protocol.Deleted:
		return ErrNoSuchLedger
	case protocol.Unauthorized:
		return ErrUnauthorized
	case protocol.Diverged:
		return ErrConflict
	case protocol.NotEnoughBookies:
		return ErrNotEnoughBookies
	case protocol.TooManyChanges:
		return ErrTooManyChanges
	case protocol.BookieFailed:
		return ErrBookieFailed
	case protocol.Damaged:
		return ErrDigest
	default:
		return fmt.Errorf("%v: %w", f, ErrUnavailable) // metadata-failed, uncovered, undecided
	}
}

// storeError gives an error of the metadata store its class. ErrExist and ErrVersion are for the caller to handle.
func (c *Client) storeError(doing string, id ledger.ID, err error) error {
	class := ErrUnavailable
	switch {
	case err == nil:
		return nil
	case errors.Is(err, metadata.ErrNotExist):
		// The causes would name the ledger and the key over and over.
		text := fmt.Sprintf("%s ledger %d: %v at %s", doing, id, ErrNoSuchLedger, c.ledgers.Layout().LedgerKey(id))
		return &classedError{class: ErrNoSuchLedger, err: err, text: text}
	case errors.Is(err, metadata.ErrOutcomeUnknown):
		class = ErrOutcomeUnknown
	case errors.Is(err, metadata.ErrInvalid):
		class = ErrInvalid
	case errors.Is(err, ErrMetadata):
		class = ErrMetadata
	case errors.Is(err, host.ErrStopping):
		class = ErrClientClosed
	}
	return fmt.Errorf("%s ledger %d: %w", doing, id, classed(class, err))
}

// classed gives an error its class. The layers below have classes of their own, and many of them say the same: that is
// told once. Without an error the class is all there is to tell.
func classed(class, err error) error {
	if err == nil {
		return class
	}
	if errors.Is(err, class) {
		return err
	}
	if strings.Contains(err.Error(), class.Error()) {
		return &classedError{class: class, err: err, text: err.Error()}
	}
	return fmt.Errorf("%w: %w", class, err)
}

// classedError is an error whose text names its class already.
type classedError struct {
	class, err error
	text       string
}

func (e *classedError) Error() string   { return e.text }
func (e *classedError) Unwrap() []error { return []error{e.class, e.err} }
