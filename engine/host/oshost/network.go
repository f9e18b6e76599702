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
	var dialer net.Dialer
	raw, err := dialer.DialContext(w.host.contextOf(s), "tcp", addr)
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

// scopeContext presents a scope to the standard library. It starts nothing: the stop of the group is its Done.
type scopeContext struct {
	context.Context // no values
	deadline        time.Time
	group           *group
}

func (h *Host) contextOf(s *host.Scope) context.Context {
	c := scopeContext{Context: context.Background()}
	if s == nil {
		return c
	}
	if s.Deadline != 0 {
		c.deadline = h.start.Add(s.Deadline)
	}
	if s.Group != nil {
		own, ok := s.Group.(*group)
		invariant.Check(ok, "the group of a scope must come from the host that the scope is used on")
		c.group = own
	}
	return c
}

func (c scopeContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c scopeContext) Done() <-chan struct{} {
	if c.group == nil {
		return nil
	}
	return c.group.stop
}

func (c scopeContext) Err() error {
	if c.group != nil && c.group.Stopping() {
		return context.Canceled
	}
	return nil
}
