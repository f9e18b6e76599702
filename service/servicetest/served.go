package servicetest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/service"
	"lakebed/service/call"
)

// Machine is the host that a store runs on.
type Machine interface {
	host.Host
	Root() host.Group
	Close() error
}

// Served is a store with a server, which a test may stop before its end.
type Served struct {
	Service *service.Service
	Address string // of TCP
	Socket  string // its path
	Pipe    *service.Pipe

	FailSyncs       atomic.Bool // of the store's files, from now on
	FailAllocations atomic.Bool // the disk has no room for a file that is made

	machine Machine
	store   io.Closer
	cancel  context.CancelFunc
	ended   chan error
	stopped bool
}

// Serve starts a store and its server on a machine, which it owns from then on.
func Serve(t *testing.T, machine Machine, mode os.FileMode, open func(h host.Host) (io.Closer, *service.Service, error)) *Served {
	t.Helper()
	s := &Served{Socket: filepath.Join(t.TempDir(), "s"), Pipe: service.NewPipe(), machine: machine, ended: make(chan error, 1)}
	var err error
	if s.store, s.Service, err = open(&failing{machine, s}); err != nil {
		t.Fatal(err)
	}
	tcp, err := service.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := service.ListenSocket(s.Socket, mode)
	if err != nil {
		t.Fatal(err)
	}
	s.Address = tcp.Addr().String()
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	go func() { s.ended <- s.Service.Serve(ctx, tcp, socket, s.Pipe) }()
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Stop ends server and store, in good order. It may be called again.
func (s *Served) Stop() error {
	if s.stopped {
		return nil
	}
	s.stopped = true
	s.cancel()
	err := <-s.ended
	closed := s.store.Close()
	if s.FailSyncs.Load() {
		closed = nil // it says so
	}
	s.Service.Join()
	s.machine.Root().Stop()
	return errors.Join(err, closed, s.machine.Close())
}

// Ways are all the ways to reach the server.
func (s *Served) Ways() map[string]call.Config {
	return map[string]call.Config{
		"tcp": s.TCP(), "socket": {Socket: s.Socket},
		"process": {Dial: func(context.Context) (net.Conn, error) { return s.Pipe.Dial() }},
	}
}

// TCP is how a client reaches the server over TCP.
func (s *Served) TCP() call.Config { return call.Config{URL: "http://" + s.Address} }

// Within is a context that a test which hangs does not outlive.
func Within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
