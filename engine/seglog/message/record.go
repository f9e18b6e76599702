package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// ErrCorrupt means that bytes are no record: torn, rotten, or never one.
var ErrCorrupt = errors.New("corrupt record")

// Cursor numbers the messages of a partition, from 0 and without gaps.
type Cursor int64

// HeaderBytes is the length of a record without its payload.
const HeaderBytes = 21

// The versions of a record.
const (
	versionMessage = 1
	versionFiller  = 255
)

// Record is one record of a log.
type Record struct {
	Cursor  Cursor
	Filler  bool
	Payload []byte
}

// Size is the length of a record with a payload of this length.
func Size(payload int) int64 { return HeaderBytes + int64(payload) }

// AppendRecord appends a message.
func AppendRecord(b []byte, cursor Cursor, payload []byte) []byte {
	start := len(b)
	b = appendHeader(b, cursor, versionMessage, len(payload))
	b = append(b, payload...)
	return seal(b, start)
}

// AppendFiller appends a filler of this length, which must be HeaderBytes at least.
func AppendFiller(b []byte, next Cursor, size int) []byte {
	start := len(b)
	b = appendHeader(b, next, versionFiller, size-HeaderBytes)
	end := len(b) + size - HeaderBytes
	b = slices.Grow(b, end-len(b))
	clear(b[len(b):end])
	return seal(b[:end], start)
}

func appendHeader(b []byte, cursor Cursor, version byte, payload int) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(cursor))
	b = binary.BigEndian.AppendUint32(b, uint32(HeaderBytes+payload))
	b = append(b, version, 0, 0, 0, 0)
	return binary.BigEndian.AppendUint32(b, uint32(payload))
}

// seal puts the checksum into the record that starts there and ends with b. Its field is zero so far.
func seal(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start+13:], crc32.Checksum(b[start:], castagnoli()))
	return b
}

// castagnoli is a table that the standard library makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// PeekSize reads the size out of the first HeaderBytes of a record, which say little by themselves: a caller bounds it.
func PeekSize(header []byte) int64 { return int64(binary.BigEndian.Uint32(header[8:])) }

// Heads reports whether the first HeaderBytes of a record are those of this cursor, and agree with one another.
func Heads(header []byte, cursor Cursor) bool {
	return binary.BigEndian.Uint64(header) == uint64(cursor) && Size(int(binary.BigEndian.Uint32(header[17:]))) == PeekSize(header)
}

// Decode reads the record that b starts with. Its payload aliases b. ErrCorrupt also if b ends before it does.
func Decode(b []byte) (r Record, size int64, err error) {
	if len(b) < HeaderBytes {
		return Record{}, 0, fmt.Errorf("%d bytes, less than a header: %w", len(b), ErrCorrupt)
	}
	size = PeekSize(b)
	payload := int64(binary.BigEndian.Uint32(b[17:]))
	version := b[12]
	switch {
	case size < HeaderBytes || size > int64(len(b)):
		return Record{}, 0, fmt.Errorf("size %d where %d bytes are: %w", size, len(b), ErrCorrupt)
	case payload != size-HeaderBytes:
		return Record{}, 0, fmt.Errorf("payload of %d in a record of %d bytes: %w", payload, size, ErrCorrupt)
	case version != versionMessage && version != versionFiller:
		return Record{}, 0, fmt.Errorf("version %d: %w", version, ErrCorrupt)
	}
	want := binary.BigEndian.Uint32(b[13:])
	if sum := checksum(b[:size]); sum != want {
		return Record{}, 0, fmt.Errorf("checksum %08x, want %08x: %w", sum, want, ErrCorrupt)
	}
	cursor := binary.BigEndian.Uint64(b)
	if cursor > 1<<63-1 {
		return Record{}, 0, fmt.Errorf("cursor %d: %w", cursor, ErrCorrupt)
	}
	return Record{Cursor: Cursor(cursor), Filler: version == versionFiller, Payload: b[HeaderBytes:size:size]}, size, nil
}

// checksum is that of a record, as if its field held zero.
func checksum(record []byte) uint32 {
	table := castagnoli()
	sum := ^crc32.Checksum(record[:13], table)
	for range 4 { // zeros, one by one: a slice of them would be made for each call
		sum = table[byte(sum)] ^ sum>>8
	}
	return crc32.Update(^sum, table, record[17:])
}
