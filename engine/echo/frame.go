package echo

import (
	"encoding/binary"
	"fmt"
	"io"

	"lakebed/engine/host"
)

const headerBytes = 12

// frame is header and payload in one buffer of host.Memory.
type frame []byte

func newFrame(memory host.Memory, sequence uint64, payload []byte) frame {
	f := frame(memory.Get(headerBytes + len(payload)))
	binary.BigEndian.PutUint32(f[0:4], uint32(len(payload)))
	binary.BigEndian.PutUint64(f[4:12], sequence)
	copy(f[headerBytes:], payload)
	return f
}

func (f frame) sequence() uint64 { return binary.BigEndian.Uint64(f[4:12]) }

func (f frame) payload() []byte { return f[headerBytes:] }

// inputBytes is the space for what arrives ahead of the frame being read: many small frames come with one Read.
const inputBytes = 16 << 10

// input cuts frames out of the byte stream of a connection, wherever the network happened to split it.
type input struct {
	conn    host.Conn
	memory  host.Memory
	buffer  []byte
	unread  []byte // the part of buffer not yet taken
	payload int    // longest payload accepted
}

func newInput(conn host.Conn, memory host.Memory, payloadBytesMax int) *input {
	return &input{conn: conn, memory: memory, buffer: memory.Get(inputBytes), payload: payloadBytesMax}
}

func (in *input) release() { in.memory.Put(in.buffer) }

// next returns the next frame, which the caller owns. io.EOF comes only between frames.
func (in *input) next() (frame, error) {
	var header [headerBytes]byte
	if err := in.full(header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[0:4])
	if uint64(length) > uint64(in.payload) {
		return nil, fmt.Errorf("payload of %d bytes from %s, %d are allowed: %w", length, in.conn.Peer(), in.payload,
			ErrFrame)
	}
	f := frame(in.memory.Get(headerBytes + int(length)))
	copy(f, header[:])
	if err := in.full(f.payload()); err != nil {
		in.memory.Put(f)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return f, nil
}

// full fills p. io.EOF: the stream ended before the first byte of p.
func (in *input) full(p []byte) error {
	done := 0
	for done < len(p) {
		if len(in.unread) == 0 {
			n, err := in.conn.Read(in.buffer)
			if err == io.EOF && done > 0 {
				return io.ErrUnexpectedEOF
			}
			if err != nil {
				return err
			}
			in.unread = in.buffer[:n]
		}
		n := copy(p[done:], in.unread)
		in.unread = in.unread[n:]
		done += n
	}
	return nil
}
