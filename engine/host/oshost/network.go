package oshost

import (
	"context"
	"net"
	"time"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// network is the machine's TCP.
type network struct{ host *Host }

func (w network) Dial(addr string, s *host.Scope) (host.Conn, error) {
	if err := s.Err(w.host.Elapsed()); err != nil {
		return nil, explain(err, "dial %s", addr)
	}
	dialer := net.Dialer{Deadline: w.host.deadlineOf(s)}
	raw, err := dialer.DialContext(contextOf(s), "tcp", addr)
	if err != nil {
		// The scope first: a cancelled dial reports whatever the cancelled system call happened to say.
		if ended := s.Err(w.host.Elapsed()); ended != nil {
			err = ended
		}
		return nil, explain(err, "dial %s", addr)
	}
	return newConn(raw.(*net.TCPConn)), nil
}

func (w network) Listen(addr string) (host.Listener, error) {
	raw, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, explain(err, "listen on %s", addr)
	}
	return &listener{raw: raw.(*net.TCPListener)}, nil
}

// deadlineOf is for the dialer itself. The deadline of a context is taken on trust by the dialer, which then waits for
// the context to end by itself; ours has no timer to do that.
func (h *Host) deadlineOf(s *host.Scope) time.Time {
	if s == nil || s.Deadline == 0 {
		return time.Time{}
	}
	return h.start.Add(s.Deadline)
}

// stopContext presents the stop of a group to the standard library. It starts nothing.
type stopContext struct {
	context.Context // no deadline, no values
	group           *group
}

func contextOf(s *host.Scope) context.Context {
	if s == nil || s.Group == nil {
		return context.Background()
	}
	own, ok := s.Group.(*group)
	invariant.Check(ok, "the group of a scope must come from the host that the scope is used on")
	return stopContext{context.Background(), own}
}

func (c stopContext) Done() <-chan struct{} { return c.group.stop }

func (c stopContext) Err() error {
	if c.group.Stopping() {
		return context.Canceled
	}
	return nil
}
