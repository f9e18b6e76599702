package echo

import (
	"fmt"
	"slices"

	"lakebed/engine/host"
)

// Server answers every frame with itself.
type Server struct {
	host     host.Host
	config   Config
	listener host.Listener
	group    host.Group // one acceptor, and two tasks for each session

	mutex    host.Mutex
	sessions []*session // in the order of their arrival
	closed   bool
}

// Serve listens on addr and serves until Close. Its tasks are in a child of parent.
func Serve(h host.Host, parent host.Group, addr string, config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	listener, err := h.Net().Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("echo: %w", err)
	}
	s := &Server{
		host:     h,
		config:   config,
		listener: listener,
		group:    parent.New("echo server"),
		mutex:    h.NewMutex("echo.server"),
	}
	s.group.Go("accept", s.accept)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr() }

// Sessions is the number of open connections.
func (s *Server) Sessions() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.sessions)
}

// Close stops listening, closes all connections and returns when no task is left. It may be called again.
func (s *Server) Close() {
	s.mutex.Lock()
	first := !s.closed
	s.closed = true
	open := slices.Clone(s.sessions)
	s.mutex.Unlock()
	if first {
		s.listener.Close() // its only failure is to be closed already
	}
	for _, session := range open {
		session.conn.Close()
	}
	// Only now: a stop alone does not reach a task that waits for the network.
	s.group.Stop()
	s.group.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.mutex.Lock()
			closed := s.closed
			s.mutex.Unlock()
			if !closed {
				s.host.Log(host.Error, "echo server accepts no more connections", host.F("error", err))
			}
			return
		}
		if !s.admit(conn) {
			conn.Close()
		}
	}
}

// admit starts a session, unless the server is closed or full. Looking and adding are one step under the mutex, so
// that Close misses no session.
func (s *Server) admit(conn host.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed || len(s.sessions) >= s.config.ConnectionsMax {
		return false
	}
	conn.Limits(s.config.ReadIdle, s.config.WriteStall)
	session := newSession(s, conn)
	s.sessions = append(s.sessions, session)
	s.group.Go("read", session.read)
	s.group.Go("write", session.write)
	return true
}

func (s *Server) forget(gone *session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.sessions = slices.DeleteFunc(s.sessions, func(each *session) bool { return each == gone })
}
