package partition

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

// scanner reads the records of a log one after the other.
type scanner struct {
	file      host.File
	memory    host.Memory
	buffer    []byte
	from, to  int    // what of the buffer is read and not yet handed out
	position  int64  // of buffer[from] in the log
	end       int64  // of the log
	next      Cursor // the one to come
	recordMax int64  // a record that is longer was made under other settings, and is looked at twice
}

// found is a record with its place. Its bytes are good until the scanner reads on; see buffered.
type found struct {
	message.Record
	raw      []byte
	position int64
}

func newScanner(f host.File, memory host.Memory, config *Config) *scanner {
	longest := max(message.Size(config.MessageBytesMax), message.HeaderBytes+2*config.PadBytes)
	return &scanner{file: f, memory: memory, buffer: memory.Get(config.ReadChunkBytes), recordMax: longest}
}

// record returns the next one. io.EOF: that was the last. ErrCorrupt: what comes is none.
func (s *scanner) record() (found, error) {
	if s.position >= s.end {
		return found{}, io.EOF
	}
	if err := s.fill(message.HeaderBytes); err != nil {
		return found{}, err
	}
	header := s.buffer[s.from:]
	size := message.PeekSize(header)
	if size < message.HeaderBytes || size > s.end-s.position || size > s.recordMax && !message.Heads(header, s.next) {
		return found{}, fmt.Errorf("record of %d bytes at %d of %d: %w", size, s.position, s.end, ErrCorrupt)
	}
	if err := s.fill(int(size)); err != nil {
		return found{}, err
	}
	raw := s.buffer[s.from:][:size:size]
	r, _, err := message.Decode(raw)
	if err != nil {
		return found{}, fmt.Errorf("at %d: %w: %w", s.position, ErrCorrupt, err)
	}
	if r.Cursor != s.next {
		return found{}, fmt.Errorf("cursor %d at %d, want %d: %w", r.Cursor, s.position, s.next, ErrCorrupt)
	}
	f := found{Record: r, raw: raw, position: s.position}
	s.from += int(size)
	s.position += size
	if !r.Filler {
		s.next++
	}
	return f, nil
}

// buffered reports whether record will hand out another one without touching those handed out before.
func (s *scanner) buffered() bool {
	have := int64(s.to - s.from)
	return have >= message.HeaderBytes && message.PeekSize(s.buffer[s.from:]) <= have
}

// fill reads until n bytes lie in the buffer.
func (s *scanner) fill(n int) error {
	if s.to-s.from >= n {
		return nil
	}
	if int64(n) > s.end-s.position {
		return fmt.Errorf("%d bytes at %d of %d: %w", n, s.position, s.end, ErrCorrupt)
	}
	if n > len(s.buffer) {
		larger := s.memory.Get(n)
		copy(larger, s.buffer[s.from:s.to])
		s.memory.Put(s.buffer)
		s.buffer = larger
	} else {
		copy(s.buffer, s.buffer[s.from:s.to])
	}
	s.from, s.to = 0, s.to-s.from
	wanted := min(int64(len(s.buffer)), s.end-s.position)
	read, err := host.ReadFull(s.file, s.buffer[s.to:wanted], s.position+int64(s.to))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("log ends before %d: %w", s.position+wanted, ErrCorrupt)
	}
	if err != nil {
		return err
	}
	s.to += read
	return nil
}

// seek goes to the record of this cursor, which must lie there.
func (s *scanner) seek(position int64, next Cursor) {
	s.position, s.next, s.from, s.to = position, next, 0, 0
}

func (s *scanner) release() {
	s.memory.Put(s.buffer)
	s.buffer = nil
}
