package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// Points of the client. Extra is the server's address where one is meant.
const (
	PointConnected  host.Point = "metadata.connected"   // A is the session
	PointNewSession host.Point = "metadata.new-session" // A is the session, B the one before
	PointLost       host.Point = "metadata.lost"        // A writes were under way, their outcome is unknown
	PointProtocol   host.Point = "metadata.protocol"    // the server breaks the protocol
)

// ErrProtocol says that the server sent what is no response to any request.
var ErrProtocol = errors.New("metadata server breaks the protocol")

// Client is one session with a server. It implements metadata.Store.
type Client struct {
	h      host.Host
	config ClientConfig
	tasks  host.Group
	jitter *rand.Rand // of the connecting task

	mutex   host.Mutex
	work    host.Cond // the writer waits for requests
	session metadata.SessionID
	timeout time.Duration
	seen    memory.Index // newest state that was seen in this session
	line    []*call      // not sent, in order
	link    *link        // nil: not connected
	down    *unreached   // how the last try to connect failed; nil: it did not
	watches map[string]*watched
	closing bool // no further calls are taken
	ended   bool // nothing is served any more
}

var _ metadata.Store = (*Client)(nil)

// Connect starts a client. It does not wait for a server: the calls do. Its tasks are in a child of g; the owner calls
// Close.
func Connect(h host.Host, g host.Group, config ClientConfig) (*Client, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuration of the metadata client: %w", err)
	}
	m := h.NewMutex("metadata-client")
	tasks := g.New("metadata client")
	c := &Client{
		h: h, config: config, tasks: tasks, jitter: h.Rand("metadata.client"), mutex: m, work: tasks.NewCond(m),
		watches: make(map[string]*watched),
	}
	tasks.Go("connect", c.connect)
	return c, nil
}

// Get implements metadata.Store.
func (c *Client) Get(key string, s *host.Scope) (metadata.Value, error) {
	r, err := c.do(Request{Operation: Get, Key: key}, s)
	return metadata.Value{Data: r.Data, Version: r.Version}, err
}

// Sync implements metadata.Store.
func (c *Client) Sync(s *host.Scope) error {
	_, err := c.do(Request{Operation: Sync}, s)
	return err
}

// Create implements metadata.Store.
func (c *Client) Create(key string, data []byte, kind metadata.Kind, s *host.Scope) (metadata.Version, error) {
	if kind != metadata.Persistent && kind != metadata.Ephemeral {
		return 0, fmt.Errorf("create %s: %s: %w", key, kind, metadata.ErrInvalid)
	}
	r, err := c.do(Request{Operation: Create, Key: key, Data: data, Kind: kind}, s)
	return r.Version, err
}

// Put implements metadata.Store.
func (c *Client) Put(key string, data []byte, expected metadata.Version, s *host.Scope) (metadata.Version, error) {
	r, err := c.do(Request{Operation: Put, Key: key, Data: data, Expected: expected}, s)
	return r.Version, err
}

// Delete implements metadata.Store.
func (c *Client) Delete(key string, expected metadata.Version, s *host.Scope) error {
	_, err := c.do(Request{Operation: Delete, Key: key, Expected: expected}, s)
	return err
}

// List implements metadata.Store.
func (c *Client) List(key string, s *host.Scope) ([]string, error) {
	r, err := c.do(Request{Operation: List, Key: key}, s)
	return r.Names, err
}

// Session implements metadata.Store.
func (c *Client) Session() metadata.SessionID {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.session
}

// Close implements metadata.Store. Calls that are under way fail, unless they are answered before the session's end is.
func (c *Client) Close() error {
	c.mutex.Lock()
	first := !c.closing
	c.closing = true
	if first && c.link != nil {
		bye := c.enter(Request{Operation: Bye}, nil)
		deadline := c.h.Elapsed() + c.config.CloseTimeout
		for left := c.config.CloseTimeout; !bye.done && left > 0; left = deadline - c.h.Elapsed() {
			if bye.answered.WaitFor(left) == host.Stopping {
				break
			}
		}
	}
	c.mutex.Unlock()
	c.end()
	return nil
}

// Abandon ends the client as a crash of its process would: the session lives on until it expires.
func (c *Client) Abandon() {
	c.mutex.Lock()
	c.closing = true
	c.mutex.Unlock()
	c.end()
}

// end fails what is left and returns when no task is.
func (c *Client) end() {
	c.mutex.Lock()
	if !c.ended {
		c.ended = true
		c.lose(host.ErrClosed)
		for _, k := range c.line {
			k.finish(Response{}, unsent(&k.request, host.ErrClosed))
		}
		c.line = nil
		for _, key := range host.SortedKeys(c.watches) {
			c.watches[key].wake()
		}
	}
	c.mutex.Unlock()
	c.tasks.Stop()
	c.tasks.Wait()
}

// lose ends the connection, if there is one. Writes that were sent have an unknown outcome; reads go back into the line,
// before all others. The mutex must be held.
func (c *Client) lose(cause error) {
	l := c.link
	if l == nil {
		return
	}
	c.link = nil
	_ = l.conn.Close() // its only failure is to be closed already
	c.work.Broadcast()
	var again []*call
	writes := int64(0)
	for _, k := range l.sent {
		switch {
		case k.request.Operation.Writes():
			k.finish(Response{}, fmt.Errorf("%s: %w: %w", about(&k.request), metadata.ErrOutcomeUnknown, cause))
			writes++
		case k.background || k.abandoned:
		case k.request.Operation == Bye:
			k.finish(Response{}, cause)
		default:
			again = append(again, k)
		}
	}
	c.line = append(again, c.line...)
	c.h.Probe().Mark(host.Event{Name: PointLost, A: writes, Extra: l.conn.Peer()})
}
