package oshost

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"lakebed/engine/host"
)

// conn is a TCP connection.
type conn struct {
	tcp        *net.TCPConn
	raw        syscall.RawConn // of tcp, for what package net has no call for
	peer       string
	readIdle   limit
	writeStall limit

	// writing keeps the frames of two tasks apart should an owner let both write; the rest belongs to the writer.
	writing  sync.Mutex
	gathered [][]byte    // copy of the caller's list, kept for its space
	rest     net.Buffers // what of gathered is unwritten; the gather call eats it up
}

var _ host.Conn = (*conn)(nil)

func newConn(tcp *net.TCPConn) *conn {
	// Frames are gathered by the engine; waiting for more of them in the kernel would only delay. It is the default of
	// package net, and failing to set it again is no reason to refuse a connection.
	_ = tcp.SetNoDelay(true)
	c := &conn{tcp: tcp, peer: tcp.RemoteAddr().String()}
	c.raw, _ = tcp.SyscallConn() // fails for none but a connection that is nil
	c.readIdle.arm, c.writeStall.arm = tcp.SetReadDeadline, tcp.SetWriteDeadline
	return c
}

func (c *conn) Read(p []byte) (int, error) {
	until, err := c.readIdle.begin()
	for err == nil {
		var n int
		n, err = c.tcp.Read(p)
		if err == nil || err == io.EOF {
			return n, err
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			more, armErr := c.readIdle.again(until)
			if more {
				err = armErr
			}
		}
	}
	return 0, explain(err, "read from %s", c.peer)
}

// WriteBuffers gives up when a whole bound passes in which the kernel took no byte. The bound restarts with a gather
// call only, so that happens between one and two bounds after the last progress.
func (c *conn) WriteBuffers(b [][]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.gathered = append(c.gathered[:0], b...)
	c.rest = c.gathered
	err := c.writeRest()
	clear(c.gathered) // the connection must not keep the caller's buffers alive
	if err != nil {
		c.sever()
		return explain(err, "write to %s", c.peer)
	}
	return nil
}

func (c *conn) writeRest() error {
	until, err := c.writeStall.begin()
	for err == nil {
		var n int64
		n, err = c.rest.WriteTo(c.tcp)
		if err == nil {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if n > 0 {
			until, err = c.writeStall.begin()
			continue
		}
		more, armErr := c.writeStall.again(until)
		if more {
			err = armErr
		}
	}
	return err
}

// sever ends a connection on which a write failed half-way. The peer gets a reset, since a clean end would make a cut
// frame look like one that was sent that way.
func (c *conn) sever() {
	_ = c.tcp.SetLinger(0)
	_ = c.tcp.Close()
}

func (c *conn) Limits(readIdle, writeStall time.Duration) {
	c.readIdle.bound.Store(int64(readIdle))
	c.writeStall.bound.Store(int64(writeStall))
}

func (c *conn) Peer() string { return c.peer }

func (c *conn) Close() error {
	if err := c.tcp.Close(); err != nil {
		return explain(err, "close the connection to %s", c.peer)
	}
	return nil
}
