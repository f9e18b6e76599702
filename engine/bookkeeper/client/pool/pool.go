package pool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// The classes of failure of requests that were handed to no channel.
var (
	// ErrUnavailable: there is no connection to the bookie. The cause is wrapped as well.
	ErrUnavailable = errors.New("bookie is not available")
	// ErrFull: too much waits for the bookie already.
	ErrFull = errors.New("too many requests wait for the bookie")
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("connection pool was closed")
)

// Points of the pool. Extra is the bookie.
const (
	PointParked     host.Point = "pool.parked"      // a request waits for a connection, or for room in it. A: ledger, B: entry
	PointLent       host.Point = "pool.lent"        // a request waits behind so many that one of no lender would have been refused. A: ledger, B: entry
	PointStalled    host.Point = "pool.stalled"     // a line did not move for as long as its first add may wait. A: ledger, B: entry
	PointDialFailed host.Point = "pool.dial-failed" // A: how many in a row
	PointReplaced   host.Point = "pool.replaced"    // a broken connection makes room for another
	PointRefused    host.Point = "pool.refused"     // a request is refused during backoff. A: ledger, B: entry
	PointFull       host.Point = "pool.full"        // too much waits. A: ledger, B: entry
	PointSuspected  host.Point = "pool.suspected"   // a bookie was silent, and others are preferred for a while
	PointForgotten  host.Point = "pool.forgotten"   // an idle bookie makes room for another
)

// Pool holds the connections. All methods may be called from any task.
type Pool struct {
	h      host.Host
	config Config
	tasks  host.Group

	mutex  host.Mutex
	random *rand.Rand // guarded by mutex
	peers  map[ledger.BookieID]*peer
	closed bool
}

// peer is what is known of one bookie. All of it is guarded by the pool's mutex.
type peer struct {
	bookie      ledger.BookieID
	channel     *channel.Channel // nil: none yet, or the last one is gone
	connectedAt time.Duration

	feeding     bool  // a task feeds the channel; others must not pass it
	adds        line  // those whose bodies stay with their senders
	others      line  // all else
	waiting     int   // requests that nobody lends
	parkedBytes int64 // of their bodies

	failures  int           // dials that failed in a row, and connections that did not last
	notBefore time.Duration // of the next dial
	failure   error         // of the last dial or connection

	suspectUntil time.Duration // it was silent; see Suspect
}

// New makes a pool whose tasks are in a child of g. It connects to nothing yet. The owner calls Close.
func New(h host.Host, g host.Group, config Config) (*Pool, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuration of the connection pool: %w", err)
	}
	return &Pool{
		h: h, config: config, tasks: g.New("pool"),
		mutex: h.NewMutex("pool"), random: h.Rand("pool"), peers: make(map[ledger.BookieID]*peer),
	}, nil
}

// Offer hands a request to a bookie, and never waits. With an error it was not taken: nothing was sent, and Completed is
// not called. The request's Timeout and Body may be changed by then, or when it completes.
func (p *Pool) Offer(bookie ledger.BookieID, r *channel.Request) error {
	c, err := p.direct(bookie)
	if err != nil {
		return fmt.Errorf("bookie %s: %w", bookie, err)
	}
	if c != nil {
		err := c.Offer(r)
		if !errors.Is(err, channel.ErrFull) && !errors.Is(err, channel.ErrBroken) {
			return err
		}
	}
	return p.parkOr(bookie, r)
}

// OfferAll is Offer of many requests to one bookie, for little more than the price of one. Those that were not taken are
// appended to refused, with the error in Err.
func (p *Pool) OfferAll(bookie ledger.BookieID, requests, refused []*channel.Request) []*channel.Request {
	for len(requests) > 0 {
		c, err := p.direct(bookie)
		taken := 0
		switch {
		case err != nil:
			err = fmt.Errorf("bookie %s: %w", bookie, err)
		case c != nil:
			if taken, err = c.OfferAll(requests); err == nil {
				return refused
			}
		}
		requests = requests[taken:]
		r := requests[0]
		if c == nil && err == nil || errors.Is(err, channel.ErrFull) || errors.Is(err, channel.ErrBroken) {
			err = p.parkOr(bookie, r)
		}
		if err != nil {
			r.Err = err
			refused = append(refused, r)
		}
		requests = requests[1:]
	}
	return refused
}

// parkOr has a request wait for the bookie, or says that it was not sent.
func (p *Pool) parkOr(bookie ledger.BookieID, r *channel.Request) error {
	if err := p.park(bookie, r); err != nil {
		return fmt.Errorf("%s entry %d of ledger %d, not sent to %s: %w", r.Operation, r.Entry, r.Ledger, bookie, err)
	}
	return nil
}

// direct is the channel to use without waiting: nil if there is none, or if others wait for it already.
func (p *Pool) direct(bookie ledger.BookieID) (*channel.Channel, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	one, err := p.peer(bookie)
	if err != nil || one.feeding || one.channel != nil && p.h.Probe().Perhaps(PointParkNow) {
		return nil, err
	}
	return one.channel, nil
}

// peer finds or makes the record of a bookie. The mutex must be held.
func (p *Pool) peer(bookie ledger.BookieID) (*peer, error) {
	if one := p.peers[bookie]; one != nil {
		return one, nil
	}
	if len(p.peers) >= p.config.BookiesMax && !p.forget() {
		return nil, fmt.Errorf("%d bookies are in use: %w", len(p.peers), ErrFull)
	}
	one := &peer{bookie: bookie}
	p.peers[bookie] = one
	return one, nil
}

// forget drops one bookie that has no working connection. The mutex must be held.
func (p *Pool) forget() bool {
	for _, bookie := range host.SortedKeys(p.peers) {
		one := p.peers[bookie]
		if one.feeding || one.channel != nil && one.channel.Err() == nil {
			continue
		}
		delete(p.peers, bookie)
		if c := one.channel; c != nil {
			p.tasks.Go("retire", c.Close) // it may wait a moment for the channel's tasks
		}
		p.h.Probe().Mark(host.Event{Name: PointForgotten, Extra: string(bookie)})
		return true
	}
	return false
}

// Close ends all connections and completes what is under way, and returns when no task is left. It must not be called
// from Completed.
func (p *Pool) Close() {
	p.mutex.Lock()
	p.closed = true
	var open []*channel.Channel
	for _, bookie := range host.SortedKeys(p.peers) {
		if c := p.peers[bookie].channel; c != nil {
			open = append(open, c)
		}
	}
	p.mutex.Unlock()
	p.tasks.Stop() // ends dials
	for _, c := range open {
		c.Close() // ends what waits for room in it
	}
	p.tasks.Wait()
}

// Suspect has a bookie avoided for a while, since it did not answer in time. A connection alone proves little: that of a
// process that hangs stays open.
func (p *Pool) Suspect(bookie ledger.BookieID) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one := p.peers[bookie]
	if one == nil {
		return
	}
	now := p.h.Elapsed()
	if now >= one.suspectUntil {
		p.h.Probe().Mark(host.Event{Name: PointSuspected, Extra: string(bookie)})
	}
	one.suspectUntil = now + p.config.SuspectPause
}

// Avoided reports whether others than this bookie are preferred: it could not be reached lately, or was silent. Requests
// to it are taken all the same, unless it is being left alone.
func (p *Pool) Avoided(bookie ledger.BookieID) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	one := p.peers[bookie]
	if one == nil {
		return false
	}
	if p.h.Probe().Perhaps(PointAvoidNow) {
		return true
	}
	now := p.h.Elapsed()
	redialled := one.feeding && one.channel == nil && one.failures > 0
	return now < one.notBefore || now < one.suspectUntil || redialled
}
