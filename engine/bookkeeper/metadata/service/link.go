package service

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// link is the connection that a client has. All but conn is guarded by the client's mutex.
type link struct {
	conn       host.Conn
	sent       []*call // without an answer, in order
	sequence   int64
	quiet      time.Duration   // since then nothing was sent
	registered map[string]bool // keys that the server was told to watch
	unsettled  []string        // keys whose watch is to be made or ended there, each once
	waits      map[string]bool // the same, as a set
	refused    []string        // keys that the server had no room to watch
	askAgain   time.Duration   // then they are asked for again
}

// connect is the task that keeps the client connected. It dials, reads until the connection breaks, and waits.
func (c *Client) connect() {
	wait, refusals := c.config.ReconnectMin, 0
	for turn := 0; !c.tasks.Stopping(); turn++ {
		address := c.config.Addresses[turn%len(c.config.Addresses)]
		begun := c.h.Elapsed()
		err := c.converse(address)
		if refusals++; !errors.Is(err, host.ErrRefused) {
			refusals = 0
		}
		c.failed(address, err, refusals)
		if errors.Is(err, ErrProtocol) || errors.Is(err, ErrMalformed) || errors.Is(err, wire.ErrMalformed) {
			c.h.Probe().Mark(host.Event{Name: PointProtocol, Extra: address})
			c.h.Log(host.Error, "metadata server breaks the protocol", host.F("server", address), host.F("error", err))
		}
		c.h.Log(host.Debug, "metadata connection ends", host.F("server", address), host.F("error", err))
		if c.h.Elapsed()-begun > c.config.ReconnectMax {
			wait = c.config.ReconnectMin // it was a good one
		}
		// The random part keeps clients that were cut together from coming back together.
		c.tasks.Sleep(wait/2 + time.Duration(c.jitter.Int64N(int64(wait/2)+1)))
		wait = min(2*wait, c.config.ReconnectMax)
	}
}

// converse makes one connection and serves it until it breaks. Its writer ends before it returns.
func (c *Client) converse(address string) error {
	conn, err := c.h.Net().Dial(address, host.Within(c.h, c.tasks, c.config.ConnectTimeout))
	if err != nil {
		return err
	}
	in := wire.NewInput(c.h.Memory(), c.config.InputBufferBytes, ResponseBytesMax)
	defer in.Release()
	if err := c.introduce(conn); err != nil {
		return err
	}
	if err = c.greet(conn, in); err == nil {
		writer := c.tasks.New("writer")
		writer.Go("write", c.write)
		err = c.read(conn, in)
		c.mutex.Lock()
		c.lose(err)
		c.mutex.Unlock()
		writer.Stop()
		writer.Wait()
		return err
	}
	c.mutex.Lock()
	c.link = nil
	c.mutex.Unlock()
	_ = conn.Close()
	return err
}

// introduce makes the connection known, so that the end of the client closes it. Nothing is sent on it yet.
func (c *Client) introduce(conn host.Conn) error {
	conn.Limits(c.config.ConnectTimeout, c.config.WriteStall)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		_ = conn.Close()
		return host.ErrClosed
	}
	c.link = &link{conn: conn, sequence: 1, registered: make(map[string]bool), waits: make(map[string]bool)}
	return nil
}

// greet says Hello and takes over the session that the server gives.
func (c *Client) greet(conn host.Conn, in *wire.Input) error {
	c.mutex.Lock()
	hello := Request{Operation: Hello, Sequence: 1, Session: c.session, Timeout: c.config.SessionTimeout, Seen: c.seen}
	c.mutex.Unlock()
	if err := conn.WriteBuffers([][]byte{hello.Append(nil)}); err != nil {
		return err
	}
	r, err := receive(in, c.patient(conn))
	switch {
	case err != nil:
		return err
	case r.Operation != Hello || r.Sequence != 1 || r.Code == OK && (r.Session == 0 || r.Timeout <= 0):
		return fmt.Errorf("hello was answered by %s: %w", r.Operation, ErrProtocol)
	case r.Code != OK:
		return fmt.Errorf("hello: %w", r.Code.Err())
	}
	return c.welcomed(&r)
}

func (c *Client) welcomed(r *Response) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ended {
		return host.ErrClosed
	}
	if r.Session != c.session {
		c.h.Probe().Mark(host.Event{Name: PointNewSession, A: int64(r.Session), B: int64(c.session), Extra: c.link.conn.Peer()})
		c.session, c.seen = r.Session, 0 // what was seen in another session binds nobody
	}
	c.seen = max(c.seen, r.Index)
	c.down = nil
	c.timeout = r.Timeout
	c.link.quiet = c.h.Elapsed()
	c.link.conn.Limits(c.timeout*2/3, c.config.WriteStall)
	for _, key := range host.SortedKeys(c.watches) {
		c.unsettle(key)
	}
	c.h.Probe().Mark(host.Event{Name: PointConnected, A: int64(c.session), Extra: c.link.conn.Peer()})
	return nil
}

// patient is a connection that is read from for the connect timeout, and not for that time once a byte.
func (c *Client) patient(conn host.Conn) wire.Source {
	return &patient{Conn: conn, h: c.h, deadline: c.h.Elapsed() + c.config.ConnectTimeout, stall: c.config.WriteStall}
}

type patient struct {
	host.Conn
	h        host.Host
	deadline time.Duration
	stall    time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	left := p.deadline - p.h.Elapsed()
	if left <= 0 {
		return 0, fmt.Errorf("no welcome from %s: %w", p.Peer(), host.ErrTimeout)
	}
	p.Limits(left, p.stall)
	return p.Conn.Read(b)
}

// receive reads one response.
func receive(in *wire.Input, conn wire.Source) (Response, error) {
	for {
		packet, err := in.Next()
		if err != nil {
			return Response{}, err
		}
		if packet != nil {
			return DecodeResponse(packet)
		}
		if err := in.Fill(conn); err != nil {
			return Response{}, err
		}
	}
}

// read gives calls their answers and tells watches, until the connection breaks.
func (c *Client) read(conn host.Conn, in *wire.Input) error {
	for {
		r, err := receive(in, conn)
		if err == nil {
			err = c.take(&r)
		}
		if err != nil {
			return err
		}
	}
}

// take is one response. Answers come in the order of the requests.
func (c *Client) take(r *Response) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.link == nil {
		return host.ErrClosed
	}
	if r.Operation == Notice {
		c.seen = max(c.seen, r.Index)
		c.told(r.Key)
		return nil
	}
	if len(c.link.sent) == 0 {
		return fmt.Errorf("%s was not asked: %w", r.Operation, ErrProtocol)
	}
	k := c.link.sent[0]
	if k.request.Operation != r.Operation || k.request.Sequence != r.Sequence || r.Index < k.floor {
		return fmt.Errorf("%s %d from state %d was answered by %s %d from state %d: %w", k.request.Operation,
			k.request.Sequence, k.floor, r.Operation, r.Sequence, r.Index, ErrProtocol)
	}
	c.link.sent[0] = nil
	c.link.sent = c.link.sent[1:]
	c.work.Signal() // there is room on the wire
	c.seen = max(c.seen, r.Index)
	return c.settle(k, r)
}

// settle gives a call its answer. A read that met the end of the session is asked again in the next one.
func (c *Client) settle(k *call, r *Response) error {
	err := r.Code.Err()
	expired := r.Code == SessionExpired
	switch {
	case k.background:
		if k.request.Operation == Watch && !expired {
			c.told(k.request.Key) // what changed before the server watched was told by nobody
		}
		if err != nil && !expired {
			c.refused(&k.request, err)
		}
	case k.abandoned:
	case expired && !k.request.Operation.Writes() && k.request.Operation != Bye:
		c.line = append([]*call{k}, c.line...)
	case err != nil:
		k.finish(Response{}, fmt.Errorf("%s: %w", about(&k.request), err))
	default:
		k.finish(*r, nil)
	}
	if expired {
		return err
	}
	return nil
}

// refused takes note that the server does not watch a key. Nobody could be told of that, so the key is asked for again, and
// whoever watches it is told to look each time.
func (c *Client) refused(r *Request, err error) {
	l := c.link
	if l.askAgain == 0 {
		c.h.Log(host.Error, "metadata server refuses", host.F("request", about(r)), host.F("error", err))
	}
	if r.Operation != Watch {
		return
	}
	delete(l.registered, r.Key)
	if len(l.refused) == 0 {
		l.askAgain = c.h.Elapsed() + c.timeout
	}
	l.refused = append(l.refused, r.Key)
}

// write is the task that sends what stands in the line, and pings when nothing does.
func (c *Client) write() {
	var buffer []byte
	gather := make([][]byte, 1)
	for {
		var conn host.Conn
		if buffer, conn = c.takeLine(buffer[:0]); conn == nil {
			return
		}
		gather[0] = buffer
		if err := conn.WriteBuffers(gather); err != nil {
			_ = conn.Close() // the reader finds out and takes it from there
			return
		}
		if cap(buffer) > outputBytesKept {
			buffer = nil
		}
	}
}

// takeLine waits for something to send and appends it to b. Without a connection there is nothing more to send.
func (c *Client) takeLine(b []byte) ([]byte, host.Conn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	l := c.link
	for l != nil && c.link == l {
		now := c.h.Elapsed()
		if now >= l.quiet+c.timeout/3 && len(l.sent) == 0 {
			b = c.send(l, &call{request: Request{Operation: Ping}, background: true}, b)
		}
		if len(l.refused) > 0 && now >= l.askAgain {
			keys := l.refused
			l.refused = nil
			for _, key := range keys {
				c.unsettle(key)
			}
		}
		if b = c.appendLine(l, b); len(b) > 0 {
			l.quiet = now
			return b, l.conn
		}
		if left := l.next(c.timeout) - now; left > 0 {
			c.work.WaitFor(left)
		} else if !c.work.Wait() { // answers are owed: the connection's limit judges the server's silence
			return nil, nil
		}
		if c.tasks.Stopping() {
			return nil, nil
		}
	}
	return nil, nil
}

// next is when the writer has something to do although nobody asks: a ping, or a watch that was refused.
func (l *link) next(timeout time.Duration) time.Duration {
	ping := l.quiet + timeout/3
	if len(l.refused) > 0 {
		return min(ping, l.askAgain)
	}
	return ping
}

// appendLine sends the upkeep of watches and then calls, as far as bounds allow. The mutex must be held.
func (c *Client) appendLine(l *link, b []byte) []byte {
	for len(l.unsettled) > 0 && c.roomFor(l, b) {
		key := l.unsettled[0]
		l.unsettled = l.unsettled[1:]
		delete(l.waits, key)
		_, wanted := c.watches[key]
		if wanted == l.registered[key] {
			continue
		}
		op := Watch
		if !wanted {
			op = Unwatch
			delete(l.registered, key)
		} else {
			l.registered[key] = true
		}
		b = c.send(l, &call{request: Request{Operation: op, Key: key}, background: true}, b)
	}
	done := 0
	for done < len(c.line) && c.roomFor(l, b) {
		b = c.send(l, c.line[done], b)
		done++
	}
	c.line = slices.Delete(c.line, 0, done)
	return b
}

func (c *Client) roomFor(l *link, b []byte) bool {
	return len(l.sent) < c.config.RequestsMax && len(b) < c.config.OutputBytesMax
}

// send encodes a call and owes it an answer. The mutex must be held.
func (c *Client) send(l *link, k *call, b []byte) []byte {
	l.sequence++
	k.request.Sequence = l.sequence
	k.sent = true
	k.floor = c.seen
	l.sent = append(l.sent, k)
	return k.request.Append(b)
}
