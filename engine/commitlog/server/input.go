package server

import (
	"fmt"
	"io"
	"time"

	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// input cuts requests out of the stream of a connection, wherever the network happened to split it.
type input struct {
	c      *connection
	buffer []byte
	unread []byte // the part of buffer not yet taken

	deadline time.Duration // of the frame that has begun; zero: none has
}

// run hands over requests until an error. io.EOF: the stream ended between two.
func (in *input) run() error {
	for {
		r, err := in.next()
		if err != nil {
			return err
		}
		if err = parsed(r); err == nil && !in.c.accept(r) {
			err = host.ErrStopping
		}
		if err != nil {
			in.c.server.h.Memory().Put(r.frame)
			return err
		}
	}
}

// next returns the next request, whose frame the caller owns.
func (in *input) next() (r request, err error) {
	in.deadline = 0
	var length [wire.LengthBytes]byte
	if err := in.full(length[:]); err != nil {
		return r, err
	}
	n, err := wire.FrameLength(length[:], in.c.server.config.FrameBytesMax)
	if err != nil {
		return r, err
	}
	r.frame = in.c.server.h.Memory().Get(n)
	if err := in.full(r.frame); err != nil {
		in.c.server.h.Memory().Put(r.frame)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return r, err
	}
	r.operation, r.sequence, r.body = wire.ParseHead(r.frame)
	return r, nil
}

// full fills p. io.EOF: the stream ended before the first byte of p.
func (in *input) full(p []byte) error {
	for done := 0; done < len(p); {
		if len(in.unread) == 0 {
			if err := in.fill(); err != nil {
				if err == io.EOF && done > 0 {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
		}
		n := copy(p[done:], in.unread)
		in.unread = in.unread[n:]
		done += n
		if in.deadline == 0 {
			in.deadline = in.c.server.h.Elapsed() + in.c.server.config.FrameTimeout
		}
	}
	return nil
}

// fill reads what comes next. A frame that has begun has a deadline, however lively it drips: its memory is taken.
func (in *input) fill() error {
	config := &in.c.server.config
	patience := config.Idle
	if in.deadline != 0 {
		if patience = in.deadline - in.c.server.h.Elapsed(); patience <= 0 {
			return fmt.Errorf("a frame was not there within %v: %w", config.FrameTimeout, host.ErrTimeout)
		}
	}
	in.c.conn.Limits(patience, config.WriteStall)
	n, err := in.c.conn.Read(in.buffer)
	in.unread = in.buffer[:n]
	return err
}
