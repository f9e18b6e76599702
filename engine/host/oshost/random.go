package oshost

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Rand derives a stream from the host's seed and the user's name. A cryptographic hash keeps streams of similar names
// apart: neighbouring start states of one PCG are correlated.
func (h *Host) Rand(name string) *rand.Rand {
	key := binary.LittleEndian.AppendUint64(nil, h.seed)
	sum := sha256.Sum256(append(key, name...))
	high, low := binary.LittleEndian.Uint64(sum[0:8]), binary.LittleEndian.Uint64(sum[8:16])
	return rand.New(rand.NewPCG(high, low))
}
