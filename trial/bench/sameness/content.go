package sameness

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"hash/fnv"
	"math/rand/v2"

	"lakebed/engine/bookkeeper/ledger"
)

// payload is what an entry holds. It follows from the script's seed, the ledger's name, the entry, and the bounds on its
// length.
func payload(seed uint64, name Name, entry ledger.EntryID, least, most int) []byte {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	random := rand.New(rand.NewPCG(seed^h.Sum64(), uint64(entry)))
	p := make([]byte, least+random.IntN(most-least+1))
	var word [8]byte
	for at := 0; at < len(p); at += len(word) {
		binary.BigEndian.PutUint64(word[:], random.Uint64())
		copy(p[at:], word[:])
	}
	return p
}

// contents is the digest of a ledger's entries: of each its id, its length and its bytes.
type contents struct{ hash hash.Hash }

func newContents() contents { return contents{sha256.New()} }

func (c contents) add(entry ledger.EntryID, payload []byte) {
	var head [16]byte
	binary.BigEndian.PutUint64(head[:8], uint64(entry))
	binary.BigEndian.PutUint64(head[8:], uint64(len(payload)))
	_, _ = c.hash.Write(head[:]) // it never fails
	_, _ = c.hash.Write(payload)
}

func (c contents) String() string { return hex.EncodeToString(c.hash.Sum(nil)) }
