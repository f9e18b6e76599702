package client

import (
	"bytes"
	"fmt"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// OpenOptions say how to open a ledger.
type OpenOptions struct {
	Password []byte
	// Digest is for ledgers of old clients, whose metadata do not name it; of others it is taken from there.
	Digest ledger.DigestType
	// Recovery has the arms of experiments, which are wrong on purpose.
	Recovery protocol.RecoveryOptions
}

// Open opens a ledger whose end is final: one that is not closed is recovered first, which puts its writer out. All that
// was ever acknowledged is in it. ErrUnavailable: not enough bookies answered to say where it ends; open it again later.
//
// If the metadata store is dead it fails after Config.MetadataTimeout. If the store dies during the recovery, each of its
// writes of metadata is tried protocol.RecoveryOptions.AttemptsMax times, MetadataTimeout and a pause of at most
// RetryPauseMax each: 16 times 12 seconds with default settings, and then Open fails.
func (c *Client) Open(id ledger.ID, o OpenOptions) (*Reader, error) {
	if err := c.begin(); err != nil {
		return nil, fmt.Errorf("open ledger %d: %w", id, err)
	}
	defer c.end()
	m, err := c.authorized(id, &o)
	if err == nil && m.State != ledger.Closed {
		err = c.recover(id, &m, &o)
	}
	if err != nil {
		return nil, err
	}
	return c.newReader(id, m, &o), nil
}

// OpenNoRecovery opens a ledger as it is, to read behind its writer. The bookies are asked for the LAC once, as BookKeeper
// does, so that what was confirmed before may be read at once. If too few of them answer within Config.ReadTimeout the
// reader begins with less, down to what the metadata say, which is no entry at all in the first fragment; BookKeeper fails
// then. Reader.ReadLastConfirmed and WaitFor tell what more may be read. The owner closes the reader. If the metadata store
// is dead it fails after Config.MetadataTimeout.
func (c *Client) OpenNoRecovery(id ledger.ID, o OpenOptions) (*Reader, error) {
	if err := c.begin(); err != nil {
		return nil, fmt.Errorf("open ledger %d: %w", id, err)
	}
	defer c.end()
	m, err := c.authorized(id, &o)
	if err != nil {
		return nil, err
	}
	r := c.newReader(id, m, &o)
	if m.State == ledger.Closed {
		return r, nil
	}
	w, err := c.ledgers.Watch(id, c.waits)
	if err != nil {
		return nil, c.storeError("open", id, err)
	}
	r.watch = w
	c.waits.Go("follow", func() { r.follow(w) })
	if err := r.firstConfirmed(&m.Metadata); err != nil {
		c.h.Log(host.Note, "reader begins without asking for the LAC", host.F("ledger", int64(id)), host.F("error", err))
	}
	return r, nil
}

// Recover closes a ledger that may still be written to, and returns its final metadata. A ledger that is closed already
// stays as it is.
func (c *Client) Recover(id ledger.ID, o OpenOptions) (ledger.Metadata, error) {
	r, err := c.Open(id, o)
	if err != nil {
		return ledger.Metadata{}, err
	}
	defer r.Close()
	return r.Metadata(), nil
}

// authorized reads the metadata of a ledger and checks the password. What the metadata do not hold of what is needed is
// taken from the options.
func (c *Client) authorized(id ledger.ID, o *OpenOptions) (versioned, error) {
	if id < 0 {
		return versioned{}, fmt.Errorf("open ledger %d: %w", id, ErrInvalid)
	}
	m, err := c.readMetadata(id, "open")
	if err != nil {
		return m, err
	}
	if m.Digest != ledger.DigestUnstored {
		if !bytes.Equal(m.Password, o.Password) {
			return m, fmt.Errorf("open ledger %d: the password differs: %w", id, ErrUnauthorized)
		}
		o.Digest = m.Digest
	}
	if o.Digest == ledger.DigestUnstored {
		return m, fmt.Errorf("open ledger %d: its metadata do not name the digest type: %w", id, ErrInvalid)
	}
	if m.Quorum.Ensemble > protocol.EnsembleMax {
		return m, fmt.Errorf("open ledger %d on %d bookies, at most %d are supported: %w",
			id, m.Quorum.Ensemble, protocol.EnsembleMax, ErrInvalid)
	}
	return m, nil
}

func (c *Client) newReader(id ledger.ID, m versioned, o *OpenOptions) *Reader {
	mutex := c.h.NewMutex("reader")
	return &Reader{
		client: c, id: id, digest: o.Digest, secret: bytes.Clone(o.Password),
		mutex: mutex, changed: c.waits.NewCond(mutex), current: m, confirmed: confirmedBy(&m.Metadata),
	}
}
