package record

import (
	"errors"
	"io"

	"lakebed/engine/host"
)

// memoryFile is a host.File in memory. Reads move at most chunk bytes a call, to show who forgets to loop; a read of
// more than longestRead bytes is refused, to show who believes a length that the file cannot hold.
type memoryFile struct {
	data        []byte
	chunk       int
	longestRead int
	failAt      int64 // reads from here on fail; 0: none
}

var errTooLong = errors.New("a read is longer than the file")

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if f.longestRead > 0 && len(p) > f.longestRead {
		return 0, errTooLong
	}
	if f.failAt > 0 && off+int64(len(p)) > f.failAt {
		return 0, host.ErrIO
	}
	if f.chunk > 0 {
		p = p[:min(len(p), f.chunk)]
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteBuffersAt(b [][]byte, off int64) (int64, error) {
	var n int64
	for _, p := range b {
		end := off + n + int64(len(p))
		if end > int64(len(f.data)) {
			f.data = append(f.data, make([]byte, end-int64(len(f.data)))...)
		}
		n += int64(copy(f.data[off+n:], p))
	}
	return n, nil
}

func (f *memoryFile) Sync() error                 { return nil }
func (f *memoryFile) Allocate(off, n int64) error { return f.Truncate(max(off+n, int64(len(f.data)))) }
func (f *memoryFile) Size() (int64, error)        { return int64(len(f.data)), nil }
func (f *memoryFile) Close() error                { return nil }

func (f *memoryFile) Truncate(n int64) error {
	if n > int64(len(f.data)) {
		f.data = append(f.data, make([]byte, n-int64(len(f.data)))...)
	}
	f.data = f.data[:n]
	return nil
}

// builder writes a record file the way its users do.
type builder struct {
	file     memoryFile
	header   FileHeader
	group    Group
	offset   int64
	sequence uint64
}

func newBuilder(identity uint64) *builder {
	b := &builder{header: FileHeader{Kind: FileKind{'T', 'E', 'S', 'T'}, ID: 7, Identity: identity}, offset: FileHeaderBytes}
	b.file.data = b.header.Encode()
	return b
}

// add writes one group of the bodies, all of kind 5. durableThrough is relative: how many groups before it are synced
// for certain; 0 means all.
func (b *builder) add(lag uint64, footer bool, bodies ...string) {
	b.sequence++
	for _, body := range bodies {
		h := MakeHeader(5, []byte(body))
		b.group.Append(&h, []byte(body))
	}
	size := EncodedBytes(b.group.Bytes())
	vectors := b.group.Seal(Seal{
		Identity: b.header.Identity, Sequence: b.sequence, DurableThrough: b.sequence - 1 - lag, Offset: b.offset, Footer: footer,
	})
	if _, err := host.WriteFull(&b.file, vectors, b.offset); err != nil {
		panic(err)
	}
	b.offset += size
	b.group.Reset()
}

// found is what a scan gave: groups as lists of bodies, and the error that ended it.
type found struct {
	groups [][]string
	seals  []Seal
	end    error
}

func scan(f host.File, header FileHeader, size int64, expect uint64) (all found) {
	s := NewScanner(f, header, size)
	s.Expect(expect)
	for {
		v, err := s.Next()
		if err != nil {
			all.end = err
			return all
		}
		var bodies []string
		if err := v.Each(func(kind Kind, _ int64, body []byte) error {
			if kind != 5 {
				return errors.New("another kind")
			}
			bodies = append(bodies, string(body))
			return nil
		}); err != nil {
			all.end = err
			return all
		}
		all.groups, all.seals = append(all.groups, bodies), append(all.seals, v.Seal)
	}
}
