package pool

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/host"
)

// feedMax is how many lent adds are handed over at a time at most. With them goes one of the others, so that reads do
// not wait for all the adds that came before.
const feedMax = 64

// feeder hands over what waits for one bookie, and ends when nothing does.
type feeder struct {
	pool     *Pool
	one      *peer
	channel  *channel.Channel   // that is fed
	moved    time.Duration      // when the lines last moved, or could move again on a new connection
	head     []parked           // one of the others, if any waits, then adds; still in their lines
	ahead    int                // how many of head are no lent adds
	requests []*channel.Request // of head
	overdue  []parked
}

func newFeeder(p *Pool, one *peer) *feeder { return &feeder{pool: p, one: one} }

func (f *feeder) run() {
	for more := true; more; {
		c, err := f.pool.connect(f.one)
		if err != nil {
			f.refuseAll(err)
			return
		}
		if c != f.channel {
			// What is lent waits for the line alone, and that could not move while the dial lasted.
			f.channel, f.moved = c, f.pool.h.Elapsed()
		}
		more = f.feed(c)
	}
}

// feed hands over what waits until nothing does, or the channel has ended: then there is more to do. Something is offered
// to a channel that has ended as well, and fails: a bookie that hangs up at once must not be dialled without end for the
// same request.
func (f *feeder) feed(c *channel.Channel) (more bool) {
	for {
		until, more := f.look()
		f.expire(c)
		if !more {
			return false
		}
		c.AwaitRoom(until)
		f.offer(c)
		if c.Err() != nil {
			return true
		}
	}
}

// look takes what is overdue out of the lines, and finds out what is to be handed over next, and until when. No more:
// nothing waits, so the feeding ends, and whoever comes next starts another task.
func (f *feeder) look() (until time.Duration, more bool) {
	p, one := f.pool, f.one
	clear(f.head)
	now := p.h.Elapsed()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	f.takeOverdue(&one.others, now)
	f.takeOverdue(&one.adds, now)
	f.head = one.others.peek(f.head[:0], 1)
	f.ahead = len(f.head)
	f.head = one.adds.peek(f.head, feedMax)
	if len(f.head) == 0 {
		one.feeding = false
		return 0, false
	}
	until = f.head[0].deadline(f.moved)
	if len(f.head) > f.ahead {
		until = min(until, f.head[f.ahead].deadline(f.moved))
	}
	return until, true
}

// takeOverdue takes those at the front of a line that have waited for too long. The mutex must be held.
func (f *feeder) takeOverdue(l *line, now time.Duration) {
	count := 0
	for i := l.first; i < len(l.parked) && now >= l.parked[i].deadline(f.moved); i++ {
		count++
	}
	f.overdue = l.peek(f.overdue, count)
	l.leave(count)
}

// expire fails what is overdue.
func (f *feeder) expire(c *channel.Channel) {
	for i := range f.overdue {
		w := &f.overdue[i]
		if w.loan != nil {
			f.pool.mark(PointStalled, f.one, w.request)
		}
		f.settle(w, fmt.Errorf("bookie %s: %w: %w", c.Peer(), ErrUnavailable, host.ErrTimeout))
	}
	clear(f.overdue)
	f.overdue = f.overdue[:0]
}

// offer hands over as much of the head as there is room for. What the channel takes may be its sender's again at once: the
// requests are not touched any more.
func (f *feeder) offer(c *channel.Channel) {
	now := f.pool.h.Elapsed()
	f.requests = f.requests[:0]
	for i := range f.head {
		w := &f.head[i]
		if w.loan == nil {
			w.request.Body = w.body
			w.request.Timeout = max(w.deadline(f.moved)-now, 1) // what is left; zero would be the channel's own
		}
		f.requests = append(f.requests, w.request)
	}
	taken, err := c.OfferAll(f.requests)
	clear(f.requests)
	if taken > 0 {
		f.moved = now
	}
	settled := taken
	if err != nil && !errors.Is(err, channel.ErrFull) {
		settled++ // that one fails, and the next ones are looked at again
	}
	f.left(settled)
	for i := range taken {
		f.release(&f.head[i])
	}
	if settled > taken {
		f.settle(&f.head[taken], fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
}

// left takes the first ones of the head out of their lines.
func (f *feeder) left(count int) {
	f.pool.mutex.Lock()
	defer f.pool.mutex.Unlock()
	ahead := min(count, f.ahead)
	f.one.others.leave(ahead)
	f.one.adds.leave(count - ahead)
}

// refuseAll fails what waits, and ends the feeding.
func (f *feeder) refuseAll(err error) {
	p, one := f.pool, f.one
	p.mutex.Lock()
	waiting := one.others.peek(nil, one.others.count())
	waiting = one.adds.peek(waiting, one.adds.count())
	one.others, one.adds = line{}, line{}
	one.feeding = false
	p.mutex.Unlock()
	for i := range waiting {
		f.settle(&waiting[i], fmt.Errorf("bookie %s: %w", one.bookie, err))
	}
}

// settle completes a request that was handed to no channel.
func (f *feeder) settle(w *parked, err error) {
	f.release(w)
	w.request.Err = err
	w.request.HandBack()
}

// release lets go of the body. One that was copied counts until then.
func (f *feeder) release(w *parked) {
	if w.loan != nil {
		w.loan.Return()
		return
	}
	p, one := f.pool, f.one
	if w.body != nil {
		p.h.Memory().Put(w.body)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one.waiting--
	one.parkedBytes -= int64(len(w.body))
}
