package explore

import (
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
)

type stepKind uint8

const (
	deliver     stepKind = iota + 1 // message at
	giveUp                          // on message at
	deliverCall                     // of client at: the write reaches the store, its answer the client, or the read both
	loseAnswer                      // of client at
	staleRead                       // of client at, version arg
	lateWrite                       // of client at, orphan arg
	startClient                     // a recovery; version arg
	closeWriter                     //
	restart                         // of bookie at
)

// step is one thing that may happen. What its numbers mean depends on the state before.
type step struct {
	kind    stepKind
	at, arg int16
}

// steps lists what may happen, always in the same order.
func (c *Config) steps(s *state, list []step) []step {
	list = list[:0]
	for i, m := range s.messages {
		list = append(list, step{deliver, int16(i), 0})
		if !m.orphan && int(s.spent.timeouts) < c.Timeouts {
			list = append(list, step{giveUp, int16(i), 0})
		}
	}
	for i := range s.calls {
		list = c.callSteps(s, i, list)
	}
	for i := 1; i <= c.Recoveries; i++ {
		if !s.clients[i].started {
			list = append(list, step{startClient, int16(i), 0})
		}
	}
	if w := &s.clients[0]; c.Close && !w.closeAsked && !w.ended {
		list = append(list, step{closeWriter, 0, 0})
	}
	if int(s.spent.restarts) < c.Restarts {
		for i := range c.Bookies {
			if !s.bookies[i].limbo {
				list = append(list, step{restart, int16(i), 0})
			}
		}
	}
	return list
}

func (c *Config) callSteps(s *state, i int, list []step) []step {
	k := &s.calls[i]
	if k.step != noCall {
		list = append(list, step{deliverCall, int16(i), 0})
	}
	if (k.step == writeRequest || k.step == writeAnswer) && int(s.spent.lost) < c.LostAnswers {
		list = append(list, step{loseAnswer, int16(i), 0})
	}
	if k.step == readMetadata && int(s.spent.stale) < c.StaleReads {
		for v := range len(s.store) - 1 {
			list = append(list, step{staleRead, int16(i), int16(v)})
		}
	}
	for w := range k.orphans {
		list = append(list, step{lateWrite, int16(i), int16(w)})
	}
	return list
}

// take makes the state after a step.
func (c *Config) take(s *state, p step) *state {
	w := &world{config: c, state: s.clone()}
	w.carryOut(p)
	w.state.sweep()
	return w.state
}

// world carries out one step.
type world struct {
	config *Config
	state  *state // after the step
	tell   bool
	told   []string // what happened in words, with tell
}

func (w *world) say(format string, args ...any) {
	if w.tell {
		w.told = append(w.told, fmt.Sprintf(format, args...))
	}
}

func (w *world) carryOut(p step) {
	n, at := w.state, int(p.at)
	switch p.kind {
	case deliver:
		m := n.messages[at]
		n.messages = slices.Delete(n.messages, at, at+1)
		if m.kind.answer() {
			w.answer(m)
		} else {
			w.request(m)
		}
	case giveUp:
		w.giveUp(at)
	case deliverCall:
		w.call(at)
	case loseAnswer:
		w.loseAnswer(at)
	case staleRead:
		w.staleRead(at, metadata.Version(p.arg))
	case lateWrite:
		w.lateWrite(at, int(p.arg))
	case startClient:
		w.startRecovery(at)
	case closeWriter:
		w.say("%s is asked to close", name(0))
		n.clients[0].closeAsked = true
		w.feed(0, func(k *client) { k.writer.Close() })
	case restart:
		n.spent.restarts++
		n.bookies[at].limbo = true
		w.say("bookie b%d restarts: it keeps entries and fences, and cannot prove what it lacks", at)
	}
}

// request lets a bookie carry out a request.
func (w *world) request(m message) {
	b := &w.state.bookies[m.bookie]
	reply := message{client: m.client, bookie: m.bookie, index: m.index, entry: m.entry, orphan: m.orphan}
	switch m.kind {
	case addRequest:
		reply.kind = addAnswer
		switch {
		case b.fenced && !m.recovery:
			reply.add = protocol.AddFenced
		case b.limbo && !m.recovery:
			reply.add = protocol.AddFailed
		default:
			reply.add = protocol.AddStored
			b.copies[m.entry] = copied{true, m.lac, m.length}
		}
		w.say("b%d gets %s's %s of entry %d (LAC %d): %v", m.bookie, name(int(m.client)), addName(m), m.entry, m.lac, reply.add)
	case lacRequest:
		b.fenced = true
		reply.kind = lacAnswer
		reply.lac, reply.read = -1, protocol.ReadAbsent
		if last := b.last(); b.limbo {
			reply.read = protocol.ReadUnknown
		} else if last >= 0 {
			reply.read, reply.lac = protocol.ReadFound, b.copies[last].lac
		}
		w.say("b%d gets %s's last-entry read, is fenced, answers %v, LAC %d", m.bookie, name(int(m.client)), reply.read, reply.lac)
	case readRequest:
		reply.kind, reply.read = readAnswer, protocol.ReadAbsent
		b.fenced = b.fenced || !m.plain
		if k := b.copies[m.entry]; k.held {
			reply.read, reply.length = protocol.ReadFound, k.length
		} else if b.limbo {
			reply.read = protocol.ReadUnknown
		}
		w.say("b%d gets %s's read of entry %d%s: %v", m.bookie, name(int(m.client)), m.entry, fences(m), reply.read)
	}
	if !m.orphan {
		w.state.send(reply)
	}
}

func addName(m message) string {
	if m.recovery {
		return "recovery add"
	}
	return "add"
}

func fences(m message) string {
	if m.plain {
		return ", which does not fence"
	}
	return ", is fenced"
}

// answer lets a client have an answer.
func (w *world) answer(m message) {
	id := bookieID(int(m.bookie))
	switch m.kind {
	case addAnswer:
		w.say("%s hears of entry %d from b%d: %v", name(int(m.client)), m.entry, m.bookie, m.add)
	case lacAnswer:
		w.say("%s hears of the last entry from b%d: %v, LAC %d", name(int(m.client)), m.bookie, m.read, m.lac)
	default:
		w.say("%s hears of its read of entry %d from b%d: %v", name(int(m.client)), m.entry, m.bookie, m.read)
	}
	w.feed(int(m.client), func(k *client) { k.hear(m, id) })
}

func (k *client) hear(m message, id ledger.BookieID) {
	entry, index := ledger.EntryID(m.entry), int(m.index)
	switch m.kind {
	case addAnswer:
		if k.writer != nil {
			k.writer.AddAnswered(entry, index, id, m.add)
		} else {
			k.recovery.AddAnswered(entry, index, id, m.add)
		}
	case lacAnswer:
		k.recovery.LACAnswered(index, id, protocol.LACAnswer{Outcome: m.read, LAC: ledger.EntryID(m.lac)})
	default:
		k.recovery.ReadAnswered(entry, index, id, protocol.ReadAnswer{Outcome: m.read, Length: int64(m.length), Size: 1})
	}
}

// giveUp tells a client that there was no answer in time. The request may still be on its way.
func (w *world) giveUp(at int) {
	n := w.state
	m := n.messages[at]
	n.messages = slices.Delete(n.messages, at, at+1)
	n.spent.timeouts++
	if !m.kind.answer() {
		late := m
		late.orphan = true
		n.send(late)
	}
	w.say("%s gives up on b%d: entry %d", name(int(m.client)), m.bookie, m.entry)
	m.add, m.read = protocol.AddFailed, protocol.ReadFailed
	if !m.kind.answer() {
		m.kind += addAnswer - addRequest
	}
	w.feed(int(m.client), func(k *client) { k.hear(m, bookieID(int(m.bookie))) })
}
