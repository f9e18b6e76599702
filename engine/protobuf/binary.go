package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrMalformed means that bytes are no message.
var ErrMalformed = errors.New("malformed protobuf message")

// Number is a field's number.
type Number int32

// numberMax is the largest number that the format has.
const numberMax = 1<<29 - 1

// Kind is a field's wire type.
type Kind uint8

// The wire types.
const (
	Varint  Kind = 0
	Fixed64 Kind = 1
	Bytes   Kind = 2
	Fixed32 Kind = 5
)

// Field is one field of a message. Value is set for Varint and Fixed64, Data for Bytes; Fixed32 carries neither, and is
// only passed over.
type Field struct {
	Number Number
	Kind   Kind
	Value  uint64
	Data   []byte
}

// Next cuts the first field off b. Data aliases b.
func Next(b []byte) (f Field, rest []byte, err error) {
	rest, err = f.Cut(b)
	if err != nil {
		return Field{}, nil, err
	}
	return f, rest, nil
}

// Cut is Next into a field that is there, for those who look at many.
func (f *Field) Cut(b []byte) (rest []byte, err error) {
	tag, b, err := cutVarint(b)
	if err != nil {
		return nil, err
	}
	if number := tag >> 3; number == 0 || number > numberMax {
		return nil, fmt.Errorf("field number %d: %w", number, ErrMalformed)
	}
	f.Number, f.Kind, f.Value, f.Data = Number(tag>>3), Kind(tag&7), 0, nil
	size := uint64(0)
	switch f.Kind {
	case Varint:
		f.Value, b, err = cutVarint(b)
	case Fixed64:
		if size = 8; len(b) >= 8 {
			f.Value = binary.LittleEndian.Uint64(b)
		}
	case Fixed32:
		size = 4
	case Bytes:
		size, b, err = cutVarint(b)
	default:
		err = fmt.Errorf("wire type %d: %w", f.Kind, ErrMalformed)
	}
	if err == nil && size > uint64(len(b)) {
		err = fmt.Errorf("%d bytes where %d are left: %w", size, len(b), ErrMalformed)
	}
	if err != nil {
		return nil, fmt.Errorf("field %d: %w", f.Number, err)
	}
	if f.Kind == Bytes {
		f.Data = b[:size:size]
	}
	return b[size:], nil
}

func cutVarint(b []byte) (uint64, []byte, error) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], nil // most are so short
	}
	value, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, fmt.Errorf("no varint: %w", ErrMalformed)
	}
	return value, b[n:], nil
}

// Int64 is the value of a number.
func (f *Field) Int64() (int64, error) {
	if f.Kind != Varint {
		return 0, fmt.Errorf("field %d has wire type %d, want a number: %w", f.Number, f.Kind, ErrMalformed)
	}
	return int64(f.Value), nil
}

// Uint32 is the value of a number that fits 32 bits without a sign.
func (f *Field) Uint32() (uint32, error) {
	if f.Kind != Varint || f.Value > math.MaxUint32 {
		return 0, fmt.Errorf("field %d has wire type %d and value %d, want a number of 32 bits: %w", f.Number, f.Kind, f.Value, ErrMalformed)
	}
	return uint32(f.Value), nil
}

// Uint64 is the value of 8 bytes.
func (f *Field) Uint64() (uint64, error) {
	if f.Kind != Fixed64 {
		return 0, fmt.Errorf("field %d has wire type %d, want 8 bytes: %w", f.Number, f.Kind, ErrMalformed)
	}
	return f.Value, nil
}

// Int32 is the value of a number that fits 32 bits.
func (f *Field) Int32() (int32, error) {
	value, err := f.Int64()
	if err != nil {
		return 0, err
	}
	if value < math.MinInt32 || value > math.MaxInt32 {
		return 0, fmt.Errorf("field %d is %d, want 32 bits: %w", f.Number, value, ErrMalformed)
	}
	return int32(value), nil
}

// Raw is the value of a string, bytes or a message. It aliases the input.
func (f *Field) Raw() ([]byte, error) {
	if f.Kind != Bytes {
		return nil, fmt.Errorf("field %d has wire type %d, want bytes: %w", f.Number, f.Kind, ErrMalformed)
	}
	return f.Data, nil
}

// AppendInt appends a field that holds a number.
func AppendInt(b []byte, n Number, value int64) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|uint64(Varint))
	return binary.AppendUvarint(b, uint64(value))
}

// AppendFixed64 appends a field that holds 8 bytes.
func AppendFixed64(b []byte, n Number, value uint64) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|uint64(Fixed64))
	return binary.LittleEndian.AppendUint64(b, value)
}

// AppendBytes appends a field that holds bytes, a string or a message.
func AppendBytes[T ~string | ~[]byte](b []byte, n Number, value T) []byte {
	return append(AppendLength(b, n, len(value)), value...)
}

// AppendLength begins a field that holds so many bytes. The caller appends these.
func AppendLength(b []byte, n Number, length int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<3|uint64(Bytes))
	return binary.AppendUvarint(b, uint64(length))
}

// SizeOfInt is the length of a field that holds a number.
func SizeOfInt(n Number, value int64) int {
	return sizeOfVarint(uint64(n)<<3) + sizeOfVarint(uint64(value))
}

// SizeOfFixed64 is the length of a field that holds 8 bytes.
func SizeOfFixed64(n Number) int { return sizeOfVarint(uint64(n)<<3) + 8 }

// SizeOfBytes is the length of a field that holds so many bytes.
func SizeOfBytes(n Number, length int) int {
	return sizeOfVarint(uint64(n)<<3) + sizeOfVarint(uint64(length)) + length
}

func sizeOfVarint(value uint64) int { return (bits.Len64(value|1) + 6) / 7 }
