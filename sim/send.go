package sim

import (
	"fmt"
	"io"
	"math"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

var (
	_ host.Mapper     = (*file)(nil)
	_ host.Adviser    = (*file)(nil)
	_ host.SpanSender = (*conn)(nil)
)

// sendChunkBytes is how much of a file is read at once while it is sent: between two chunks everything may happen.
const sendChunkBytes = 16 << 10

// mapping is a host.Mapping: a handle of its own, whose pages are read when they are looked at. There the disk may be slow,
// get stuck, or fail.
type mapping struct {
	file      *file
	off, size int64
}

// Map maps n bytes at off, which must lie within the file.
func (f *file) Map(off, n int64) (host.Mapping, error) {
	f.process.enter()
	size, err := f.inner.Size()
	if err != nil {
		return nil, err
	}
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, fmt.Errorf("map %d bytes at %d of %s, which has %d: %w", n, off, f.path.text, size, io.ErrUnexpectedEOF)
	}
	again, err := f.inner.Again()
	if err != nil {
		return nil, err
	}
	return &mapping{file: f.process.adopt(f.volume, again, f.path), off: off, size: n}, nil
}

func (m *mapping) ReadAt(p []byte, off int64) (int, error) {
	m.file.process.enter()
	if m.file.place == unset {
		return 0, fmt.Errorf("read the mapping of %s: %w", m.file.path.text, host.ErrClosed)
	}
	if off < 0 {
		return 0, fmt.Errorf("read at %d of the mapping of %s: %w", off, m.file.path.text, host.ErrIO)
	}
	wanted := len(p)
	p = p[:min(int64(wanted), max(m.size-off, 0))]
	n, err := host.ReadFull(m.file, p, m.off+off)
	switch {
	case err != nil: // a file that was cut has no such page
		return n, fmt.Errorf("read the mapping of %s: %w: %w", m.file.path.text, host.ErrIO, err)
	case n < wanted:
		return n, io.EOF
	}
	return n, nil
}

func (m *mapping) Unmap() error { return m.file.Close() }

// Advise is not heard: what a reader sees does not depend on it.
func (m *mapping) Advise(host.Span, host.Advice) { m.file.process.enter() }

// Advise drops what is not needed from the cache, where the media may hold something else. The rest is not heard.
func (f *file) Advise(s host.Span, a host.Advice) {
	f.process.enter()
	if a == host.AdviseDontNeed && s.Off >= 0 && s.Len >= 0 {
		if s.Len == 0 {
			s.Len = math.MaxInt64 - s.Off
		}
		f.inner.Drop(s.Off, s.Len)
	}
}

func (c *conn) SendFile(head [][]byte, f host.File, spans []host.Span) error {
	own, ok := f.(*file)
	invariant.Check(ok, "a file is sent by connections of the host that opened it")
	return c.send(head, spans, func(p []byte, off int64) error {
		_, err := host.ReadFull(own, p, off)
		return err
	})
}

func (c *conn) SendMapped(head [][]byte, m host.Mapping, spans []host.Span) error {
	own, ok := m.(*mapping)
	invariant.Check(ok, "a mapping is sent by connections of the host that made it")
	return c.send(head, spans, func(p []byte, off int64) error {
		n, err := own.ReadAt(p, off)
		if n < len(p) && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}

// send is one write of head and spans, whose bytes are read while it is under way. If that fails, what was sent before has
// gone out, and the connection breaks.
func (c *conn) send(head [][]byte, spans []host.Span, read func(p []byte, off int64) error) error {
	t := c.process.running()
	c.process.world.maybeYield(t, "send", c.label)
	if err := c.state("send"); err != nil {
		return err
	}
	total := c.noteSend(t, head)
	longest := int64(0)
	for _, s := range spans {
		total += s.Len
		longest = max(longest, s.Len)
	}
	if err := c.announce(total); err != nil {
		return err
	}
	if err := c.writeAll(t, head); err != nil {
		return err
	}
	buffer := make([]byte, min(longest, sendChunkBytes))
	for _, s := range spans {
		for done := int64(0); done < s.Len; {
			p := buffer[:min(s.Len-done, int64(len(buffer)))]
			err := read(p, s.Off+done)
			if gone := c.state("send"); gone != nil {
				return gone
			}
			if err != nil {
				c.abort()
				return fmt.Errorf("send %s: %w", c.label, err)
			}
			c.noteSend(t, [][]byte{p})
			if err := c.writeAll(t, [][]byte{p}); err != nil {
				return err
			}
			done += int64(len(p))
		}
	}
	return nil
}
