package server

import (
	"slices"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Points of the server. Extra is the peer.
const (
	PointConnected  host.Point = "commitlog-server.connected"
	PointFull       host.Point = "commitlog-server.full"       // a connection too many was closed
	PointMalformed  host.Point = "commitlog-server.malformed"  // bytes that are no frame
	PointProduced   host.Point = "commitlog-server.produced"   // a message is stored, its producer does not know yet
	PointSent       host.Point = "commitlog-server.sent"       // A bytes of messages went out
	PointTorn       host.Point = "commitlog-server.torn"       // an answer broke off
	PointChecked    host.Point = "commitlog-server.checked"    // A messages were looked at before they were sent
	PointDamaged    host.Point = "commitlog-server.damaged"    // one of them is not what it was
	PointMoved      host.Point = "commitlog-server.moved"      // what was located was removed before it was sent
	PointUnmapped   host.Point = "commitlog-server.unmapped"   // there was no mapping to be had: it was read and written
	PointPrefetched host.Point = "commitlog-server.prefetched" // A bytes were fetched ahead
	PointClosed     host.Point = "commitlog-server.closed"
)

// Server serves one store.
type Server struct {
	h        host.Host
	config   Config
	store    *commitlog.Store
	listener host.Listener
	tasks    host.Group
	peers    *host.LogLimit
	fetches  *host.Queue[fetch]
	counts   counts

	mutex       host.Mutex
	gone        host.Cond // Close waits for connections
	connections []*connection
	closing     bool
}

// Serve accepts connections from listener, which it closes in the end. Its tasks are in a child of g; the owner calls Close
// before it closes the store.
func Serve(h host.Host, g host.Group, store *commitlog.Store, listener host.Listener, config Config) *Server {
	err := config.Validate()
	invariant.Checkf(err == nil, "a server is given a valid configuration: %v", err)
	tasks := g.New("commitlog-server")
	m := h.NewMutex("commitlog-server")
	s := &Server{
		h: h, config: config, store: store, listener: listener, tasks: tasks, peers: host.NewLogLimit(h, config.PeerLog),
		fetches: host.NewQueue[fetch](h, tasks, "commitlog-prefetch", config.PrefetchQueue), counts: newCounts(h),
		mutex: m, gone: tasks.NewCond(m),
	}
	if config.Prefetch != PrefetchOff {
		for range config.PrefetchTasks {
			tasks.Go("prefetch", s.prefetch)
		}
	}
	tasks.Go("accept", s.accept)
	return s
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr() }

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.mutex.Lock()
			closing := s.closing
			s.mutex.Unlock()
			if !closing {
				s.h.Log(host.Error, "commit log accepts no more connections", host.F("error", err))
			}
			return
		}
		if !s.admit(conn) {
			_ = conn.Close() // its only failure is to be closed already
		}
	}
}

// admit starts a connection's reader, unless the server is closing or full. Looking and adding are one step under the mutex,
// so that Close misses none.
func (s *Server) admit(conn host.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closing {
		return false
	}
	if len(s.connections) >= s.config.ConnectionsMax {
		s.h.Probe().Mark(host.Event{Name: PointFull, Extra: conn.Peer()})
		s.peers.Log(host.Warn, "commit log refuses a connection: it has too many", host.F("peer", conn.Peer()))
		return false
	}
	s.h.Probe().Mark(host.Event{Name: PointConnected, Extra: conn.Peer()})
	c := newConnection(s, conn)
	s.connections = append(s.connections, c)
	s.tasks.Go("read", c.read)
	return true
}

func (s *Server) forget(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.connections = slices.DeleteFunc(s.connections, func(each *connection) bool { return each == c })
	s.gone.Signal()
}

// Close stops accepting, answers what was accepted, and returns when no task is left. It may be called again, by one task at a
// time. A peer that takes nothing keeps it for Config.WriteStall, a disk that does not answer for as long as it does not.
func (s *Server) Close() {
	s.mutex.Lock()
	if s.closing {
		s.mutex.Unlock()
		return
	}
	s.closing = true
	open := slices.Clone(s.connections)
	s.mutex.Unlock()
	_ = s.listener.Close() // its only failure is to be closed already
	for _, c := range open {
		c.end()
	}
	s.mutex.Lock()
	for len(s.connections) > 0 && s.gone.Wait() {
	}
	s.mutex.Unlock()
	s.fetches.End()
	s.tasks.Wait()
	s.tasks.Stop()
	s.peers.End()
	s.h.Probe().Mark(host.Event{Name: PointClosed})
}
