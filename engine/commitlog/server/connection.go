package server

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// connection is one client. Its reader hands requests to its workers, which answer them.
type connection struct {
	server *Server
	conn   host.Conn
	polls  host.Group // its stop ends pulls that wait

	mutex    host.Mutex
	room     host.Cond // the reader waits for a worker to take a request
	produces line
	pulls    line
	workers  int // of both lines
	ended    bool

	writing host.Mutex // held for one answer
	streams streams
}

// line are the requests of one kind that wait for a worker.
type line struct {
	name    string
	most    int // workers
	workers int
	idle    int
	work    host.Cond
	waiting []request
	ahead   int // bytes of requests that may wait for a worker; zero: none is read while all of them have something to do
	bytes   int // of those that wait
}

// full reports whether a request of so many bytes would have to wait, and may not.
func (l *line) full(bytes int) bool {
	return len(l.waiting) > l.idle && l.workers == l.most && l.bytes+bytes > l.ahead
}

// request is one frame that has come whole.
type request struct {
	operation wire.Operation
	sequence  wire.Sequence
	body      []byte
	frame     []byte // which body is a part of; from host.Memory
}

func newConnection(s *Server, conn host.Conn) *connection {
	m := s.h.NewMutex("commitlog-connection")
	return &connection{
		server: s, conn: conn, polls: s.tasks.New("commitlog-polls"), mutex: m, room: s.tasks.NewCond(m),
		writing:  s.h.NewMutex("commitlog-answers"),
		produces: line{name: "produce", most: s.config.ProducesMax, work: s.tasks.NewCond(m)},
		pulls:    line{name: "pull", most: s.config.PullsMax, work: s.tasks.NewCond(m), ahead: s.config.PullsAhead},
		streams:  newStreams(s.h, s.config.StreamsMax),
	}
}

// read takes requests until the stream ends, or the connection does.
func (c *connection) read() {
	in := input{c: c, buffer: c.server.h.Memory().Get(c.server.config.InputBuffer)}
	err := in.run()
	c.server.h.Memory().Put(in.buffer)
	if errors.Is(err, wire.ErrFrame) {
		c.server.h.Probe().Mark(host.Event{Name: PointMalformed, Extra: c.conn.Peer()})
		c.server.peers.Log(host.Warn, "commit log ends a connection: its bytes are no request", host.F("peer", c.conn.Peer()), host.F("error", err))
	} else if err != io.EOF {
		c.server.peers.Log(host.Debug, "a connection to the commit log ends", host.F("peer", c.conn.Peer()), host.F("error", err))
	}
	c.end()
	c.mutex.Lock()
	for c.workers > 0 && c.room.Wait() { // nobody stops the group before they are done
	}
	c.mutex.Unlock()
	_ = c.conn.Close() // the last worker may have
	c.polls.Wait()
	c.server.forget(c)
}

// end lets the workers finish what was accepted, and has nobody wait any more.
func (c *connection) end() {
	c.mutex.Lock()
	c.ended = true
	c.produces.work.Broadcast()
	c.pulls.work.Broadcast()
	c.room.Broadcast()
	idle := c.workers == 0
	c.mutex.Unlock()
	c.polls.Stop()
	if idle {
		_ = c.conn.Close() // wakes the reader
	}
}

// accept hands a request to a worker. It waits while all of them have something to do, and does not take it after the end. Of pulls
// some may wait in memory: while nobody reads, nobody sees the end of the stream, and a client that asks for more than there are
// workers and goes away would keep them all waiting for messages.
func (c *connection) accept(r request) bool {
	l := &c.produces
	if r.operation == wire.OpPull {
		l = &c.pulls
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for l.full(len(r.frame)) && !c.ended && c.room.Wait() {
	}
	if c.ended {
		return false
	}
	l.waiting = append(l.waiting, r)
	l.bytes += len(r.frame)
	if len(l.waiting) > l.idle && l.workers < l.most {
		l.workers++
		c.workers++
		c.server.tasks.Go(l.name, func() { c.serve(l) })
	} else {
		l.work.Signal()
	}
	return true
}

// serve is a worker: it executes one request after the other.
func (c *connection) serve(l *line) {
	c.mutex.Lock()
	for {
		for more := true; more && len(l.waiting) == 0 && !c.ended; {
			l.idle++
			more = l.work.Wait()
			l.idle--
		}
		if len(l.waiting) == 0 {
			break
		}
		r := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.bytes -= len(r.frame)
		c.room.Signal()
		c.mutex.Unlock()
		if err := c.execute(r); err != nil {
			c.end()
			_ = c.conn.Close() // half an answer is out, or none can be
		}
		c.server.h.Memory().Put(r.frame)
		c.mutex.Lock()
	}
	c.workers--
	last := c.workers == 0
	c.room.Broadcast()
	c.mutex.Unlock()
	if last {
		_ = c.conn.Close() // everything is answered; wakes the reader
	}
}

// execute does what a request asks for and answers. An error is of the connection.
func (c *connection) execute(r request) error {
	if r.operation == wire.OpProduce {
		return c.produce(r)
	}
	return c.pull(r)
}

// answer writes a whole frame.
func (c *connection) answer(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.conn.WriteBuffers([][]byte{frame})
}

// refuse answers with an error.
func (c *connection) refuse(r request, err error) error {
	return c.answer(wire.AppendError(nil, r.operation, r.sequence, codeOf(err), err.Error()))
}

// parsed reports what of a frame cannot be: such a connection is ended by its reader.
func parsed(r request) (err error) {
	switch r.operation {
	case wire.OpProduce:
		_, err = wire.ParseProduce(r.body)
	case wire.OpPull:
		_, err = wire.ParsePull(r.body)
	default:
		err = fmt.Errorf("operation %d: %w", r.operation, wire.ErrFrame)
	}
	return err
}
