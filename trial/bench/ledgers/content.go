package ledgers

import "math/rand/v2"

// contentBytes is how much memory payloads rotate through: more than the private caches of a processor hold.
const contentBytes = 8 << 20

// content hands out payloads of random bytes.
type content struct {
	bytes  []byte
	length int // of a payload
	at     int
}

func newContent(length int, seed uint64) *content {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	c := &content{bytes: make([]byte, max(contentBytes, length)), length: length}
	_, _ = rand.NewChaCha8(key).Read(c.bytes) // documented never to fail
	return c
}

// next returns a payload. It may be handed out again after a whole turn.
func (c *content) next() []byte {
	if c.at+c.length > len(c.bytes) {
		c.at = 0
	}
	c.at += c.length
	return c.bytes[c.at-c.length : c.at : c.at]
}
