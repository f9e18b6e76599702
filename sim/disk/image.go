package disk

import (
	"encoding/binary"
	"math/bits"

	"lakebed/engine/host"
)

// ImageHash is a hash of all that is durable: names, sizes, bytes and flaws of the media, and which names are links to
// one file. Zeros hash like holes. It is the same on every machine.
func (d *Disk) ImageHash() uint64 {
	return hashFolder(d.root.folder, 0, map[*node]uint64{})
}

// hashFolder numbers the files in the order of their paths, to tell a second name from a copy.
func hashFolder(f *folder, h uint64, known map[*node]uint64) uint64 {
	for _, name := range host.SortedKeys(f.durable) {
		n := f.durable[name]
		h = mixString(h, name)
		number, again := known[n]
		switch {
		case again:
			h = mix(h, number)
		case n.folder != nil:
			h = hashFolder(n.folder, mix(h, 1), known)
		default:
			known[n] = uint64(len(known))
			h = hashContent(n.content, mix(h, 2))
		}
	}
	return mix(h, uint64(len(f.durable)))
}

func hashContent(c *content, h uint64) uint64 {
	h = mix(h, uint64(c.mediaSize))
	c.each(0, func(i int64, s *slot) {
		if s.media != nil && !isZero(s.media[:]) {
			h = mixBytes(mix(h, uint64(i)), s.media[:])
		}
	})
	for _, f := range c.flaws {
		h = mix(mix(h, uint64(f.offset)), uint64(f.kind)<<8|uint64(f.bit))
	}
	return h
}

// mix folds a word into a hash. The product's halves meet, so that every bit of both reaches every bit of the result.
func mix(h, word uint64) uint64 {
	high, low := bits.Mul64(h^0x9e3779b97f4a7c15, word^0xd1b54a32d192ed03)
	return high ^ low ^ bits.RotateLeft64(h, 23)
}

func mixString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for i := range len(s) {
		h = mix(h, uint64(s[i]))
	}
	return h
}

// mixBytes folds in whole words; p is a page or a multiple of 32 bytes. Four chains run side by side: one alone would
// wait for each product before it begins the next.
func mixBytes(h uint64, p []byte) uint64 {
	a, b, c, d := h, h+1, h+2, h+3
	for ; len(p) >= 32; p = p[32:] {
		a = mix(a, binary.LittleEndian.Uint64(p))
		b = mix(b, binary.LittleEndian.Uint64(p[8:]))
		c = mix(c, binary.LittleEndian.Uint64(p[16:]))
		d = mix(d, binary.LittleEndian.Uint64(p[24:]))
	}
	return mix(mix(mix(a, b), c), d)
}
