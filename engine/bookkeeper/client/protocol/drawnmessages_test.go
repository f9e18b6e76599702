package protocol_test

import (
	"slices"

	"lakebed/engine/bookkeeper/client/protocol"
	"lakebed/engine/bookkeeper/ledger"
)

// move takes one message a step on: a request to its bookie, or an answer to its client. With lose the client gives up on
// it; a request may still arrive.
func (w *drawnWorld) move(lose bool) {
	if len(w.onWay) == 0 {
		return
	}
	at := w.draw("message", len(w.onWay))
	m := w.onWay[at]
	w.onWay = slices.Delete(w.onWay, at, at+1)
	switch {
	case m.nobody && (lose || m.answered):
	case lose:
		late := m
		m.add, m.read = protocol.AddFailed, protocol.ReadFailed
		w.hear(m)
		if late.nobody = true; !late.answered {
			w.onWay = append(w.onWay, late)
		}
	case m.answered:
		w.hear(m)
	default:
		w.deal(&m)
		if m.answered = true; !m.nobody {
			w.onWay = append(w.onWay, m)
		}
	}
}

// deal is what a bookie does with a request.
func (w *drawnWorld) deal(m *sent) {
	b := w.bookie(m.effect.Bookie)
	switch m.effect.Kind {
	case protocol.SendAdd:
		switch {
		case b.fenced && !m.effect.Recovery:
			m.add = protocol.AddFenced
		case b.limbo && !m.effect.Recovery:
			m.add = protocol.AddFailed
		default:
			m.add = protocol.AddStored
			b.held[m.effect.First] = m.effect
		}
	case protocol.SendFencingLACRead:
		b.fenced = true
		m.read = protocol.ReadAbsent
		last := ledger.NoEntry
		for e := range b.held {
			last = max(last, e)
		}
		if b.limbo {
			m.read = protocol.ReadUnknown
		} else if last != ledger.NoEntry {
			m.read, m.body = protocol.ReadFound, b.held[last]
		}
	default:
		b.fenced = b.fenced || !m.effect.Plain
		m.read = protocol.ReadAbsent
		if found, held := b.held[m.effect.First]; held {
			m.read, m.body = protocol.ReadFound, found
		} else if b.limbo {
			m.read = protocol.ReadUnknown
		}
	}
}

// hear gives a client an answer.
func (w *drawnWorld) hear(m sent) {
	k, e := w.clients[m.client], m.effect
	switch {
	case k.ended:
	case e.Kind == protocol.SendAdd && k.writer != nil:
		k.writer.AddAnswered(e.First, e.Index, e.Bookie, m.add)
	case e.Kind == protocol.SendAdd:
		k.recovery.AddAnswered(e.First, e.Index, e.Bookie, m.add)
	case e.Kind == protocol.SendFencingLACRead:
		k.recovery.LACAnswered(e.Index, e.Bookie, protocol.LACAnswer{Outcome: m.read, LAC: m.body.LAC})
	default:
		k.recovery.ReadAnswered(e.First, e.Index, e.Bookie, protocol.ReadAnswer{Outcome: m.read, Length: m.body.Length, Size: 1})
	}
}

// heal lets everything that is on its way arrive and everybody come to an end. Then a recovery closes the ledger.
func (w *drawnWorld) heal() {
	w.healed = true
	w.settle()
	if k := w.clients[0]; !k.ended && !k.stopped {
		if k.writer.Failure() == 0 && k.writer.Pending() > 0 {
			w.t.Fatalf("the writer waits for ever: LAC %d, pushed %d, changing %v", k.writer.LastAddConfirmed(), k.writer.LastPushed(), k.writer.Changing())
		}
		k.writer.Close()
	}
	for w.settle(); w.current().State != ledger.Closed; w.settle() {
		w.recover(w.current())
	}
	for c, k := range w.clients {
		if !k.ended && !k.stopped {
			w.t.Fatalf("client %d waits for ever", c)
		}
	}
	if m := w.current(); m.Length != int64(m.LastEntry)+1 || int(m.LastEntry) >= w.entries {
		w.t.Fatalf("%d entries of one byte each, closed as %s", w.entries, describe(m))
	}
}

// settle carries on until nothing is on its way.
func (w *drawnWorld) settle() {
	for again := true; again; {
		w.carryOutAll()
		w.check()
		again = len(w.onWay) > 0
		w.move(false)
		for c, k := range w.clients {
			again = again || k.call != nil || k.ask != nil
			w.metadataStep(c)
			w.choose(c)
		}
	}
}
