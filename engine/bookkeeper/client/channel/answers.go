package channel

import (
	"fmt"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// answersAtOnce is how many answers are matched under one lock, and handed back together. More would keep those who submit
// waiting, and whoever takes the answers idle.
const answersAtOnce = 128

// answers is what the reading task does with the answers that came with one read.
type answers struct {
	channel *Channel
	matched []matched
	batch   []*Request // completed, for the collector that all of them share
}

// matched is an answer and the request it belongs to.
type matched struct {
	request  *Request
	response wire.Response // its body lies in the channel's input
}

// handle gives out every answer that has come whole. What came before an error is still given out.
func (a *answers) handle(in *wire.Input) error {
	for {
		more, err := a.match(in)
		if broken := a.settle(); err == nil {
			err = broken
		}
		if err != nil || !more {
			return err
		}
	}
}

// match finds the requests of the next answers. No more: it has seen all that has come whole.
func (a *answers) match(in *wire.Input) (more bool, err error) {
	c := a.channel
	a.matched = a.matched[:0]
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for len(a.matched) < answersAtOnce {
		packet, err := in.Next()
		if err != nil {
			return false, fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		if packet == nil {
			return false, nil
		}
		if err := a.matchOne(packet); err != nil {
			return false, err
		}
	}
	return true, nil
}

// matchOne finds the request of one answer. The mutex must be held.
func (a *answers) matchOne(packet []byte) error {
	c := a.channel
	if len(a.matched) == cap(a.matched) {
		a.matched = append(a.matched, matched{})
	} else {
		a.matched = a.matched[:len(a.matched)+1]
	}
	m := &a.matched[len(a.matched)-1]
	m.request = nil
	response := &m.response
	if err := response.Decode(packet); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	r, known := c.match(keyOf(response.Operation, response.Ledger, response.Entry, response.RequestID))
	if known {
		m.request = r
		return nil
	}
	if c.broken != nil {
		return host.ErrClosed // everything was abandoned
	}
	c.h.Probe().Mark(host.Event{Name: PointProtocol, Extra: c.conn.Peer()})
	return fmt.Errorf("answer to %s entry %d of ledger %d, which was not asked: %w",
		response.Operation, response.Entry, response.Ledger, ErrProtocol)
}

// settle completes the requests that were matched, in order. An answer that cannot be understood does not keep those behind
// it from theirs: they are matched, so nobody else would complete them.
func (a *answers) settle() (broken error) {
	for i := range a.matched {
		m := &a.matched[i]
		r := m.request
		if r == nil {
			continue // it timed out before
		}
		if err := a.channel.settle(r, &m.response); err != nil && broken == nil {
			broken = err
		}
		if len(a.batch) > 0 && a.batch[0].Together != r.Together {
			a.deliver()
		}
		if r.Together == nil {
			r.Done.Completed(r)
			continue
		}
		a.batch = append(a.batch, r)
	}
	a.deliver()
	return broken
}

// deliver hands back what was collected.
func (a *answers) deliver() {
	if len(a.batch) == 0 {
		return
	}
	together := a.batch[0].Together
	together.Collected(a.batch)
	clear(a.batch)
	a.batch = a.batch[:0]
}
