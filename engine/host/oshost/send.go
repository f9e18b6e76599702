package oshost

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

var _ host.SpanSender = (*conn)(nil)

// SendFile lets the kernel send from the page cache. What head and spans make up leaves as one piece: the head waits for the
// first span.
func (c *conn) SendFile(head [][]byte, f host.File, spans []host.Span) error {
	own, ok := f.(*file)
	invariant.Check(ok, "a file is sent by connections of the host that opened it")
	c.writing.Lock()
	defer c.writing.Unlock()
	err := own.enter("send")
	if err == nil {
		err = c.sendFile(head, own, spans)
		own.mutex.RUnlock()
	}
	if err != nil {
		c.sever()
		return explain(err, "send %s to %s", own.path, c.peer)
	}
	return nil
}

func (c *conn) sendFile(head [][]byte, f *file, spans []host.Span) error {
	flags := 0
	if len(spans) > 0 {
		flags = unix.MSG_MORE
	}
	if err := c.sendHead(head, flags); err != nil {
		return err
	}
	for _, s := range spans {
		off := s.Off
		err := c.push(s.Len, func(socket int, left int64) (int, error) {
			return unix.Sendfile(socket, f.descriptor, &off, int(min(left, sendBytesMax)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendBytesMax bounds one call, below what the kernel takes at once.
const sendBytesMax = 1 << 30

// sendHead writes what comes before the spans, and with MSG_MORE keeps the kernel from sending a packet of it alone.
func (c *conn) sendHead(head [][]byte, flags int) error {
	var length int64
	for _, b := range head {
		length += int64(len(b))
	}
	c.gathered = append(c.gathered[:0], head...)
	defer clear(c.gathered)
	rest := c.gathered
	return c.push(length, func(socket int, _ int64) (int, error) {
		n, err := unix.SendmsgBuffers(socket, rest[:min(len(rest), vectorsMax)], nil, nil, flags)
		for taken := n; err == nil && len(rest) > 0 && taken >= 0; {
			if taken < len(rest[0]) {
				rest[0] = rest[0][taken:]
				break
			}
			taken -= len(rest[0])
			rest = rest[1:]
		}
		return n, err
	})
}

// push calls step until so many bytes are sent. It gives up as WriteBuffers does, when a whole bound passes without progress.
func (c *conn) push(length int64, step func(socket int, left int64) (int, error)) error {
	until, err := c.writeStall.begin()
	for err == nil && length > 0 {
		before := length
		var failed error
		err = c.raw.Write(func(socket uintptr) (done bool) {
			for length > 0 {
				n, stepped := step(int(socket), length)
				switch {
				case interrupted(stepped):
					continue
				case stepped == unix.EAGAIN:
					return false
				case stepped == nil && n == 0:
					stepped = io.ErrUnexpectedEOF // the file is shorter than the span
				}
				if stepped != nil {
					failed = stepped
					return true
				}
				length -= int64(n)
			}
			return true
		})
		switch {
		case failed != nil:
			return failed
		case !errors.Is(err, os.ErrDeadlineExceeded):
		case length < before:
			until, err = c.writeStall.begin()
		default:
			if more, armErr := c.writeStall.again(until); more {
				err = armErr
			}
		}
	}
	return err
}

// SendMapped gives the kernel the mapped pages to copy. It is the kernel that touches them: of one that cannot be read it says
// EFAULT, where the process would get a signal.
func (c *conn) SendMapped(head [][]byte, m host.Mapping, spans []host.Span) error {
	own := ownMapping(m)
	c.writing.Lock()
	defer c.writing.Unlock()
	err := own.enter("send")
	if err == nil {
		c.gathered = append(c.gathered[:0], head...)
		c.gathered, err = own.slices(c.gathered, spans)
		if err == nil {
			c.rest = c.gathered
			err = c.writeRest()
		}
		clear(c.gathered)
		own.mutex.RUnlock()
	}
	if err != nil {
		c.sever()
		return explain(err, "send the mapping of %s to %s", own.path, c.peer)
	}
	return nil
}
