package oshost

import (
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
)

// acceptPause is how long Accept waits for descriptors to come free when the process has used up its own.
const acceptPause = 50 * time.Millisecond

// listener accepts TCP connections.
type listener struct{ raw *net.TCPListener }

// Accept goes on after what concerns one connection, or passes: a node that stops listening because it was busy for a
// moment does not come back by itself.
func (l *listener) Accept() (host.Conn, error) {
	for {
		raw, err := l.raw.AcceptTCP()
		if err == nil {
			return newConn(raw), nil
		}
		if !passes(err) {
			return nil, explain(err, "accept on %s", l.Addr())
		}
		time.Sleep(acceptPause)
	}
}

func passes(err error) bool {
	for _, errno := range []unix.Errno{unix.ECONNABORTED, unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

func (l *listener) Addr() string { return l.raw.Addr().String() }

func (l *listener) Close() error {
	if err := l.raw.Close(); err != nil {
		return explain(err, "stop listening on %s", l.Addr())
	}
	return nil
}
