package client

import (
	"errors"
	"fmt"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// CreateOptions say what a new ledger is like.
type CreateOptions struct {
	Quorum   ledger.Quorum
	Digest   ledger.DigestType // DefaultCreateOptions: CRC32C
	Password []byte
	Custom   []ledger.CustomValue // sorted by key

	// OnBookieFailure, DelayEnsembleChange and EnsembleChangesMax are the writer's: see package protocol. So are the arms
	// of experiments, which are wrong on purpose.
	Writer protocol.WriterOptions
}

// DefaultCreateOptions asks for three copies on three bookies, acknowledged when two have them.
func DefaultCreateOptions() CreateOptions {
	return CreateOptions{Quorum: ledger.Quorum{Ensemble: 3, Write: 3, Ack: 2}, Digest: ledger.CRC32C}
}

// validate reports what no ledger can be like.
func (o *CreateOptions) validate() error {
	if err := o.Quorum.Validate(); err != nil {
		return err
	}
	if o.Quorum.Ensemble > protocol.EnsembleMax {
		return fmt.Errorf("ensemble of %d bookies: at most %d are supported", o.Quorum.Ensemble, protocol.EnsembleMax)
	}
	if o.Digest == ledger.DigestUnstored {
		return fmt.Errorf("no digest type: a new ledger names one, as DefaultCreateOptions does")
	}
	return nil
}

// Create makes a ledger and returns its writer, the only one it will ever have. The owner calls Close or Abandon. With
// ErrOutcomeUnknown an empty ledger may have been left behind that nobody knows of. ErrNotEnoughBookies comes at once:
// AwaitBookies waits. While the metadata store is dead it takes twice Config.MetadataTimeout at most: one for the list of
// bookies, one for the ledger, retries included.
func (c *Client) Create(o CreateOptions) (*Writer, error) {
	if err := c.begin(); err != nil {
		return nil, fmt.Errorf("create a ledger: %w", err)
	}
	defer c.end()
	m := ledger.Metadata{
		Quorum: o.Quorum, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: o.Digest, Password: o.Password,
		Custom: o.Custom, Created: milliseconds(c.h.Now()),
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("create a ledger: %w: %w", ErrInvalid, err)
	}
	ensemble, err := c.choose(o.Quorum.Ensemble, nil)
	if err != nil {
		return nil, chooseError(err)
	}
	m.Fragments = []ledger.Fragment{{First: 0, Ensemble: ensemble}}
	stored, err := c.ledgers.Create(m.Clone(), c.scope())
	if err != nil {
		return nil, createError(err)
	}
	if stored.Metadata.State != ledger.Open {
		// Somebody found it before the answer to its creation did.
		return nil, fmt.Errorf("create ledger %d: it is %v: %w", stored.ID, stored.Metadata.State, ErrFenced)
	}
	return newWriter(c, stored.ID, &versioned{Metadata: stored.Metadata, version: stored.Version}, o.Writer)
}

func createError(err error) error {
	class := ErrUnavailable
	switch {
	case errors.Is(err, metadata.ErrOutcomeUnknown):
		class = ErrOutcomeUnknown
	case errors.Is(err, ErrMetadata), errors.Is(err, metadata.ErrInvalid):
		class = ErrInvalid
	}
	return fmt.Errorf("create a ledger: %w", classed(class, err))
}

// Delete deletes a ledger, in whatever state it is. Bookies give its space back when they notice. ErrNoSuchLedger if it
// does not exist, ErrOutcomeUnknown if it may exist or not: then Delete may be called again.
func (c *Client) Delete(id ledger.ID) error {
	if err := c.begin(); err != nil {
		return fmt.Errorf("delete ledger %d: %w", id, err)
	}
	defer c.end()
	if id < 0 {
		return fmt.Errorf("delete ledger %d: %w", id, ErrInvalid)
	}
	return c.storeError("delete", id, c.ledgers.Delete(id, metadata.AnyVersion, c.scope()))
}
