package client

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// Points of the client.
const (
	PointRechecked host.Point = "commitlog-client.rechecked" // a pull whose bytes were wrong, or did not come, is asked for again
	PointRefuted   host.Point = "commitlog-client.refuted"   // bytes that were sent are not the message they should be
	PointLost      host.Point = "commitlog-client.lost"      // a connection broke with A calls under way
)

// Config bounds a client.
type Config struct {
	FrameBytesMax int           // the longest answer; the server's pulls must fit
	CallsMax      int           // under way; others wait
	InputBuffer   int           // bytes read at once
	Timeout       time.Duration // of an answer, besides the time a pull may wait
	DialTimeout   time.Duration
	WriteStall    time.Duration // a server that takes no byte for so long is given up
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		FrameBytesMax: 64 << 20, CallsMax: 64, InputBuffer: 64 << 10, Timeout: 30 * time.Second, DialTimeout: 10 * time.Second,
		WriteStall: 10 * time.Second,
	}
}

// Validate reports a bound that cannot work.
func (c *Config) Validate() error {
	if min(c.FrameBytesMax, c.CallsMax, c.InputBuffer) < 1 || min(c.Timeout, c.DialTimeout, c.WriteStall) <= 0 {
		return fmt.Errorf("commit log client: every bound must be positive: %+v", *c)
	}
	return nil
}

var (
	// ErrClosed says that the client is closed.
	ErrClosed = errors.New("commit log client is closed")

	// errTorn marks a call whose connection broke, or whose answer was late.
	errTorn = errors.New("no answer")
	// errUnsent marks one that was too late for its connection, and may be sent over another.
	errUnsent = errors.New("not sent")
)

// Client is a commit log on another machine.
type Client struct {
	h       host.Host
	config  Config
	address string
	tasks   host.Group

	dialing host.Mutex // held while one task connects

	mutex    host.Mutex
	room     host.Cond // calls wait for others to end
	under    int       // calls under way
	link     *link     // nil: none yet, or it is broken
	sequence wire.Sequence
	closed   bool
}

// New makes a client of the server at an address. It connects with the first call. Its tasks are in a child of g.
func New(h host.Host, g host.Group, address string, config Config) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	tasks := g.New("commitlog-client")
	m := h.NewMutex("commitlog-client")
	return &Client{
		h: h, config: config, address: address, tasks: tasks, mutex: m, room: tasks.NewCond(m), dialing: h.NewMutex("commitlog-dialing"),
	}, nil
}

// Close ends all calls, and returns when no task is left. It may be called again.
func (c *Client) Close() {
	c.mutex.Lock()
	c.closed = true
	l := c.link
	c.room.Broadcast()
	c.mutex.Unlock()
	if l != nil {
		l.fail(ErrClosed)
	}
	c.tasks.Stop() // a dial under way ends with it
	c.tasks.Wait()
}

// call sends a request and returns the body of its answer. An error that wraps errTorn leaves open what became of it; after any
// other it was not sent.
func (c *Client) call(wait time.Duration, request func(sequence wire.Sequence) []byte) (body []byte, err error) {
	sequence, err := c.enter()
	if err != nil {
		return nil, err
	}
	defer c.leave()
	frame := request(sequence)
	for again := true; ; again = false {
		l, err := c.connected()
		if err != nil {
			return nil, err
		}
		body, err = l.call(sequence, frame, c.h.Elapsed()+c.config.Timeout+wait)
		if !again || !errors.Is(err, errUnsent) {
			return body, err
		}
	}
}

func (c *Client) enter() (wire.Sequence, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.under >= c.config.CallsMax && !c.closed && c.room.Wait() {
	}
	if c.closed {
		return 0, ErrClosed
	}
	c.under++
	c.sequence++
	return c.sequence, nil
}

func (c *Client) leave() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.under--
	c.room.Signal()
}

// current is the connection there is.
func (c *Client) current() (*link, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	return c.link, nil
}

// connected returns the connection, and makes one if there is none.
func (c *Client) connected() (*link, error) {
	if l, err := c.current(); l != nil || err != nil {
		return l, err
	}
	c.dialing.Lock()
	defer c.dialing.Unlock()
	if l, err := c.current(); l != nil || err != nil {
		return l, err // another task was first
	}
	conn, err := c.h.Net().Dial(c.address, host.Within(c.h, c.tasks, c.config.DialTimeout))
	if err != nil {
		return nil, fmt.Errorf("reach the commit log at %s: %w", c.address, err)
	}
	conn.Limits(0, c.config.WriteStall)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, ErrClosed
	}
	c.link = newLink(c, conn)
	c.tasks.Go("read", c.link.read)
	return c.link, nil
}

// forget has the next call connect anew.
func (c *Client) forget(l *link) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.link == l {
		c.link = nil
	}
}
