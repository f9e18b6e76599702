package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrFrame says that bytes are no frame of this protocol.
var ErrFrame = errors.New("malformed frame")

// Operation is what a frame asks for or answers.
type Operation uint8

// The operations.
const (
	OpProduce Operation = 1
	OpPull    Operation = 2
)

// Sequence tells the requests of a connection apart.
type Sequence uint64

// The parts of a frame's head.
const (
	LengthBytes = 4
	HeadBytes   = LengthBytes + 1 + 8
)

// Code says how a request ended.
type Code uint8

// The codes.
const (
	Done           Code = iota
	Illegal             // the request can never be done
	NoQueue             // there is no such topic or queue
	OutcomeUnknown      // the message may be stored or not
	Failed              // the store has stopped after a failed write or sync
	Stopped             // the store is closing
	Corrupt             // what was asked for is damaged
	NoSpace             // the volume is full
	Unreadable          // a file could not be read, and may be later
)

// FrameLength reads how many bytes follow the first LengthBytes of a frame. most is the largest that is taken.
func FrameLength(p []byte, most int) (int, error) {
	n := binary.BigEndian.Uint32(p)
	if n < HeadBytes-LengthBytes || uint64(n) > uint64(most) {
		return 0, fmt.Errorf("a frame of %d bytes, %d to %d are taken: %w", n, HeadBytes-LengthBytes, most, ErrFrame)
	}
	return int(n), nil
}

// ParseHead takes what follows the length of a frame apart.
func ParseHead(p []byte) (op Operation, sequence Sequence, body []byte) {
	return Operation(p[0]), Sequence(binary.BigEndian.Uint64(p[1:])), p[HeadBytes-LengthBytes:]
}

// begin appends a head whose length end sets.
func begin(dst []byte, op Operation, sequence Sequence) []byte {
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = append(dst, byte(op))
	return binary.BigEndian.AppendUint64(dst, uint64(sequence))
}

// end sets the length of the frame that begins at start and that more bytes follow.
func end(dst []byte, start int, more int64) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(int64(len(dst)-start-LengthBytes)+more))
	return dst
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(text)))
	return append(dst, text...)
}

// cursor takes parts off the front of bytes. Once they do not suffice, everything is zero.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.short, c.rest = true, nil
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) uint8() uint8 {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if p := c.take(2); p != nil {
		return binary.BigEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if p := c.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) int64() int64 {
	if p := c.take(8); p != nil {
		return int64(binary.BigEndian.Uint64(p))
	}
	return 0
}

func (c *cursor) text() []byte { return c.take(uint64(c.uint16())) }

// done reports what is wrong with a body of which everything must have been taken.
func (c *cursor) done(what string) error {
	if c.short || len(c.rest) > 0 {
		return fmt.Errorf("%s of a wrong length: %w", what, ErrFrame)
	}
	return nil
}
