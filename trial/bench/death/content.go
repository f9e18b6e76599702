package death

import (
	"encoding/binary"
	"math/rand/v2"

	"lakebed/engine/bookkeeper/ledger"
)

// Bounds on payloads.
const (
	payloadBytesMin = 24
	payloadBytesMax = 400
)

// Payload is what the entry of a ledger holds. Two entries never hold the same: it begins with what it is.
func Payload(seed uint64, id ledger.ID, entry ledger.EntryID) []byte {
	source := rand.NewPCG(seed^uint64(id)*0x9e3779b97f4a7c15, uint64(entry))
	p := make([]byte, payloadBytesMin+int(source.Uint64()%(payloadBytesMax-payloadBytesMin+1)), payloadBytesMax+8)
	binary.BigEndian.PutUint64(p, seed)
	binary.BigEndian.PutUint64(p[8:], uint64(id))
	binary.BigEndian.PutUint64(p[16:], uint64(entry))
	for at := payloadBytesMin; at < len(p); at += 8 {
		binary.LittleEndian.PutUint64(p[at:at+8], source.Uint64())
	}
	return p
}
