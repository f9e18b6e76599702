package inspection

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"lakebed/engine/host"
)

// Reader reads a file from its beginning, ChunkBytes at a time. At is where the next bytes are read, and the caller's to move.
type Reader struct {
	At   int64
	Size int64 // of what is to be read

	file   host.File
	behind error
	buffer []byte
	from   int64 // where the buffer begins
}

// NewReader reads a file of so many bytes. Behind is the answer to whoever asks for more.
func NewReader(f host.File, size int64, behind error) Reader {
	return Reader{Size: size, file: f, behind: behind}
}

// ChunkBytes is how much a Reader reads at once, if no more is asked for.
const ChunkBytes = 1 << 20

// Bytes returns n bytes at At, which are good until the next call.
func (r *Reader) Bytes(n int64) ([]byte, error) {
	if n < 0 || n > r.Size-r.At {
		return nil, r.behind
	}
	if off := r.At - r.from; off >= 0 && off+n <= int64(len(r.buffer)) {
		return r.buffer[off : off+n], nil
	}
	length := min(max(n, ChunkBytes), r.Size-r.At)
	r.buffer, r.from = slices.Grow(r.buffer[:0], int(length))[:length], r.At
	if _, err := host.ReadFull(r.file, r.buffer, r.At); err != nil {
		r.buffer = nil
		return nil, err
	}
	return r.buffer[:n], nil
}

// ReadAll reads a file of at most so many bytes. One that becomes shorter meanwhile ends in zeros.
func ReadAll(dir host.Dir, name string, bytesMax int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size > bytesMax {
		err = fmt.Errorf("%d bytes, more than %d", size, bytesMax)
	}
	var p []byte
	if err == nil {
		p = make([]byte, size)
		_, err = host.ReadFull(f, p, 0)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil // it was empty, or has become shorter
	}
	return p, errors.Join(err, f.Close())
}
