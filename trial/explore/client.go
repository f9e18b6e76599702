package explore

import (
	"slices"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

// feed gives a core an input and carries out its effects. The core is cloned before: other states share it.
func (w *world) feed(at int, input func(*client)) {
	k := &w.state.clients[at]
	if k.writer != nil {
		k.writer = k.writer.Clone()
	} else {
		k.recovery = k.recovery.Clone()
	}
	input(k)
	for {
		effects := k.take()
		if len(effects) == 0 {
			break
		}
		for _, e := range effects {
			w.effect(at, e)
		}
	}
	k.encoded = k.appendState(nil)
}

func (k *client) take() []protocol.Effect {
	if k.writer != nil {
		return k.writer.Take()
	}
	return k.recovery.Take()
}

func (k *client) appendState(b []byte) []byte {
	if k.writer != nil {
		return k.writer.AppendState(b)
	}
	return k.recovery.AppendState(b)
}

func (w *world) effect(at int, e protocol.Effect) {
	k := &w.state.clients[at]
	m := message{client: int8(at), index: int8(e.Index), entry: int8(e.First)}
	switch e.Kind {
	case protocol.SendAdd:
		m.kind, m.bookie, m.recovery, m.lac, m.length = addRequest, int8(bookieOf(e.Bookie)), e.Recovery, int8(e.LAC), int8(e.Length)
		w.state.send(m)
	case protocol.SendFencingLACRead:
		m.kind, m.bookie = lacRequest, int8(bookieOf(e.Bookie))
		w.state.send(m)
	case protocol.SendRecoveryRead:
		m.kind, m.bookie, m.plain = readRequest, int8(bookieOf(e.Bookie)), e.Plain
		w.state.send(m)
	case protocol.WriteMetadata:
		c := &w.state.calls[at]
		c.step, c.proposed, c.expected = writeRequest, e.Metadata, e.Version
	case protocol.ReadMetadata:
		c := &w.state.calls[at]
		c.step, c.proposed = readMetadata, nil
	case protocol.AskReplacements:
		w.choose(at, e)
	case protocol.EntriesAcked:
		if k.writer != nil {
			k.acked = int8(e.Last)
			w.say("  → %s acknowledges entry %d", name(at), e.Last)
		}
	case protocol.EnsembleChanged:
		w.say("  → %s adopts the metadata: %s", name(at), describe(e.Metadata))
	case protocol.HandleFailed:
		w.say("  → %s fails: %v", name(at), e.Failure)
	case protocol.Ended:
		k.ended, k.succeeded = true, e.Failure == 0
		k.last, k.length = int8(e.Last), int8(e.Length)
		w.say("  → %s ends: %v, last entry %d", name(at), e.Failure, e.Last)
	}
}

// choose gives each index the lowest bookie that is free.
func (w *world) choose(at int, e protocol.Effect) {
	var chosen []protocol.Replacement
	next := 0
	for index := range w.config.Quorum.Ensemble {
		if !e.Set.Has(index) {
			continue
		}
		for next < w.config.Bookies && slices.Contains(e.Exclude, bookieID(next)) {
			next++
		}
		if next < w.config.Bookies {
			chosen = append(chosen, protocol.Replacement{Index: index, Bookie: bookieID(next)})
			next++
		}
	}
	w.say("  → %s", replaced(name(at), chosen))
	if k := &w.state.clients[at]; k.writer != nil {
		k.writer.ReplacementsChosen(chosen)
	} else {
		k.recovery.ReplacementsChosen(chosen)
	}
}

// call moves a client's metadata call on.
func (w *world) call(at int) {
	n := w.state
	c := &n.calls[at]
	switch c.step {
	case writeRequest:
		c.step, c.applied = writeAnswer, c.expected == n.version()
		if c.applied {
			n.store = append(n.store, c.proposed)
			w.say("the store takes %s's write as version %d: %s", name(at), n.version(), describe(c.proposed))
		} else {
			w.say("the store refuses %s's write: the version is %d and not %d", name(at), n.version(), c.expected)
		}
		c.proposed = nil
		c.expected = 0
		if c.applied {
			c.expected = n.version()
		}
	case writeAnswer:
		answer := protocol.MetadataAnswer{Outcome: protocol.MetadataConflict}
		if c.applied {
			answer = protocol.MetadataAnswer{Outcome: protocol.MetadataApplied, Version: c.expected}
		}
		c.step, c.applied, c.expected = noCall, false, 0
		w.say("%s hears of its write: %v", name(at), answer.Outcome)
		w.metadataAnswer(at, answer)
	case readMetadata:
		c.step = noCall
		w.say("%s reads metadata at version %d: %s", name(at), n.version(), describe(n.current()))
		w.metadataAnswer(at, protocol.MetadataAnswer{Outcome: protocol.MetadataFound, Metadata: n.current(), Version: n.version()})
	}
}

// loseAnswer tells a client that the outcome of its write is unknown. A write that has not reached the store may still.
func (w *world) loseAnswer(at int) {
	c := &w.state.calls[at]
	w.state.spent.lost++
	if c.step == writeRequest {
		c.orphans = append(append([]orphanWrite(nil), c.orphans...), orphanWrite{c.proposed, c.expected})
	}
	c.step, c.applied, c.proposed, c.expected = noCall, false, nil, 0
	w.say("%s hears nothing of its write", name(at))
	w.metadataAnswer(at, protocol.MetadataAnswer{Outcome: protocol.MetadataUnknown})
}

// staleRead lets a client read what was stored once.
func (w *world) staleRead(at int, v metadata.Version) {
	n := w.state
	n.spent.stale++
	n.calls[at].step = noCall
	w.say("%s reads metadata, stale, at version %d: %s", name(at), v, describe(n.store[v]))
	w.metadataAnswer(at, protocol.MetadataAnswer{Outcome: protocol.MetadataFound, Metadata: n.store[v], Version: v})
}

// lateWrite does a write that its client gave up on. Its version is still the store's: others were dropped.
func (w *world) lateWrite(at, orphan int) {
	c := &w.state.calls[at]
	o := c.orphans[orphan]
	c.orphans = slices.Delete(slices.Clone(c.orphans), orphan, orphan+1)
	w.say("the write that %s gave up on reaches the store and is done: %s", name(at), describe(o.proposed))
	w.state.store = append(w.state.store, o.proposed)
}

func (w *world) metadataAnswer(at int, a protocol.MetadataAnswer) {
	w.feed(at, func(k *client) {
		if k.writer != nil {
			k.writer.MetadataAnswered(a)
		} else {
			k.recovery.MetadataAnswered(a)
		}
	})
}

func (w *world) startRecovery(at int) {
	n := w.state
	k := &n.clients[at]
	k.started = true
	k.recovery = protocol.NewRecovery(w.config.Recovery, n.current(), n.version())
	w.say("%s starts from version %d: %s", name(at), n.version(), describe(n.current()))
	w.feed(at, func(k *client) { k.recovery.Start() })
}

// initial is the world with the ledger made and all entries appended.
func (c *Config) initial() (*state, []string) {
	m := &ledger.Metadata{Quorum: c.Quorum, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C}
	var ensemble []ledger.BookieID
	for i := range c.Quorum.Ensemble {
		ensemble = append(ensemble, bookieID(i))
	}
	m.Fragments = []ledger.Fragment{{First: 0, Ensemble: ensemble}}
	s := &state{store: []*ledger.Metadata{m}}
	for i := range s.clients {
		s.clients[i].acked, s.clients[i].last = -1, -1
	}
	k := &s.clients[0]
	w := &world{config: c, state: s, tell: true}
	if c.Held != nil {
		w.say("the ledger: %s; its writer is dead; bookies that have entry 0, 1, …: %s", describe(m), heldText(c.Held))
		k.started, k.ended = true, true
		for e, bookies := range c.Held {
			for _, b := range bookies {
				s.bookies[b].copies[e] = copied{held: true, lac: -1, length: int8(e + 1)}
			}
			if int(k.acked) == e-1 && len(bookies) >= c.Quorum.Ack {
				k.acked = int8(e)
			}
		}
		return s, w.told
	}
	k.started, k.writer = true, protocol.NewWriter(c.Writer, m, metadata.Version(0))
	w.say("the ledger: %s; %s appends %s", describe(m), name(0), numbered(c.Entries, "entry", "entries"))
	w.feed(0, func(k *client) {
		for range c.Entries {
			k.writer.Append(1)
		}
	})
	return s, w.told
}
