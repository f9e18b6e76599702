package service

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/memory"
	"lakebed/engine/host"
)

// Points of the server. Extra is the peer.
const (
	PointExpired host.Point = "metadata.expired" // A is a session that ended because its client was not heard of
	PointMoved   host.Point = "metadata.moved"   // A is a session that came on a new connection while it had one
	PointRefused host.Point = "metadata.behind"  // a client has seen a newer state than the server has
)

const never time.Duration = math.MaxInt64

// Server serves a tree that it keeps in memory.
type Server struct {
	h        host.Host
	config   ServerConfig
	listener host.Listener
	tasks    host.Group
	peers    *host.LogLimit

	mutex       host.Mutex
	deadlines   host.Cond // the expiring task waits for the next one
	expireAt    time.Duration
	tree        *memory.Tree
	notices     []memory.Notice
	connections map[memory.Watcher]*connection
	bySession   map[metadata.SessionID]*connection
	lastWatcher memory.Watcher
	random      *rand.Rand // of session ids
	started     host.Wall
	closed      bool
}

// Serve serves at a listener, which it closes in the end. Its tasks are in a child of g; the owner calls Close.
func Serve(h host.Host, g host.Group, listener host.Listener, config ServerConfig) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("configuration of the metadata server: %w", err)
	}
	m := h.NewMutex("metadata-server")
	s := &Server{
		h: h, config: config, listener: listener, tasks: g.New("metadata server"), peers: host.NewLogLimit(h, config.PeerLog), mutex: m, expireAt: never,
		tree: memory.New(config.Limits), connections: make(map[memory.Watcher]*connection),
		bySession: make(map[metadata.SessionID]*connection),
		random:    h.Rand("metadata.sessions"), started: h.Now(),
	}
	s.deadlines = s.tasks.NewCond(m)
	s.tasks.Go("accept", s.accept)
	s.tasks.Go("expire", s.expire)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr() }

// Close cuts all connections and returns when no task is left. It may be called again.
func (s *Server) Close() {
	s.mutex.Lock()
	first := !s.closed
	s.closed = true
	for _, w := range host.SortedKeys(s.connections) {
		s.connections[w].cut()
	}
	s.mutex.Unlock()
	if first {
		_ = s.listener.Close() // its only failure is to be closed already
	}
	s.tasks.Stop()
	s.tasks.Wait()
	s.peers.End()
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
			closed := s.closed
			s.mutex.Unlock()
			if !closed {
				s.h.Log(host.Error, "metadata server accepts no more connections", host.F("error", err))
			}
			return
		}
		if !s.admit(conn) {
			_ = conn.Close()
		}
	}
}

// admit starts a connection, unless the server is closed or full. Looking and adding are one step under the mutex, so
// that Close misses no connection.
func (s *Server) admit(conn host.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed || len(s.connections) >= s.config.ConnectionsMax {
		return false
	}
	conn.Limits(s.config.HelloTimeout, s.config.WriteStall)
	s.lastWatcher++
	c := newConnection(s, conn, s.lastWatcher)
	s.connections[c.watcher] = c
	s.tasks.Go("read", c.read)
	s.tasks.Go("write", c.write)
	return true
}

// forget takes a connection out. Its session lives on until its deadline.
func (s *Server) forget(c *connection) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.connections, c.watcher)
	if s.bySession[c.session] == c {
		delete(s.bySession, c.session)
	}
	s.tree.Forget(c.watcher)
}

// commit makes a change and tells whoever watches what it touched. Every change of the tree goes through here: a durable
// server appends the command to its log first, and holds answers and notices back until the log is synced. The mutex must
// be held.
func (s *Server) commit(command memory.Command) memory.Result {
	result := s.tree.Apply(command)
	s.notices = s.tree.Notices(result.Changes, s.notices)
	for _, n := range s.notices {
		s.connections[n.Watcher].tell(n.Key)
	}
	return result
}

// greet gives a connection its session: the one it asks for, or a new one. The mutex must be held.
func (s *Server) greet(c *connection, r *Request) Response {
	id := r.Session
	switch {
	case !s.tree.Alive(id):
		var err error
		if id, err = s.openSession(r.Timeout); err != nil {
			return Response{Code: CodeOf(err)}
		}
	case r.Seen > s.tree.Index():
		s.h.Probe().Mark(host.Event{Name: PointRefused, A: int64(id), Extra: c.conn.Peer()})
		return Response{Code: Behind}
	}
	if before := s.bySession[id]; before != nil {
		s.h.Probe().Mark(host.Event{Name: PointMoved, A: int64(id), Extra: before.conn.Peer()})
		before.cut()
	}
	c.session = id
	s.bySession[id] = c
	s.touch(id)
	return Response{Session: id, Timeout: s.tree.TimeoutOf(id)}
}

// openSession opens a session under an id that no client has from an earlier process of this server, even if that drew the
// same numbers: such a client must learn that its session is gone.
func (s *Server) openSession(timeout time.Duration) (metadata.SessionID, error) {
	timeout = min(max(timeout, s.config.SessionTimeoutMin), s.config.SessionTimeoutMax)
	id := metadata.SessionID(0)
	for id == 0 || s.tree.Alive(id) {
		id = metadata.SessionID((s.random.Int64() ^ int64(s.started)) & math.MaxInt64)
	}
	return id, s.commit(memory.Command{Op: memory.OpenSession, Session: id, Timeout: timeout}).Err
}

// touch says that a session's client was heard of. The mutex must be held.
func (s *Server) touch(id metadata.SessionID) {
	now := s.h.Elapsed()
	if s.tree.Touch(id, now) && now+s.tree.TimeoutOf(id) < s.expireAt {
		s.expireAt = now + s.tree.TimeoutOf(id)
		s.deadlines.Signal()
	}
}

// expirePause is the least time between two looks for sessions that are overdue: each looks at all of them, and a crowd that
// has gone would otherwise be buried one by one.
const expirePause = 100 * time.Millisecond

// expire is the task that ends sessions whose clients were not heard of. It looks when the first deadline that it knew of
// has come, which is once a timeout however many requests there are.
func (s *Server) expire() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for !s.closed {
		now := s.h.Elapsed()
		switch {
		case s.expireAt == never:
			s.deadlines.Wait()
		case now < s.expireAt:
			s.deadlines.WaitFor(s.expireAt - now)
		default:
			var overdue []metadata.SessionID
			overdue, s.expireAt = s.tree.Overdue(now)
			s.expireAt = max(s.expireAt, now+expirePause)
			for _, id := range overdue {
				s.h.Probe().Mark(host.Event{Name: PointExpired, A: int64(id)})
				s.end(id)
			}
		}
		if s.tasks.Stopping() {
			return
		}
	}
}

// end ends a session and cuts its connection. The mutex must be held.
func (s *Server) end(id metadata.SessionID) {
	s.commit(memory.Command{Op: memory.EndSession, Session: id})
	if c := s.bySession[id]; c != nil {
		c.cut()
		delete(s.bySession, id)
	}
}

// do does one request of a welcomed connection. The mutex must be held.
func (s *Server) do(c *connection, r *Request) Response {
	if !s.tree.Alive(c.session) {
		return Response{Code: SessionExpired}
	}
	s.touch(c.session)
	switch r.Operation {
	case Get:
		return Read(s.tree.Get(r.Key))
	case List:
		return Response{Names: s.tree.List(r.Key)}
	case Watch:
		return Response{Code: CodeOf(s.tree.Watch(c.watcher, r.Key))}
	case Unwatch:
		s.tree.Unwatch(c.watcher, r.Key)
		return Response{}
	case Ping, Sync: // all reads are of the newest state
		return Response{}
	default:
		command := CommandOf(r, c.session)
		result := s.commit(command)
		return Response{Code: CodeOf(result.Err), Version: result.Version}
	}
}

// Read is the response to a Get that found a key in this state, nil if it does not exist.
func Read(n *memory.Node) Response {
	if n == nil {
		return Response{Code: NotExist}
	}
	return Response{Version: n.Version, Data: n.Data}
}

// CommandOf is the command that a request for a change stands for. Bye ends the session.
func CommandOf(r *Request, session metadata.SessionID) memory.Command {
	c := memory.Command{Session: session, Key: r.Key, Data: slices.Clip(r.Data), Kind: r.Kind, Expected: r.Expected}
	switch r.Operation {
	case Bye:
		c.Op = memory.EndSession
	case Create:
		c.Op = memory.Create
	case Put:
		c.Op = memory.Put
	case Delete:
		c.Op = memory.Delete
	}
	return c
}
