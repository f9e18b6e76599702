package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"lakebed/engine/host"
)

// chunkFile moves at most chunk bytes a call, and fails at a limit. Only what the transfer loops use is there.
type chunkFile struct {
	host.File
	data  []byte
	chunk int
	fails error // at the end of data for reads, at limit for writes
	limit int64
	calls int
}

func (f *chunkFile) ReadAt(p []byte, off int64) (int, error) {
	f.calls++
	if off >= int64(len(f.data)) {
		if f.fails != nil {
			return 0, f.fails
		}
		return 0, io.EOF
	}
	return copy(p[:min(len(p), f.chunk)], f.data[off:]), nil
}

func (f *chunkFile) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	f.calls++
	flat := bytes.Join(b, nil)
	flat = flat[:min(len(flat), f.chunk)]
	if f.fails != nil && off+int64(len(flat)) > f.limit {
		flat = flat[:max(f.limit-off, 0)]
		f.data = append(f.data[:off], flat...)
		return int64(len(flat)), f.fails
	}
	f.data = append(f.data[:off], flat...)
	return int64(len(flat)), nil
}

// TestTransfersGoOnAfterEveryShortCount: for each chunk size the machine may choose, the bytes come whole.
func TestTransfersGoOnAfterEveryShortCount(t *testing.T) {
	buffers := [][]byte{[]byte("the "), nil, []byte("quick"), {}, []byte(" brown fox"), []byte(".")}
	want := bytes.Join(buffers, nil)
	for chunk := 1; chunk <= len(want)+1; chunk++ {
		f := &chunkFile{chunk: chunk}
		kept := fmt.Sprint(buffers)
		n, err := host.WriteFull(f, buffers, 0)
		if n != int64(len(want)) || err != nil || !bytes.Equal(f.data, want) {
			t.Errorf("chunks of %d: wrote %d of %d bytes, error %v: %q", chunk, n, len(want), err, f.data)
		}
		if fmt.Sprint(buffers) != kept {
			t.Fatalf("chunks of %d: the caller's buffers were changed", chunk)
		}
		got := make([]byte, len(want))
		if n, err := host.ReadFull(f, got, 0); n != len(want) || err != nil || !bytes.Equal(got, want) {
			t.Errorf("chunks of %d: read %d of %d bytes, error %v: %q", chunk, n, len(want), err, got)
		}
	}
}

// TestACountWithAnErrorSaysWhatWasTaken at each point at which a write may fail.
func TestACountWithAnErrorSaysWhatWasTaken(t *testing.T) {
	buffers := [][]byte{[]byte("abc"), []byte("defg"), []byte("hi")}
	for limit := range int64(9) {
		for chunk := 1; chunk <= 9; chunk++ {
			f := &chunkFile{chunk: chunk, limit: limit, fails: host.ErrNoSpace}
			n, err := host.WriteFull(f, buffers, 0)
			if n != limit || !errors.Is(err, host.ErrNoSpace) || string(f.data) != "abcdefghi"[:limit] {
				t.Errorf("limit %d, chunks of %d: wrote %d, error %v: %q", limit, chunk, n, err, f.data)
			}
		}
	}
}

func TestAReadThatFailsKeepsItsCount(t *testing.T) {
	f := &chunkFile{data: []byte("abcdef"), chunk: 4, fails: host.ErrIO}
	if n, err := host.ReadFull(f, make([]byte, 10), 0); n != 6 || !errors.Is(err, host.ErrIO) {
		t.Errorf("read %d bytes, error %v", n, err)
	}
	f.fails = nil
	if n, err := host.ReadFull(f, make([]byte, 10), 0); n != 6 || err != io.ErrUnexpectedEOF {
		t.Errorf("read %d bytes, error %v", n, err)
	}
	if n, err := host.ReadFull(f, nil, 100); n != 0 || err != nil {
		t.Errorf("read nothing: %d bytes, error %v", n, err)
	}
}

// TestAFileThatMakesNoProgressIsBroken instead of holding its task for ever.
func TestAFileThatMakesNoProgressIsBroken(t *testing.T) {
	f := &chunkFile{data: []byte("abcdef"), chunk: 0}
	if _, err := host.ReadFull(f, make([]byte, 3), 0); !errors.Is(err, host.ErrIO) {
		t.Errorf("read: %v", err)
	}
	if err := host.WriteFullAt(f, []byte("abc"), 0); !errors.Is(err, host.ErrIO) {
		t.Errorf("write: %v", err)
	}
	if f.calls > 100 {
		t.Errorf("took %d calls to give up", f.calls)
	}
}
