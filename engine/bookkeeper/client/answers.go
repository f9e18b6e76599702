package client

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/host"
)

// answerAsks is the second task of a writer: it waits for the metadata store, so that acknowledgements and timeouts go on
// meanwhile.
func (c *Client) answerAsks(id ledger.ID, asks *host.Queue[ask], replies *host.Queue[event]) {
	var batch []ask
	for {
		var more bool
		if batch, more = asks.Take(batch); !more {
			return
		}
		for i := range batch {
			r := c.answer(id, &batch[i])
			replies.Offer(event{replied: &r}) // false: the writer is over
		}
	}
}

// answer does what a core asks about metadata, and waits for it.
func (c *Client) answer(id ledger.ID, e *ask) reply {
	if e.Attempt > 0 {
		c.pause(e.Attempt)
	}
	switch e.Kind {
	case protocol.WriteMetadata:
		return reply{metadata: c.write(id, e)}
	case protocol.ReadMetadata:
		return reply{metadata: c.read(id)}
	default:
		return reply{replacements: c.replacements(id, e), chosen: true}
	}
}

// pause waits before another attempt, the longer the more there were.
func (c *Client) pause(attempt int) {
	pause := c.config.RetryPauseMin
	for range attempt - 1 {
		if pause *= 2; pause >= c.config.RetryPauseMax {
			pause = c.config.RetryPauseMax
			break
		}
	}
	c.waits.Sleep(pause)
}

func (c *Client) write(id ledger.ID, e *ask) protocol.MetadataAnswer {
	version, err := c.ledgers.Write(id, *e.Metadata, e.Version, c.scope())
	if err != nil {
		c.h.Log(host.Note, "metadata were not written", host.F("ledger", int64(id)), host.F("error", err))
	}
	switch {
	case err == nil:
		return protocol.MetadataAnswer{Outcome: protocol.MetadataApplied, Version: version}
	case errors.Is(err, metadata.ErrOutcomeUnknown): // first: nothing else that it wraps says what became of the write
		c.mark(PointCASUnknown, id, 0, "")
		return protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown}
	case errors.Is(err, metadata.ErrVersion):
		c.mark(PointCASConflict, id, 0, "")
		return protocol.MetadataAnswer{Outcome: protocol.MetadataConflict}
	case errors.Is(err, metadata.ErrNotExist):
		return protocol.MetadataAnswer{Outcome: protocol.MetadataMissing}
	}
	return protocol.MetadataAnswer{Outcome: protocol.MetadataUnavailable}
}

func (c *Client) read(id ledger.ID) protocol.MetadataAnswer {
	stored, err := c.ledgers.ReadLatest(id, c.scope())
	switch {
	case err == nil:
		return protocol.MetadataAnswer{Outcome: protocol.MetadataFound, Metadata: &stored.Metadata, Version: stored.Version}
	case errors.Is(err, metadata.ErrNotExist):
		return protocol.MetadataAnswer{Outcome: protocol.MetadataMissing}
	}
	c.h.Log(host.Note, "metadata were not read", host.F("ledger", int64(id)), host.F("error", err))
	return protocol.MetadataAnswer{Outcome: protocol.MetadataUnavailable}
}

// replacements chooses bookies for as many of the asked indexes as there are bookies.
func (c *Client) replacements(id ledger.ID, e *ask) []protocol.Replacement {
	for want := e.Set.Len(); want > 0; want-- {
		chosen, err := c.choose(want, e.Exclude)
		if errors.Is(err, metadata.ErrNotEnoughBookies) {
			continue
		}
		if err != nil {
			c.h.Log(host.Note, "no bookies were found to replace others", host.F("ledger", int64(id)), host.F("error", err))
			return nil
		}
		var replacements []protocol.Replacement
		for index := 0; len(replacements) < len(chosen); index++ {
			if e.Set.Has(index) {
				replacements = append(replacements, protocol.Replacement{Index: index, Bookie: chosen[len(replacements)]})
			}
		}
		return replacements
	}
	return nil
}

// choose picks bookies at random, at first from those that this client has no trouble with: a dead bookie stays listed
// until its session has expired.
func (c *Client) choose(n int, exclude []ledger.BookieID) ([]ledger.BookieID, error) {
	writable, err := c.writable(c.scope())
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case err == nil:
		c.writableSeen = writable
	case len(c.writableSeen) > 0:
		writable = c.writableSeen // better an old list than to give a ledger up while the store is away
	default:
		return nil, err
	}
	sound := metadata.Placement{}
	for _, b := range writable {
		if !c.pool.Avoided(b) {
			sound.Writable = append(sound.Writable, b)
		}
	}
	if chosen, err := sound.Choose(n, exclude, c.random); err == nil {
		return chosen, nil
	}
	return metadata.Placement{Writable: writable}.Choose(n, exclude, c.random)
}

// writable lists the bookies that take writes. Not an old list: bookies that came since are wanted most when others have
// just gone.
func (c *Client) writable(scope *host.Scope) ([]ledger.BookieID, error) {
	layout := c.ledgers.Layout()
	var names, readOnly []string
	err := metadata.Latest(c.store, scope, func() (err error) {
		if names, err = c.store.List(layout.WritableRoot(), scope); err != nil {
			return err
		}
		readOnly, err = c.store.List(layout.ReadOnlyRoot(), scope)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list bookies: %w", err)
	}
	bookies := make([]ledger.BookieID, 0, len(names))
	for _, name := range names {
		// "readonly" is a name among them. A bookie that moves between the modes is in both lists for a while.
		if b := ledger.BookieID(name); b.Validate() == nil && !slices.Contains(readOnly, name) {
			bookies = append(bookies, b)
		}
	}
	return bookies, nil
}

// readMetadata reads the latest metadata of a ledger.
func (c *Client) readMetadata(id ledger.ID, doing string) (versioned, error) {
	stored, err := c.ledgers.ReadLatest(id, c.scope())
	if err != nil {
		return versioned{}, c.storeError(doing, id, err)
	}
	return versioned{Metadata: stored.Metadata, version: stored.Version}, nil
}

// milliseconds is a wall-clock time as metadata have it.
func milliseconds(w host.Wall) int64 { return int64(w) / int64(time.Millisecond) }
