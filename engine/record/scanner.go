package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"lakebed/engine/host"
)

// classifyPages is how many pages classify reads at a time.
const classifyPages = 16

// View is one whole, verified group. It and its bytes are valid until the next call of Next.
type View struct {
	Seal
	EncodedBytes int64 // space it takes in the file
	records      []byte
}

// Each calls f with every record in order: kind, offset of its header in the file, body.
func (v *View) Each(f func(kind Kind, offset int64, body []byte) error) error {
	for at := 0; at < len(v.records); {
		h := (*Header)(v.records[at:])
		body := v.records[at+HeaderSize : at+HeaderSize+h.BodyBytes()]
		if err := f(h.Kind(), v.Offset+GroupHeaderSize+int64(at), body); err != nil {
			return err
		}
		at += HeaderSize + len(body)
	}
	return nil
}

// Scanner reads a file's groups in order.
type Scanner struct {
	file   host.File
	header FileHeader
	size   int64 // where reading stops; the file may be longer
	offset int64 // of the next group
	next   uint64
	buffer []byte
	view   View
}

// NewScanner starts behind the header of f and reads no further than size. The first group may have any sequence.
func NewScanner(f host.File, header FileHeader, size int64) *Scanner {
	s := new(Scanner)
	s.Reset(f, header, size)
	return s
}

// Reset starts with another file, as NewScanner does, and keeps the memory.
func (s *Scanner) Reset(f host.File, header FileHeader, size int64) {
	*s = Scanner{file: f, header: header, size: size, offset: FileHeaderBytes, buffer: s.buffer}
}

// Expect says which sequence the next group must have.
func (s *Scanner) Expect(sequence uint64) { s.next = sequence }

// Offset is where the next group would start.
func (s *Scanner) Offset() int64 { return s.offset }

// Next returns the next group. The errors that end a file:
//   - io.EOF: a page of zeros follows, or nothing at all: no group that was begun here was ever durable, since a synced
//     one would have its header there;
//   - ErrTornTail: what follows is not a valid group, and nothing behind it proves that it was durable;
//   - ErrCorrupt: what follows is not a valid group, and a later one says that it was durable.
//
// Anything else is a failure to read.
func (s *Scanner) Next() (*View, error) {
	view, err := s.advance()
	if err != nil && errors.Is(err, errNoGroup) {
		err = s.classify(err)
	}
	return view, err
}

// NextDurable is Next for who knows that everything was durable up to the size that the scanner was given: io.EOF there, and
// ErrCorrupt for whatever is no group before, without a search for proof.
func (s *Scanner) NextDurable() (*View, error) {
	if s.offset >= s.size {
		return nil, io.EOF
	}
	view, err := s.advance()
	if err != nil && errors.Is(err, errNoGroup) {
		err = fmt.Errorf("%w: %w", err, ErrCorrupt)
	}
	return view, err
}

// VerifyPadding reads what lies between a group and the page behind it, where nothing but zeros was written. The view must
// not be used any more. It returns where that begins.
func (s *Scanner) VerifyPadding(v *View) (from int64, err error) {
	from, end := v.Offset+GroupHeaderSize+int64(len(v.records)), v.Offset+v.EncodedBytes
	if from == end {
		return from, nil
	}
	padding, err := s.fetch(from, int(end-from))
	if err != nil {
		return from, err
	}
	for i, b := range padding {
		if b != 0 {
			return from, fmt.Errorf("%#x at %d, where nothing is written: %w", b, from+int64(i), ErrCorrupt)
		}
	}
	return from, nil
}

// Skip goes on behind a group that could not be read: at the next page that begins a later group of this file, or at the
// end. Pages that cannot be read are passed over. It returns where that is.
func (s *Scanner) Skip() int64 {
	for at := s.offset + Align; at+GroupHeaderSize <= s.size; at += Align {
		head, err := s.fetch(at, GroupHeaderSize)
		if err != nil {
			continue
		}
		h, ok := parseGroupHeader(head)
		if ok && h.Identity == s.header.Identity && h.Offset == at && h.Sequence > s.next {
			s.offset, s.next = at, h.Sequence
			return at
		}
	}
	s.offset = s.size
	return s.size
}

// advance reads the next group and goes behind it.
func (s *Scanner) advance() (*View, error) {
	view, err := s.read()
	if err != nil {
		return nil, err
	}
	s.offset += view.EncodedBytes
	s.next = view.Sequence + 1
	return view, nil
}

// errNoGroup says that the bytes at hand are no group of this file; classify tells what that means.
var errNoGroup = errors.New("no valid group")

func (s *Scanner) read() (*View, error) {
	head, err := s.fetch(s.offset, GroupHeaderSize)
	if err != nil {
		return nil, err
	}
	h, ok := parseGroupHeader(head)
	if !ok {
		return nil, fmt.Errorf("header at %d: %w", s.offset, errNoGroup)
	}
	if h.Identity != s.header.Identity || h.Offset != s.offset || (s.next != 0 && h.Sequence != s.next) {
		return nil, fmt.Errorf("header at %d is of another group: %w", s.offset, errNoGroup)
	}
	records, err := s.fetch(s.offset+GroupHeaderSize, h.bytes)
	if err != nil {
		return nil, err
	}
	if err := verifyRecords(records, h); err != nil {
		return nil, fmt.Errorf("group %d at %d: %w", h.Sequence, s.offset, err)
	}
	s.view = View{Seal: h.Seal, EncodedBytes: EncodedBytes(h.bytes), records: records}
	return &s.view, nil
}

// scratch returns n bytes of the buffer.
func (s *Scanner) scratch(n int) []byte {
	if cap(s.buffer) < n {
		s.buffer = make([]byte, max(n, 2*cap(s.buffer), Align))
	}
	return s.buffer[:n]
}

// fetch reads n bytes at off into the buffer. Bytes beyond the end are no group.
func (s *Scanner) fetch(off int64, n int) ([]byte, error) {
	if off+int64(n) > s.size {
		return nil, fmt.Errorf("%d bytes at %d of a file of %d: %w", n, off, s.size, errNoGroup)
	}
	p := s.scratch(n)
	if _, err := host.ReadFull(s.file, p, off); errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("file ends before %d: %w", off+int64(n), errNoGroup)
	} else if err != nil {
		return nil, fmt.Errorf("read %d bytes at %d: %w", n, off, err)
	}
	return p, nil
}

// verifyRecords checks that records are exactly the ones the header was made for.
func verifyRecords(records []byte, h groupHeader) error {
	var chain uint32
	count, at := 0, 0
	for at < len(records) {
		if len(records)-at < HeaderSize {
			return fmt.Errorf("%d bytes left behind record %d: %w", len(records)-at, count, errNoGroup)
		}
		rh := (*Header)(records[at:])
		n := rh.BodyBytes()
		if n > len(records)-at-HeaderSize {
			return fmt.Errorf("record %d claims %d bytes: %w", count, n, errNoGroup)
		}
		if !rh.Matches(records[at+HeaderSize : at+HeaderSize+n]) {
			return fmt.Errorf("record %d fails its checksum: %w", count, errNoGroup)
		}
		chain = crc32.Update(chain, castagnoli, rh[:])
		at += HeaderSize + n
		count++
	}
	if count != h.count || chain != h.chain {
		return fmt.Errorf("%d records do not fit the group's header: %w", count, errNoGroup)
	}
	return nil
}

// classify looks at everything from the failed group on. A later header of this file that knows the failed group as
// durable proves rot. Zeros where the group would begin: nothing durable was begun here. Anything else may be a write that
// a crash cut short.
func (s *Scanner) classify(cause error) error {
	window := s.scratch(int(min(classifyPages*Align, max(s.size-s.offset, 0))))
	empty := true // the page where the group would begin
	for at := s.offset; at < s.size; at += int64(len(window)) {
		n, err := host.ReadFull(s.file, window[:min(int64(len(window)), s.size-at)], at)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read behind the last group, at %d: %w", at, err)
		}
		if at == s.offset {
			empty = allZero(window[:min(n, Align)])
		}
		if h, ok := s.proof(window[:n], at); ok {
			return fmt.Errorf("%w, but group %d at %d knows it as durable: %w", cause, h.Sequence, h.Offset, ErrCorrupt)
		}
	}
	if empty {
		return io.EOF
	}
	return fmt.Errorf("%w: %w", cause, ErrTornTail)
}

// proof looks in a window of the file, which starts at at, for a group that knows the expected one as durable.
func (s *Scanner) proof(window []byte, at int64) (groupHeader, bool) {
	for ; len(window) >= GroupHeaderSize; at += Align {
		h, ok := parseGroupHeader(window)
		if ok && h.Identity == s.header.Identity && h.Offset == at && at > s.offset && s.provesDurable(h) {
			return h, true
		}
		window = window[min(Align, len(window)):]
	}
	return groupHeader{}, false
}

// provesDurable reports whether a later group's header proves that the expected one had been synced. Where the
// expected sequence is not known, a group that calls everything before it durable proves it.
func (s *Scanner) provesDurable(h groupHeader) bool {
	if s.next == 0 {
		return h.DurableThrough+1 == h.Sequence
	}
	return h.Sequence > s.next && h.DurableThrough >= s.next
}

func allZero(p []byte) bool {
	for len(p) >= 8 {
		if binary.NativeEndian.Uint64(p) != 0 {
			return false
		}
		p = p[8:]
	}
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}
