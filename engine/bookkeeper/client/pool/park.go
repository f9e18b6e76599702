package pool

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// parked is a request that waits for its bookie.
type parked struct {
	request *channel.Request
	loan    channel.Loan  // of a lent body
	body    []byte        // of an add that lends none: the pool's copy
	offered time.Duration // when it came
	timeout time.Duration // of the request
}

// park has a request wait, and starts the task that will end its waiting. During backoff it refuses.
func (p *Pool) park(bookie ledger.BookieID, r *channel.Request) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return ErrClosed
	}
	one, err := p.peer(bookie)
	if err != nil {
		return err
	}
	now := p.h.Elapsed()
	if !one.feeding && one.channel == nil && now < one.notBefore {
		p.mark(PointRefused, one, r)
		return fmt.Errorf("not dialled again for %s: %w: %w", one.notBefore-now, ErrUnavailable, one.failure)
	}
	if err := p.enter(one, r, now); err != nil {
		return err
	}
	p.mark(PointParked, one, r)
	if !one.feeding {
		one.feeding = true
		p.tasks.Go("feed", newFeeder(p, one).run)
	}
	return nil
}

// enter puts a request into the line it belongs to. All that is lent is taken, and all that has no body: whoever sends it holds it
// anyway and has a bound of its own, and a refusal would be taken for a failure of the bookie. A read of twelve entries
// found no replica once, since the lines to all of them held two. Bodies that are copied are the pool's to bound.
func (p *Pool) enter(one *peer, r *channel.Request, now time.Duration) error {
	waits := parked{request: r, offered: now, timeout: r.Timeout}
	if waits.timeout <= 0 {
		waits.timeout = p.config.Channel.Timeout
	}
	if r.Lender != nil {
		line := &one.others
		if r.Operation == wire.Add {
			line = &one.adds
		}
		if line.count() >= p.config.ParkedMax {
			p.mark(PointLent, one, r)
		}
		waits.loan = r.Lender.Lend(r)
		line.push(waits)
		return nil
	}
	if len(r.Body) > 0 && (one.waiting >= p.config.ParkedMax || one.parkedBytes >= p.config.ParkedBytesMax) {
		p.mark(PointFull, one, r)
		return fmt.Errorf("%d requests of %d bytes: %w", one.waiting, one.parkedBytes, ErrFull)
	}
	if len(r.Body) > 0 { // the caller's buffers are free again when Offer returns
		waits.body = p.h.Memory().Get(len(r.Body))
		copy(waits.body, r.Body)
	}
	one.others.push(waits)
	one.waiting++
	one.parkedBytes += int64(len(waits.body))
	return nil
}

func (p *Pool) mark(point host.Point, one *peer, r *channel.Request) {
	p.h.Probe().Mark(host.Event{Name: point, A: int64(r.Ledger), B: int64(r.Entry), Extra: string(one.bookie)})
}
