package disk

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// chooser makes the decisions of a crash. Tests enumerate them.
type chooser interface {
	// at says what the decisions that follow are about. They depend on nothing else.
	at(path string, subject int64)
	// pick returns a number from 0 to n-1.
	pick(n int64) int64
	// fill makes garbage.
	fill(p []byte)
}

// The subjects of decisions. A subject of zero or more is a page.
const (
	drawMode int64 = -1
	drawSize int64 = -2
	drawName int64 = -1000 // and below: the changes of a name, in order
)

// seeded draws each subject's decisions from a stream of its own.
type seeded struct {
	base   uint64
	source rand.PCG
}

func (s *seeded) at(path string, subject int64) {
	key := mixString(s.base, path)
	s.source.Seed(key, mix(key, uint64(subject)))
}

func (s *seeded) pick(n int64) int64 {
	high, _ := bits.Mul64(s.source.Uint64(), uint64(n))
	return int64(high)
}

func (s *seeded) fill(p []byte) {
	var word [8]byte
	for len(p) > 0 {
		binary.LittleEndian.PutUint64(word[:], s.source.Uint64())
		p = p[copy(p, word[:]):]
	}
}
