package record

import (
	"errors"
	"io"
	"testing"
)

// FuzzFileHeader: a header that is accepted is exactly what its encoding gives.
func FuzzFileHeader(f *testing.F) {
	h := FileHeader{Kind: FileKind{'T', 'E', 'S', 'T'}, ID: 1, Identity: 2}
	f.Add(h.Encode())
	f.Add(h.Encode()[:64])
	f.Add([]byte("LAKEBED1"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got, err := DecodeFileHeader(page, h.Kind)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("neither a header nor corrupt: %v", err)
			}
			return
		}
		if again := got.Encode(); string(again[:64]) != string(page[:64]) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", page[:64], got, again[:64])
		}
	})
}

// FuzzScanner reads arbitrary bytes behind a good file header: every end has its class, no group of another file
// comes, and no length is believed that the file cannot hold.
func FuzzScanner(f *testing.F) {
	const identity = 0x1122334455667788
	b := newBuilder(identity)
	b.add(0, false, "one", "two")
	b.add(0, false, "three")
	b.add(0, true)
	body := b.file.data[FileHeaderBytes:]
	f.Add(body, uint64(1), uint8(0))
	f.Add(body[:Align+70], uint64(0), uint8(7))
	f.Add(append(append([]byte(nil), body[Align:]...), body[:Align]...), uint64(0), uint8(1))
	f.Add(make([]byte, 2*Align), uint64(9), uint8(0))
	f.Fuzz(func(t *testing.T, behind []byte, expect uint64, chunk uint8) {
		data := append(b.header.Encode(), behind...)
		file := &memoryFile{data: data, chunk: int(chunk) * 100, longestRead: max(len(data), classifyPages*Align)}
		got := scan(file, b.header, int64(len(data)), expect)
		if got.end != io.EOF && !errors.Is(got.end, ErrTornTail) && !errors.Is(got.end, ErrCorrupt) {
			t.Fatalf("the scan ended with %v", got.end)
		}
		for i, seal := range got.seals {
			if seal.Identity != identity {
				t.Fatalf("group %d has identity %x", i, seal.Identity)
			}
			if i > 0 && seal.Sequence != got.seals[i-1].Sequence+1 || i == 0 && expect != 0 && seal.Sequence != expect {
				t.Fatalf("group %d has sequence %d, expected %d first", i, seal.Sequence, expect)
			}
			if seal.Offset%Align != 0 || seal.Offset+usedBytes(got.groups[i]) > int64(len(data)) {
				t.Fatalf("group %d at %d does not fit a file of %d", i, seal.Offset, len(data))
			}
		}
	})
}
