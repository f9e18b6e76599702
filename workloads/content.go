package workloads

import (
	"encoding/binary"
	"hash/crc64"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/model"
)

// content builds the stored bytes of one version of an entry. Versions of an entry differ in the LAC of the header, as
// those of BookKeeper's recovery do, and in the payload besides.
func content(buffer []byte, id ledger.ID, entry ledger.EntryID, version, payloadBytes int) []byte {
	n := ledger.HeaderBytes + payloadBytes
	if cap(buffer) < n {
		buffer = make([]byte, n)
	}
	p := buffer[:n]
	ledger.PutHeader(p, id, entry, entry-1-ledger.EntryID(version), int64(payloadBytes))
	state := uint64(id)*0x9e3779b97f4a7c15 ^ uint64(entry)*0xbf58476d1ce4e5b9 ^ uint64(version)*0x94d049bb133111eb | 1
	for at := ledger.HeaderBytes; at < n; at += 8 {
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

// digest stands for stored bytes in the history.
func digest(stored []byte) model.Digest { return model.Digest(crc64.Checksum(stored, polynomial)) }
