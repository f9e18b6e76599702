package server

import (
	"errors"
	"io"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

var errVersion3 = errors.New("the peer speaks protocol version 3, which is not served: set useV2WireProtocol=true")

// reader is the state of a connection's reading task.
type reader struct {
	c        *connection
	in       *wire.Input
	batch    *batch // being filled; nil if none was needed yet
	begun    bool   // a packet has come: the connection's protocol is settled
	advanced bool   // a packet has come since patience was asked for
	deadline time.Duration
	request  wire.Request
}

// read is the reading task.
func (c *connection) read() {
	config := &c.server.config
	r := &reader{c: c, in: wire.NewInput(c.server.h.Memory(), config.InputBufferBytes, config.FrameBytesMax)}
	err := r.serve()
	r.in.Release()
	invariant.Check(r.batch == nil, "a reader ends with nothing collected")
	c.explain(err)
	c.readerEnds()
}

// serve goes on until the stream ends (io.EOF), the connection is closed, or something is wrong.
func (r *reader) serve() error {
	config := &r.c.server.config
	for {
		err := r.handleBuffered()
		r.submit() // the next Fill overwrites the bodies, and no more adds are at hand
		if err != nil {
			return err
		}
		if r.c.draining() {
			return r.discard()
		}
		idle, err := r.patience()
		if err != nil {
			return err
		}
		r.c.conn.Limits(idle, config.WriteStall)
		if err := r.in.Fill(r.c.conn); err != nil {
			return r.unread(err)
		}
	}
}

// discard drops what the peer sends after the server began to drain, until the writer closes. A connection that is closed
// over unread bytes ends in a reset, and the peer may lose the answers that it has not read yet. What is on its way at that
// very moment can still do this: the seam knows no half-closed connection.
func (r *reader) discard() error {
	for {
		r.in.Discard()
		if err := r.in.Fill(r.c.conn); err != nil {
			return err
		}
	}
}

// handleBuffered starts every request that has come whole.
func (r *reader) handleBuffered() error {
	for {
		packet, err := r.in.Next()
		if err != nil || packet == nil {
			return err
		}
		if !r.begun && wire.IsVersion3(packet) {
			return errVersion3
		}
		r.begun, r.advanced = true, true
		if err := r.request.Decode(packet); err != nil {
			return err
		}
		r.handle(&r.request)
	}
}

func (r *reader) handle(request *wire.Request) {
	switch {
	case !request.Version.Supported():
		mark := host.Event{Name: PointBadVersion, A: int64(request.Version), Extra: r.c.conn.Peer()}
		r.c.server.h.Probe().Mark(mark)
		r.answer(r.c.server.refusal(request, wire.BadVersion))
	case request.Operation == wire.Add && request.Flags&wire.HighPriority == 0 && r.c.server.readOnly.Load() != 0:
		r.c.server.h.Probe().Mark(host.Event{
			Name: PointReadOnly, A: int64(request.Ledger), B: int64(request.Entry), Extra: r.c.conn.Peer()})
		r.answer(r.c.server.refusal(request, wire.ReadOnly))
	case request.Operation == wire.Add:
		r.add(request)
	case request.Operation == wire.Auth:
		r.answer(r.c.server.noAuth(request))
	default:
		r.read(request)
	}
}

// add collects an add. The batch goes to the store when it is full, or when nothing more is at hand. It is measured as the
// store measures it: one of many short entries that fits by their bodies alone would be refused as too long, and every
// entry in it with it.
func (r *reader) add(request *wire.Request) {
	config := &r.c.server.config
	bytes := int64(len(request.Body) + bookie.FramingBytes)
	if r.batch != nil && len(r.batch.Adds) > 0 && r.batch.bytes+bytes > config.BatchBytesMax {
		r.submit()
	}
	if r.batch == nil {
		r.batch = r.c.takeBatch()
	}
	b := r.batch
	b.Adds = append(b.Adds, bookie.Add{
		MasterKey: request.MasterKey, Recovery: request.Flags&wire.RecoveryAdd != 0, Body: request.Body,
	})
	b.origins = append(b.origins, origin{version: request.Version, ledger: request.Ledger, entry: request.Entry})
	b.bytes += bytes
	if len(b.Adds) >= config.BatchEntriesMax || r.c.server.h.Probe().Perhaps(PointSubmitNow) {
		r.submit()
	}
}

// submit hands the collected adds to the store, which copies the bodies. It waits while the store is full: then this
// connection is not read from.
func (r *reader) submit() {
	b := r.batch
	if b == nil || len(b.Adds) == 0 {
		return
	}
	r.batch = nil
	if len(b.Adds) > 1 {
		r.c.server.h.Probe().Mark(host.Event{Name: PointCombined, A: int64(len(b.Adds)), Extra: r.c.conn.Peer()})
	}
	r.c.server.store.Submit(&b.Batch)
}

// read passes a read on to the tasks that do them.
func (r *reader) read(request *wire.Request) {
	r.admit()
	request.Body = nil // the buffer it lies in will be overwritten
	if request.Flags&wire.Fencing != 0 {
		r.c.fences.put(request)
	} else {
		r.c.reads.put(request)
	}
}

// answer passes on what needs no store. It counts as a read, so that a peer which takes no answers is bounded.
func (r *reader) answer(a answer) {
	r.admit()
	r.c.deliver(a)
}

// admit waits for a place among the reads under way. Adds that were collected do not wait with it.
func (r *reader) admit() {
	for !r.c.tryRead() {
		r.submit()
		r.c.awaitRead()
	}
}

// noAuth answers an auth: whoever the peer is, it may do everything.
func (s *Server) noAuth(request *wire.Request) answer {
	response := responseTo(request, wire.OK)
	response.Body = wire.AuthMessage{Plugin: wire.AuthDisabled}.Append(nil)
	frame := response.Append(s.h.Memory().Get(response.FrameBytes(len(response.Body)))[:0])
	return answer{frame: frame, bytes: int64(len(frame))}
}

// explain logs what an operator should know. That peers leave, fall silent or vanish is everyday life.
func (c *connection) explain(err error) {
	h := c.server.h
	level, message := host.Debug, "bookie ends a connection"
	switch {
	case err == nil || err == io.EOF:
		return
	case errors.Is(err, errVersion3):
		level, message = host.Warn, "bookie ends a connection of another protocol"
		h.Probe().Mark(host.Event{Name: PointVersion3, Extra: c.conn.Peer()})
	case errors.Is(err, wire.ErrMalformed):
		level, message = host.Warn, "bookie ends a connection that broke the protocol"
		h.Probe().Mark(host.Event{Name: PointMalformed, Extra: c.conn.Peer()})
	case errors.Is(err, io.ErrUnexpectedEOF):
		level, message = host.Note, "bookie lost a connection in the middle of a request"
	}
	c.server.peers.Log(level, message, host.F("peer", c.conn.Peer()), host.F("error", err))
}
