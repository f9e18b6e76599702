package bench

import (
	"math/rand/v2"

	"lakebed/internal/invariant"
)

// sourceBytes is how much memory the bytes to write rotate through: more than a processor's private caches hold.
const sourceBytes = 32 << 20

// source hands out random bytes, walking through its memory again and again.
type source struct {
	bytes []byte
	next  int
}

func newSource(size int, seed uint64) *source {
	p := make([]byte, size)
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	_, _ = rand.NewChaCha8(key).Read(p) // documented never to fail
	return &source{bytes: p}
}

// take returns the next n bytes in one piece. They are handed out again after a whole turn.
func (s *source) take(n int) []byte {
	invariant.Checkf(n <= len(s.bytes), "a source of %d bytes has no piece of %d", len(s.bytes), n)
	if s.next+n > len(s.bytes) {
		s.next = 0
	}
	s.next += n
	return s.bytes[s.next-n : s.next : s.next]
}

// takeVectors appends the next n bytes to into, in two pieces where the memory ends.
func (s *source) takeVectors(into [][]byte, n int) [][]byte {
	for n > 0 {
		piece := min(n, len(s.bytes)-s.next)
		into = append(into, s.bytes[s.next:s.next+piece])
		s.next = (s.next + piece) % len(s.bytes)
		n -= piece
	}
	return into
}

// share cuts a source into equal ones, each of at least least bytes.
func (s *source) share(parts, least int) []*source {
	each := len(s.bytes) / parts
	invariant.Checkf(each >= least, "a source of %d bytes has no %d parts of %d", len(s.bytes), parts, least)
	shares := make([]*source, parts)
	for i := range shares {
		shares[i] = &source{bytes: s.bytes[i*each : (i+1)*each : (i+1)*each]}
	}
	return shares
}
