package replicated

import (
	"encoding/binary"
	"hash/crc64"

	"lakebed/model"
)

// content is the payload of this number: its bytes follow from number and size, and no two numbers give the same.
func content(number uint64, size int) []byte {
	p := make([]byte, size)
	binary.BigEndian.PutUint64(p, number)
	state := number*0x9e3779b97f4a7c15 | 1
	for at := PayloadBytesMin; at < size; at += 8 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], state)
		copy(p[at:], word[:])
	}
	return p
}

var polynomial = crc64.MakeTable(crc64.ECMA)

// digest stands for a payload in the history.
func digest(payload []byte) model.Digest { return model.Digest(crc64.Checksum(payload, polynomial)) }
