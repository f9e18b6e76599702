package replicated

import (
	"errors"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/model"
)

// Copy is one entry that a bookie is asked for.
type Copy struct {
	Ledger ledger.ID
	Entry  ledger.EntryID
	Digest ledger.DigestType
}

// holdersPatience bounds one dial and one answer of a bookie that is asked what it holds.
const holdersPatience = 500 * time.Millisecond

// Holders asks one bookie, past all clients, for its copies of entries, and records what it says. A bookie that cannot be
// asked says nothing about any of them.
func (s *Session) Holders(bookie ledger.BookieID, wanted []Copy, config channel.Config) {
	c, err := channel.Dial(s.h, s.group, string(bookie), host.Within(s.h, s.group, holdersPatience), config)
	if err == nil {
		defer c.Close()
	}
	for _, w := range wanted {
		held := model.Holding{
			Ledger: model.LedgerID(w.Ledger), Entry: model.EntryID(w.Entry), Node: model.Node(bookie), Outcome: model.Error,
		}
		if err == nil && c.Err() == nil {
			held.Outcome, held.Digest = askFor(c, w)
		}
		s.lab.Recorder.Holding(held)
	}
}

// askFor reads one copy. Bytes that are not the entry are no copy, and the bookie is the one to say so: it is taken as if
// it denied the entry.
func askFor(c *channel.Channel, w Copy) (model.Outcome, model.Digest) {
	answer, err := c.ReadEntry(w.Ledger, w.Entry, holdersPatience)
	switch {
	case errors.Is(err, channel.ErrNoEntry), errors.Is(err, channel.ErrNoLedger):
		return model.NoEntry, 0
	case err != nil:
		return model.Error, 0
	}
	defer answer.Release()
	d, err := ledger.NewDigester(w.Digest, password())
	if err != nil {
		return model.Error, 0
	}
	payload, err := d.Verify(answer.Entries[0], w.Ledger, w.Entry)
	if err != nil {
		return model.NoEntry, 0
	}
	return model.Found, digest(payload)
}
