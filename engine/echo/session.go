package echo

import (
	"errors"
	"io"

	"lakebed/engine/host"
)

// session is one connection of a server. The reader fills the queue and ends it; the writer empties it and closes.
type session struct {
	server *Server
	conn   host.Conn
	queue  *host.Queue[frame]
}

func newSession(s *Server, conn host.Conn) *session {
	queue := host.NewQueue[frame](s.host, s.group, "echo.session", s.config.QueueFrames)
	return &session{server: s, conn: conn, queue: queue}
}

// read stops reading while the queue is full. The peer then cannot send, and its own queue fills: that is the whole
// back-pressure.
func (s *session) read() {
	defer s.queue.End()
	memory := s.server.host.Memory()
	in := newInput(s.conn, memory, s.server.config.FrameBytesMax)
	defer in.release()
	for {
		f, err := in.next()
		if err != nil {
			s.explain(err)
			return
		}
		if !s.queue.Put(f) {
			memory.Put(f)
			return
		}
	}
}

// explain logs what an operator should know. That peers leave, fall silent or vanish is everyday life.
func (s *session) explain(err error) {
	level := host.Debug
	if errors.Is(err, ErrFrame) || errors.Is(err, io.ErrUnexpectedEOF) {
		level = host.Warn
	}
	s.server.host.Log(level, "echo session ends", host.F("peer", s.conn.Peer()), host.F("error", err))
}

func (s *session) write() {
	memory := s.server.host.Memory()
	var batch []frame
	var gather [][]byte
	broken := false
	for more := true; more; {
		batch, more = s.queue.Take(batch)
		if !broken && len(batch) > 0 {
			gather = appendBuffers(gather[:0], batch)
			if s.conn.WriteBuffers(gather) != nil {
				// The reader may wait for room or for the peer: wake it either way, and go on to empty the queue.
				broken = true
				s.queue.End()
				s.conn.Close()
			}
		}
		for _, f := range batch {
			memory.Put(f)
		}
	}
	s.conn.Close()
	s.server.forget(s)
}

func appendBuffers(gather [][]byte, batch []frame) [][]byte {
	for _, f := range batch {
		gather = append(gather, f)
	}
	return gather
}
