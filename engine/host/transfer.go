package host

// Span is a range of bytes of a file or of a mapping.
type Span struct{ Off, Len int64 }

// Mapper is what a File may offer besides: a mapping of its bytes.
type Mapper interface {
	// Map maps n bytes at off, which lie within the file now; io.ErrUnexpectedEOF if not. The mapping outlives the file's Close.
	Map(off, n int64) (Mapping, error)
}

// Mapping is a read-only view of a range of a file, offsets counted from its start. It shows what is written to the file
// later. It never hands out its memory: to touch a page whose byte cannot be read, because the device fails or the file was
// cut, kills a process, and nobody who holds a slice can know. Here that is an error that wraps ErrIO.
//
//   - A hole, or space that was allocated, reads as zeros.
//   - Behind the end of a file that was cut, a mapping may show zeros up to the end of the page, and fails with ErrIO behind
//     that. Both are no bytes of the file: who cannot exclude that files are cut must be able to tell by the bytes.
type Mapping interface {
	// ReadAt copies out of the mapping. io.EOF comes with n < len(p) at the mapping's end.
	ReadAt(p []byte, off int64) (int, error)
	// Advise says how a range will be read.
	Advise(s Span, a Advice)
	// Unmap ends the mapping and waits for the calls inside it. A second one is an error that wraps ErrClosed.
	Unmap() error
}

// SpanSender is what a Conn may offer besides: to send ranges of a file that do not come through the process. Both methods
// send head and then the spans, in order and without anything between, or break the connection, as WriteBuffers does.
// They fail as it does, and besides with ErrIO if the file's bytes cannot be read, io.ErrUnexpectedEOF if a span reaches
// behind the end, and ErrClosed if the file is closed. What is sent is what the file holds while it is sent: whoever lets
// others write there meanwhile sends a mixture.
type SpanSender interface {
	// SendFile keeps a Close of the file waiting until it is done: as long as the peer is slow, up to the connection's limit.
	SendFile(head [][]byte, f File, spans []Span) error
	// SendMapped does the same out of a mapping, whose Unmap waits.
	SendMapped(head [][]byte, m Mapping, spans []Span) error
}

// Advice says how a part of a file will be read. It never changes what is read.
type Advice uint8

// The kinds of advice, as posix_fadvise and madvise know them. The first three are of a whole file or mapping as a rule.
const (
	AdviseNormal     Advice = iota // the machine guesses
	AdviseSequential               // read far ahead
	AdviseRandom                   // read nothing ahead
	AdviseWillNeed                 // read it now, without waiting
	AdviseDontNeed                 // what is cached of it and not dirty may go
)

// Adviser is what a File may offer besides: to be told how it will be read. Asked for through Advise.
type Adviser interface {
	Advise(s Span, a Advice)
}

// Advise tells the machine how a range of f will be read, where it wants to know. A length of 0 is all behind the offset.
func Advise(f File, s Span, a Advice) {
	if adviser, ok := f.(Adviser); ok {
		adviser.Advise(s, a)
	}
}
