package service

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
)

// socketPathMax is the longest name that the kernel takes for a unix socket.
const socketPathMax = 107

// ErrSocketInUse says that somebody listens on a unix socket already.
var ErrSocketInUse = errors.New("somebody listens there")

// Listen takes a TCP address, host:port.
func Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// ErrNoSocket says that something else than a socket lies where a unix socket is to be made. It stays.
var ErrNoSocket = errors.New("there is something that is no socket")

// CheckSocketPath refuses a path that no unix socket can have.
func CheckSocketPath(path string) error {
	if len(path) > socketPathMax {
		return fmt.Errorf("socket %s: its path has %d bytes, more than the %d that the system takes", path, len(path), socketPathMax)
	}
	return nil
}

// ListenSocket makes a unix socket at a path. A file that a process left there when it died is replaced.
func ListenSocket(path string, mode fs.FileMode) (net.Listener, error) {
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), l.Close())
	}
	return l, nil
}

// removeStale removes a socket that nobody listens on. Anything that is no socket stays, and is in the way.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return ErrNoSocket // net.Listen would say that somebody listens there
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		return errors.Join(ErrSocketInUse, c.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// bounded accepts no connection while all slots are taken.
type bounded struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func newBounded(l net.Listener, slots chan struct{}) *bounded {
	return &bounded{Listener: l, slots: slots, closed: make(chan struct{})}
}

// Accept waits for a slot and for a connection.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err
	}
	return &slotted{Conn: c, give: sync.OnceFunc(func() { <-b.slots })}, nil
}

// Close ends Accept.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// slotted is a connection that gives its slot back.
type slotted struct {
	net.Conn
	give func()
}

// Close gives the slot back, once.
func (s *slotted) Close() error {
	s.give()
	return s.Conn.Close()
}

// Pipe is a listener in memory, for a client in the same process.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipe makes a listener that only Dial reaches.
func NewPipe() *Pipe { return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects.
func (p *Pipe) Dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Accept waits for a Dial.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is a name only.
func (p *Pipe) Addr() net.Addr { return pipeAddress{} }

type pipeAddress struct{}

func (pipeAddress) Network() string { return "pipe" }
func (pipeAddress) String() string  { return "pipe" }
