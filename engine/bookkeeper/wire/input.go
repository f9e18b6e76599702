package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"lakebed/engine/host"
)

// Source is where Input reads from: a host.Conn.
type Source interface {
	// Read returns at least one byte, or an error.
	Read(p []byte) (int, error)
}

// Input cuts packets out of a byte stream, wherever the network happened to split it. Many small frames come with one
// read, and are handed out without being copied.
//
// Its buffer grows for a long frame, but only to twice of what has arrived: a peer that claims a long frame and sends
// none costs nothing. It is for one task.
type Input struct {
	memory     host.Memory
	buffer     []byte
	start, end int // the bytes that were read and not yet handed out
	base       int // the length of the buffer while no long frame is under way
	limit      int // the longest frame
}

// InputBytesMin is the shortest useful buffer: it must hold a length.
const InputBytesMin = 64

// NewInput makes an input with a buffer of at least InputBytesMin. Release gives it back.
func NewInput(memory host.Memory, bufferBytes, frameBytesMax int) *Input {
	base := max(bufferBytes, InputBytesMin)
	return &Input{memory: memory, buffer: memory.Get(base), base: base, limit: frameBytesMax}
}

// Release gives the buffer back. Packets that were handed out must not be used any more.
func (in *Input) Release() {
	in.memory.Put(in.buffer)
	in.buffer, in.start, in.end = nil, 0, 0
}

// Next returns the next packet if all of it has been read, and nil if not. The packet is valid until Fill. ErrMalformed
// if the stream holds a length that no frame may have.
func (in *Input) Next() ([]byte, error) {
	frame, err := in.frameBytes()
	if err != nil || frame == 0 || in.end-in.start < frame {
		return nil, err
	}
	packet := in.buffer[in.start+lengthBytes : in.start+frame : in.start+frame]
	in.start += frame
	return packet, nil
}

// frameBytes is the length of the frame that the unread bytes begin with, 0 if it is not known yet.
func (in *Input) frameBytes() (int, error) {
	unread := in.buffer[in.start:in.end]
	if len(unread) < lengthBytes {
		return 0, nil
	}
	length := binary.BigEndian.Uint32(unread)
	if length < headerBytes || uint64(length)+lengthBytes > uint64(in.limit) {
		return 0, fmt.Errorf("frame with %d bytes of packet, at most %d are allowed: %w",
			length, in.limit-lengthBytes, ErrMalformed)
	}
	return int(length) + lengthBytes, nil
}

// Partial reports whether a part of a frame has come: a peer that falls silent now is in the middle of something.
func (in *Input) Partial() bool { return in.end > in.start }

// Discard forgets what was read and not yet handed out. The stream cannot be cut into packets any more.
func (in *Input) Discard() { in.start, in.end = 0, 0 }

// Fill reads once from source, behind what is left. io.EOF comes only between frames; inside one it is
// io.ErrUnexpectedEOF.
func (in *Input) Fill(source Source) error {
	in.makeRoom()
	n, err := source.Read(in.buffer[in.end:])
	in.end += n
	if err == io.EOF && in.Partial() {
		return io.ErrUnexpectedEOF
	}
	return err
}

// makeRoom moves what is left to the front, and fits the buffer to it.
func (in *Input) makeRoom() {
	left := in.buffer[in.start:in.end]
	size := len(in.buffer)
	switch {
	case len(left) == size: // a frame that is longer than the buffer; the limit on frames bounds this
		size = min(2*size, max(in.limit, in.base))
	case size > in.base && len(left) < in.base/2:
		size = in.base // the long frame is gone
	}
	if size != len(in.buffer) {
		moved := in.memory.Get(size)
		copy(moved, left)
		in.memory.Put(in.buffer)
		in.buffer = moved
	} else if in.start > 0 {
		copy(in.buffer, left)
	}
	in.start, in.end = 0, len(left)
}
