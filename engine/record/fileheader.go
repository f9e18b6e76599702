package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lakebed/engine/host"
)

const (
	fileMagic     = "LAKEBED1"
	formatVersion = 1
)

var (
	// ErrCorrupt says that bytes which were durable are no longer what was written.
	ErrCorrupt = errors.New("corrupt")
	// ErrTornTail says that the last group is bad and that nothing proves it was ever durable.
	ErrTornTail = errors.New("torn tail")
)

// FileKind is the four letters that tell what a file holds.
type FileKind [4]byte

// FileHeader is the first page of every file.
type FileHeader struct {
	Kind     FileKind
	ID       uint64
	Identity uint64
}

// Encode returns the page.
func (h FileHeader) Encode() []byte {
	page := make([]byte, FileHeaderBytes)
	copy(page[0:], fileMagic)
	copy(page[8:], h.Kind[:])
	binary.BigEndian.PutUint32(page[12:], formatVersion)
	binary.BigEndian.PutUint64(page[16:], h.ID)
	binary.BigEndian.PutUint64(page[24:], h.Identity)
	binary.BigEndian.PutUint32(page[60:], crc32.Checksum(page[:60], castagnoli))
	return page
}

// DecodeFileHeader checks a first page. ErrCorrupt if it is not a header of that kind.
func DecodeFileHeader(page []byte, kind FileKind) (FileHeader, error) {
	if len(page) < 64 {
		return FileHeader{}, fmt.Errorf("file header of %d bytes: %w", len(page), ErrCorrupt)
	}
	if string(page[:8]) != fileMagic {
		return FileHeader{}, fmt.Errorf("file header has magic %q: %w", page[:8], ErrCorrupt)
	}
	if crc32.Checksum(page[:60], castagnoli) != binary.BigEndian.Uint32(page[60:]) {
		return FileHeader{}, fmt.Errorf("file header fails its checksum: %w", ErrCorrupt)
	}
	if v := binary.BigEndian.Uint32(page[12:]); v != formatVersion {
		return FileHeader{}, fmt.Errorf("file header has version %d, want %d: %w", v, formatVersion, ErrCorrupt)
	}
	h := FileHeader{ID: binary.BigEndian.Uint64(page[16:]), Identity: binary.BigEndian.Uint64(page[24:])}
	copy(h.Kind[:], page[8:])
	if h.Kind != kind {
		return FileHeader{}, fmt.Errorf("file header says %q, want %q: %w", h.Kind[:], kind[:], ErrCorrupt)
	}
	return h, nil
}

// ReadFileHeader reads and checks the first page of f.
func ReadFileHeader(f host.File, kind FileKind) (FileHeader, error) {
	return readFileHeader(f, kind, make([]byte, FileHeaderBytes))
}

// ReadFileHeader is ReadFileHeader into the scanner's memory. Reset follows.
func (s *Scanner) ReadFileHeader(f host.File, kind FileKind) (FileHeader, error) {
	return readFileHeader(f, kind, s.scratch(FileHeaderBytes))
}

// VerifyFileHeader is ReadFileHeader for who wants the whole page to be as it was written, its empty part too.
func (s *Scanner) VerifyFileHeader(f host.File, kind FileKind) (FileHeader, error) {
	page := s.scratch(FileHeaderBytes)
	if _, err := host.ReadFull(f, page, 0); err != nil {
		return FileHeader{}, fmt.Errorf("read file header: %w", err)
	}
	for i, b := range page[64:] {
		if b != 0 {
			return FileHeader{}, fmt.Errorf("file header has %#x at %d, where nothing is written: %w", b, 64+i, ErrCorrupt)
		}
	}
	return DecodeFileHeader(page, kind)
}

func readFileHeader(f host.File, kind FileKind, page []byte) (FileHeader, error) {
	n, err := host.ReadFull(f, page, 0)
	if err != nil && n < 64 {
		return FileHeader{}, fmt.Errorf("read file header: %w", err)
	}
	return DecodeFileHeader(page[:n], kind)
}
