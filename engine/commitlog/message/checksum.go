package message

import (
	"encoding/binary"
	"hash/crc32"
)

// Rest is what of a record's checksum does not depend on where the record goes: that of body, topic and properties. A store
// computes it before it takes the lock under which offsets are given. The zero value says that nothing was computed.
type Rest struct {
	sum   uint32 // of the bytes behind the head
	shift uint32 // what moves the checksum of a head on by as many bytes
}

// restBytesMin is the length from which two parts pay: together they cost some 0.3 µs of the processor more than the whole,
// which is more than all of the checksum of a short message.
const restBytesMin = 4 << 10

// RestOf computes the part of the checksum that can be computed early. Of short messages it is none.
func RestOf(m *Message) Rest {
	n := m.restSize()
	if n < restBytesMin {
		return Rest{}
	}
	var short [2]byte
	sum := crc32.Update(0, castagnoli, m.Body)
	if len(m.Topic) > topicV1Max {
		binary.BigEndian.PutUint16(short[:], uint16(len(m.Topic)))
		sum = crc32.Update(sum, castagnoli, short[:])
	} else {
		short[0] = byte(len(m.Topic))
		sum = crc32.Update(sum, castagnoli, short[:1])
	}
	sum = crc32.Update(sum, castagnoli, m.Topic)
	binary.BigEndian.PutUint16(short[:], uint16(len(m.Properties)))
	sum = crc32.Update(sum, castagnoli, short[:])
	sum = crc32.Update(sum, castagnoli, m.Properties)
	return Rest{sum: sum, shift: shiftBy(n)}
}

// restSize is the number of bytes behind the head.
func (m *Message) restSize() int {
	n := len(m.Body) + 1 + len(m.Topic) + 2 + len(m.Properties)
	if len(m.Topic) > topicV1Max {
		n++
	}
	return n
}

// with is the checksum of a record of which the head is given, without its own field.
func (r Rest) with(head []byte) uint32 { return multiply(r.shift, checksum(head)) ^ r.sum }

// Checksums are remainders of polynomials over two elements, bits reversed: the highest bit is that of x^0. So the checksum of
// two strings behind each other is that of the first times x^(8n), plus that of the second of n bytes.
const (
	one uint32 = 1 << 31
	x   uint32 = 1 << 30
)

// squares are x^8, x^16, x^32 and so on, modulo the polynomial, as many as a length may have bits. They are only ever read.
var squares = func() (all [32]uint32) {
	square := x
	for range 3 {
		square = multiply(square, square)
	}
	for i := range all {
		all[i], square = square, multiply(square, square)
	}
	return all
}()

// shiftBy is x^(8n) modulo the polynomial.
func shiftBy(n int) uint32 {
	product := one
	for i := 0; n > 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			product = multiply(product, squares[i])
		}
	}
	return product
}

// multiply is a times b modulo the polynomial.
func multiply(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return product
}
