package channel

import (
	"fmt"
	"math"
	"time"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Points of the channel. A is a ledger and B an entry where one request is meant; Extra is the peer.
const (
	PointInLine     host.Point = "channel.in-line"      // a request waits for the answer to another with the same key
	PointNoRoom     host.Point = "channel.no-room"      // a submitter waits
	PointTimedOut   host.Point = "channel.timed-out"    // a request got no answer in time
	PointLate       host.Point = "channel.late"         // the answer to a request that had timed out has come
	PointBroken     host.Point = "channel.broken"       // A requests were under way
	PointImpatient  host.Point = "channel.impatient"    // an answer was owed for too long
	PointProtocol   host.Point = "channel.protocol"     // an answer to nothing
	PointNextInLine host.Point = "channel.next-in-line" // a request that waited in line goes out
	PointSweepNow   host.Point = "channel.sweep-now"    // Perhaps: calls are looked through before the next deadline
)

const never time.Duration = math.MaxInt64

// Sizes of output buffers: the first, and the longest that is kept when it has been written.
const (
	outputBytesMin  = 4 << 10
	outputBytesKept = 512 << 10
)

// Channel is one connection to a bookie. All methods may be called from any task.
type Channel struct {
	h      host.Host
	config Config
	conn   host.Conn
	tasks  host.Group

	mutex    host.Mutex
	room     host.Cond // submitters wait for requests to be answered and bytes to be written
	work     host.Cond // the writer waits for output
	sweeping host.Cond // the sweeper waits for the next deadline

	lines      lines // the calls on the wire
	calls      int
	first      *call // all calls in the order in which they were taken, those in line included
	last       *call
	free       *call // linked by next
	output     []byte
	waiting    int64         // bytes of requests in line
	submitting int           // tasks that wait for room
	sweepAt    time.Duration // when the sweeper looks again
	sweeps     int
	requestID  int64
	broken     error
	brokenAt   time.Duration
}

// Dial connects to a bookie. The channel's tasks are in a child of g; the owner calls Close.
func Dial(h host.Host, g host.Group, addr string, scope *host.Scope, config Config) (*Channel, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("channel configuration: %w", err)
	}
	conn, err := h.Net().Dial(addr, scope)
	if err != nil {
		return nil, fmt.Errorf("bookie %s: %w", addr, err)
	}
	conn.Limits(0, config.WriteStall) // silence is judged by what is owed, not by the connection
	tasks := g.New("channel")
	m := h.NewMutex("channel")
	c := &Channel{
		h: h, config: config, conn: conn, tasks: tasks,
		mutex: m, room: tasks.NewCond(m), work: tasks.NewCond(m), sweeping: tasks.NewCond(m),
		sweepAt: never,
	}
	tasks.Go("write", c.write)
	tasks.Go("read", c.read)
	tasks.Go("sweep", c.sweep)
	return c, nil
}

// Peer is the bookie's address.
func (c *Channel) Peer() string { return c.conn.Peer() }

// Err is nil while the channel works. Afterwards it says why it ended: ErrBroken, and with it host.ErrClosed,
// host.ErrReset, host.ErrTimeout, io.EOF or ErrProtocol.
func (c *Channel) Err() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.broken
}

// Ended says when the channel ended (host.Host.Elapsed), and why, as Err does.
func (c *Channel) Ended() (at time.Duration, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.brokenAt, c.broken
}

// Outstanding is the number of requests without an answer, those that timed out included.
func (c *Channel) Outstanding() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.calls
}

// Submit takes a request, waiting for room as long as its timeout lasts; then ErrFull and host.ErrTimeout. With an error it
// was not taken: nothing was sent, and Completed is not called.
func (c *Channel) Submit(r *Request) error { return c.take(r, true) }

// Offer is Submit for callers that must not wait; ErrFull if there is no room.
func (c *Channel) Offer(r *Request) error { return c.take(r, false) }

// AwaitRoom waits until a request may be taken, the channel ends, or a time has come (host.Host.Elapsed). Which of them, and
// whether others were faster, tells the next Offer.
func (c *Channel) AwaitRoom(until time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_ = c.awaitRoom(until, true)
}

// OfferAll is Offer of many requests in order, for one lock and one wake-up of the writing task. It returns how many were
// taken; the error is that of the first one that was not, and the rest was not looked at.
func (c *Channel) OfferAll(requests []*Request) (taken int, err error) {
	now := c.h.Elapsed()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, r := range requests {
		if err := c.takeOne(r, now, false); err != nil {
			return i, err
		}
	}
	return len(requests), nil
}

func (c *Channel) take(r *Request, wait bool) error {
	now := c.h.Elapsed()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.takeOne(r, now, wait)
}

// takeOne takes a request that is offered now. The mutex must be held.
func (c *Channel) takeOne(r *Request, now time.Duration, wait bool) error {
	var packet wire.Request
	if err := c.onWire(r, &packet); err != nil {
		return err
	}
	invariant.Check((r.Done != nil || r.Together != nil) && r.memory == nil, "a request has a completion, and its last outcome was released")
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = c.config.Timeout
	}
	if err := c.awaitRoom(now+timeout, wait); err != nil {
		return fmt.Errorf("%s: not sent: %w", c.about(r), err)
	}
	r.Err, r.Entries = nil, r.Entries[:0]
	c.enqueue(r, &packet, now+timeout)
	return nil
}

// awaitRoom waits until a request may be taken. The mutex must be held.
func (c *Channel) awaitRoom(deadline time.Duration, wait bool) error {
	for c.broken == nil && (c.calls >= c.config.RequestsMax || c.pendingBytes() >= c.config.OutputBytesMax) {
		if !wait {
			return ErrFull
		}
		left := deadline - c.h.Elapsed()
		if left <= 0 {
			return fmt.Errorf("%w: %w", ErrFull, host.ErrTimeout)
		}
		c.h.Probe().Mark(host.Event{Name: PointNoRoom, A: int64(c.calls), B: c.pendingBytes(), Extra: c.conn.Peer()})
		c.submitting++
		c.room.WaitFor(left)
		c.submitting--
	}
	return c.broken
}

// pendingBytes is what is encoded and not yet handed to the connection. The mutex must be held.
func (c *Channel) pendingBytes() int64 { return int64(len(c.output)) + c.waiting }

// enqueue makes a call of a request, and sends it unless another with its key is on the wire. The mutex must be held.
func (c *Channel) enqueue(r *Request, packet *wire.Request, deadline time.Duration) {
	if r.Operation == wire.BatchRead {
		c.requestID++
		packet.RequestID = c.requestID
	}
	k := c.newCall(r, deadline)
	k.key = keyOf(packet.Operation, packet.Ledger, packet.Entry, packet.RequestID)
	if ahead := c.lines.find(k.key); ahead != nil {
		c.h.Probe().Mark(host.Event{Name: PointInLine, A: int64(r.Ledger), B: int64(r.Entry), Extra: c.conn.Peer()})
		k.frame = packet.Append(c.h.Memory().Get(packet.FrameBytes())[:0])
		c.waiting += int64(len(k.frame))
		ahead.append(k)
	} else {
		c.lines.put(k)
		c.reserve(packet.FrameBytes())
		if len(c.output) == 0 {
			c.work.Signal() // a writer that is busy looks again by itself
		}
		c.output = packet.Append(c.output)
	}
	if deadline < c.sweepAt {
		c.sweepAt = deadline
		c.sweeping.Signal()
	}
}

// reserve makes room for more output. The mutex must be held.
func (c *Channel) reserve(bytes int) {
	need := len(c.output) + bytes
	if cap(c.output) >= need {
		return
	}
	memory := c.h.Memory()
	grown := memory.Get(max(need, 2*cap(c.output), outputBytesMin))[:len(c.output)]
	copy(grown, c.output)
	if c.output != nil {
		memory.Put(c.output)
	}
	c.output = grown
}

// Close ends the channel and returns when no task is left. Requests under way fail with ErrBroken and host.ErrClosed,
// adds with ErrOutcomeUnknown as well. It may be called again, but not from Completed.
func (c *Channel) Close() {
	c.fail(host.ErrClosed)
	c.tasks.Wait()
	c.tasks.Stop()
}

// fail ends the channel once: it wakes whoever waits, and completes what is under way.
func (c *Channel) fail(cause error) {
	c.mutex.Lock()
	if c.broken != nil {
		c.mutex.Unlock()
		return
	}
	c.broken = fmt.Errorf("%w: bookie %s: %w", ErrBroken, c.conn.Peer(), cause)
	c.brokenAt = c.h.Elapsed()
	requests := c.abandon()
	c.room.Broadcast()
	c.work.Broadcast()
	c.sweeping.Broadcast()
	c.mutex.Unlock()

	_ = c.conn.Close() // its only failure is to be closed already
	c.h.Probe().Mark(host.Event{Name: PointBroken, A: int64(len(requests)), Extra: c.conn.Peer()})
	for _, r := range requests {
		r.Err = c.lost(r, c.broken)
		r.HandBack()
	}
}
