package workloads

import (
	"encoding/binary"
	"math/bits"

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

// digest stands for stored bytes in the history. It is made at every add and read, so it goes by words: each is folded
// in by the two halves of a product, so that every bit of it reaches every bit of the digest.
func digest(stored []byte) model.Digest {
	h := uint64(len(stored))
	for ; len(stored) >= 8; stored = stored[8:] {
		h = foldWord(h, binary.LittleEndian.Uint64(stored))
	}
	var rest [8]byte
	copy(rest[:], stored)
	return model.Digest(foldWord(h, binary.LittleEndian.Uint64(rest[:])))
}

func foldWord(h, word uint64) uint64 {
	high, low := bits.Mul64(h^0x9e3779b97f4a7c15, word^0xd1b54a32d192ed03)
	return high ^ low ^ bits.RotateLeft64(h, 23)
}
