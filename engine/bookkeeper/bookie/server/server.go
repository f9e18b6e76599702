package server

import (
	"slices"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// Points of the server. Extra is the peer where one connection is meant.
const (
	PointConnected   host.Point = "server.connected"
	PointFull        host.Point = "server.full"         // a connection too many was closed
	PointCombined    host.Point = "server.combined"     // A adds went to the store in one batch of several
	PointNoBatch     host.Point = "server.no-batch"     // a reader waits since all its batches are under way
	PointNoRead      host.Point = "server.no-read"      // a reader waits since its reads are under way
	PointAnswersFull host.Point = "server.answers-full" // a connection's reads wait for its peer to take answers
	PointMalformed   host.Point = "server.malformed"    // bytes that are no packet
	PointFirstLate   host.Point = "server.first-late"   // a connection that showed no whole request in time is ended
	PointFrameLate   host.Point = "server.frame-late"   // the same in a later request
	PointVersion3    host.Point = "server.version-3"
	PointBadVersion  host.Point = "server.bad-version"
	PointReadOnly    host.Point = "server.read-only"    // an add was refused since the bookie is read-only
	PointFenceRead   host.Point = "server.fence-read"   // a fence is durable, its read not yet answered
	PointUnanswered  host.Point = "server.unanswered"   // the peer is gone, A completed adds found nobody to tell
	PointBroken      host.Point = "server.broken"       // a write failed
	PointDrained     host.Point = "server.drained"      // a clean stop, everything accepted was answered
	PointDrainCut    host.Point = "server.drain-cut"    // a clean stop cut A connections that did not drain
	PointDisconnect  host.Point = "server.disconnected" // nothing of the connection is left
)

// Server serves one store.
type Server struct {
	h        host.Host
	config   Config
	store    *bookie.Store
	listener host.Listener
	tasks    host.Group
	readOnly host.Counter // not zero: adds without high priority are refused
	reads    *pool
	fences   *pool
	peers    *host.LogLimit

	mutex       host.Mutex
	gone        host.Cond     // Close waits for connections to drain
	connections []*connection // in the order of their arrival
	closing     bool
}

// Serve accepts connections from listener, which it closes in the end. Its tasks are in a child of g; the owner calls
// Close, before it closes the store.
func Serve(h host.Host, g host.Group, store *bookie.Store, listener host.Listener, config Config) *Server {
	err := config.Validate()
	invariant.Checkf(err == nil, "a server is given a valid configuration: %v", err)
	tasks := g.New("bookie-server")
	m := h.NewMutex("server")
	s := &Server{
		h: h, config: config, store: store, listener: listener, tasks: tasks,
		reads:  newPool(h, tasks, "server-reads", config.AnswersBytesMax, config.AnswerBytesMax),
		fences: newPool(h, tasks, "server-fences", config.AnswersBytesMax, config.AnswerBytesMax),
		mutex:  m, gone: tasks.NewCond(m), readOnly: h.NewCounter("server-read-only"),
		peers: host.NewLogLimit(h, config.PeerLog),
	}
	for range config.ReadTasks {
		tasks.Go("server-read", func() { s.executeAll(s.reads) })
	}
	for range config.FenceTasks {
		tasks.Go("server-fence", func() { s.executeAll(s.fences) })
	}
	tasks.Go("accept", s.accept)
	return s
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr() }

// SetReadOnly says whether adds are refused with wire.ReadOnly. Those of high priority are taken all the same: without
// the adds of recoveries, ledgers could not be closed while disks are full. Fences and reads go on.
func (s *Server) SetReadOnly(readOnly bool) {
	if readOnly {
		s.readOnly.Store(1)
	} else {
		s.readOnly.Store(0)
	}
}

// Connections is the number of open connections.
func (s *Server) Connections() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.connections)
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			s.mutex.Lock()
			closing := s.closing
			s.mutex.Unlock()
			if !closing {
				s.h.Log(host.Error, "bookie accepts no more connections", host.F("error", err))
			}
			return
		}
		if !s.admit(conn) {
			_ = conn.Close() // its only failure is to be closed already
		}
	}
}

// admit starts a connection's tasks, unless the server is closing or full. Looking and adding are one step under the
// mutex, so that Close misses none.
func (s *Server) admit(conn host.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closing {
		return false
	}
	if len(s.connections) >= s.config.ConnectionsMax {
		s.h.Probe().Mark(host.Event{Name: PointFull, A: int64(len(s.connections)), Extra: conn.Peer()})
		s.peers.Log(host.Warn, "bookie refuses a connection: it has too many", host.F("peer", conn.Peer()),
			host.F("connections", len(s.connections)))
		return false
	}
	s.h.Probe().Mark(host.Event{Name: PointConnected, Extra: conn.Peer()})
	c := newConnection(s, conn)
	s.connections = append(s.connections, c)
	s.tasks.Go("read", c.read)
	s.tasks.Go("write", c.write)
	return true
}

func (s *Server) forget(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.connections = slices.DeleteFunc(s.connections, func(each *connection) bool { return each == c })
	s.gone.Signal()
}

// Close stops accepting, answers what was accepted, and returns when no task is left. It may be called again, by one
// task at a time. After Config.DrainMax nothing is answered any more, and adds that wait for room in the store fail there:
// then Close waits only for what the store has accepted, which takes as long as the journal's disk takes.
func (s *Server) Close() {
	s.mutex.Lock()
	if s.closing {
		s.mutex.Unlock()
		return
	}
	s.closing = true
	draining := slices.Clone(s.connections)
	s.mutex.Unlock()
	_ = s.listener.Close() // its only failure is to be closed already
	for _, c := range draining {
		c.drain()
	}
	s.awaitDrain()
	s.reads.end()
	s.fences.end()
	s.tasks.Wait()
	s.peers.End()
	// Only now: a stop would take the batches' queues from under the store.
	s.tasks.Stop()
}

// awaitDrain waits until no connection is left, and cuts those that take too long.
func (s *Server) awaitDrain() {
	deadline := s.h.Elapsed() + s.config.DrainMax
	s.mutex.Lock()
	for len(s.connections) > 0 {
		left := deadline - s.h.Elapsed()
		if left <= 0 || s.gone.WaitFor(left) == host.TimedOut {
			break
		}
	}
	late := slices.Clone(s.connections)
	s.mutex.Unlock()
	point := PointDrained
	if len(late) > 0 {
		point = PointDrainCut
	}
	s.h.Probe().Mark(host.Event{Name: point, A: int64(len(late))})
	for _, c := range late {
		c.cut()
	}
	if len(late) > 0 {
		s.h.Log(host.Warn, "bookie stops, and leaves requests unanswered that its storage did not complete in time",
			host.F("connections", len(late)), host.F("waited", s.config.DrainMax))
		s.store.Hurry() // with a full disk, adds that wait for room would keep their connections for ever
	}
	s.awaitConnections()
}

// awaitConnections waits for the connections that were cut. The pools must live until then: a read that is never taken
// would keep its connection for ever.
func (s *Server) awaitConnections() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(s.connections) > 0 && s.gone.Wait() {
	}
}
