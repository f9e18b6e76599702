package service

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
)

// connection is one client of the server. What follows conn is guarded by the server's mutex.
type connection struct {
	server  *Server
	conn    host.Conn
	watcher memory.Watcher

	work    host.Cond // the writer waits for output
	room    host.Cond // the reader waits until output is taken
	session metadata.SessionID
	output  []byte
	told    []string // keys of which a notice is due, in the order in which they changed
	isTold  map[string]bool
	ended   bool // the reader has ended: write what is there and close
	broken  bool // nothing can be written any more
}

func newConnection(s *Server, conn host.Conn, w memory.Watcher) *connection {
	return &connection{
		server: s, conn: conn, watcher: w, work: s.tasks.NewCond(s.mutex), room: s.tasks.NewCond(s.mutex),
		isTold: make(map[string]bool),
	}
}

// cut ends the connection at once. The mutex must be held.
func (c *connection) cut() {
	c.broken = true
	c.work.Broadcast()
	c.room.Broadcast()
	_ = c.conn.Close()
}

// tell makes a notice due. However often a key changes before the writer comes round, it is one. The mutex must be held.
func (c *connection) tell(key string) {
	if c.isTold[key] {
		return
	}
	c.isTold[key] = true
	c.told = append(c.told, key)
	c.work.Signal()
}

// read is the task that does what the client asks for.
func (c *connection) read() {
	err := c.serve()
	level, message := host.Debug, "metadata connection ends"
	if errors.Is(err, ErrMalformed) || errors.Is(err, wire.ErrMalformed) {
		level, message = host.Warn, "metadata connection broke the protocol" // to leave, fall silent or vanish is everyday life
	}
	c.server.peers.Log(level, message, host.F("peer", c.conn.Peer()), host.F("error", err))
	s := c.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	c.ended = true
	c.work.Signal()
}

func (c *connection) serve() error {
	in := wire.NewInput(c.server.h.Memory(), c.server.config.InputBufferBytes, RequestBytesMax)
	defer in.Release()
	greeting := c.server.h.Elapsed() + c.server.config.HelloTimeout
	for {
		packet, err := in.Next()
		switch {
		case err != nil:
			return err
		case packet == nil:
			if err := c.fill(in, greeting); err != nil {
				return err
			}
			continue
		}
		r, err := DecodeRequest(packet)
		if err != nil {
			return err
		}
		if err := c.handle(&r); err != nil {
			return err
		}
		greeting = 0 // from now on the session's timeout judges
	}
}

// fill reads once, before greeting if that is not zero: a client that sends a byte now and then has no place here.
func (c *connection) fill(in *wire.Input, greeting time.Duration) error {
	if greeting > 0 {
		left := greeting - c.server.h.Elapsed()
		if left <= 0 {
			return fmt.Errorf("no hello within %v: %w", c.server.config.HelloTimeout, host.ErrTimeout)
		}
		c.conn.Limits(left, c.server.config.WriteStall)
	}
	return in.Fill(c.conn)
}

// handle does one request and puts its response into the output. An error ends the connection once that is written.
func (c *connection) handle(r *Request) error {
	s := c.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(c.output) >= s.config.OutputBytesMax && !c.broken && c.room.Wait() {
	}
	if c.broken || s.closed {
		return host.ErrClosed
	}
	welcomed := c.session != 0
	if welcomed == (r.Operation == Hello) {
		return fmt.Errorf("%s out of turn: %w", r.Operation, ErrMalformed)
	}
	var response Response
	if welcomed {
		response = s.do(c, r)
	} else {
		response = s.greet(c, r)
		c.conn.Limits(0, s.config.WriteStall)
	}
	response.Operation, response.Sequence, response.Index = r.Operation, r.Sequence, s.tree.Index()
	c.output = response.Append(c.output)
	c.work.Signal()
	if c.session == 0 || response.Code == SessionExpired || r.Operation == Bye {
		return io.EOF
	}
	return nil
}

// write is the task that sends responses and notices, all that there are at a time.
func (c *connection) write() {
	var buffer []byte
	gather := make([][]byte, 1)
	for {
		var more bool
		if buffer, more = c.takeOutput(buffer); !more {
			break
		}
		gather[0] = buffer
		if c.conn.WriteBuffers(gather) != nil {
			break
		}
	}
	c.server.mutex.Lock()
	c.cut() // wakes the reader, which may wait for room or for the client
	c.server.mutex.Unlock()
	c.server.forget(c)
}

// outputBytesKept is the longest buffer that is kept when it has been written.
const outputBytesKept = 64 << 10

// takeOutput waits for output and takes it, in exchange for an empty buffer.
func (c *connection) takeOutput(buffer []byte) ([]byte, bool) {
	if cap(buffer) > outputBytesKept {
		buffer = nil
	}
	s := c.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(c.output) == 0 && len(c.told) == 0 && !c.ended && !c.broken {
		if !c.work.Wait() {
			return buffer, false
		}
	}
	c.appendNotices()
	if c.broken || len(c.output) == 0 {
		return buffer, false
	}
	taken := c.output
	c.output = buffer[:0]
	c.room.Broadcast()
	return taken, true
}

// appendNotices puts due notices into the output as far as its bound allows; what is left goes with the next write.
func (c *connection) appendNotices() {
	done := 0
	for done < len(c.told) && len(c.output) < c.server.config.OutputBytesMax {
		key := c.told[done]
		notice := Response{Operation: Notice, Index: c.server.tree.Index(), Key: key}
		c.output = notice.Append(c.output)
		delete(c.isTold, key)
		done++
	}
	c.told = slices.Delete(c.told, 0, done)
}
