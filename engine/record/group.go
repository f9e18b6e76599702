package record

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"lakebed/internal/invariant"
)

// Sizes of the framing, in bytes.
const (
	Align           = 4096
	FileHeaderBytes = Align
	GroupHeaderSize = 64
	HeaderSize      = 16
	MaxGroupBytes   = 1 << 28 // a decoder refuses longer groups before it allocates
	copyLimitBytes  = 2048    // longer bodies are gathered by reference instead of copied
	firstChunkBytes = Align   // most groups of a quiet log need no more
	chunkBytes      = 32 << 10
)

const (
	groupMagic = 0x4c475250 // "LGRP"
	flagFooter = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Kind tells a file's user what a record is. Zero is not a kind.
type Kind uint32

// Header is the encoded header of one record.
type Header [HeaderSize]byte

// MakeHeader encodes and checksums the header of a record whose body is the parts one after the other.
func MakeHeader(kind Kind, body []byte) (h Header) {
	binary.BigEndian.PutUint32(h[0:], uint32(len(body)))
	binary.BigEndian.PutUint32(h[8:], uint32(kind))
	binary.BigEndian.PutUint32(h[4:], crc32.Update(kindSum(kind), castagnoli, body))
	return h
}

// kindSum is the CRC32C of a header's bytes 8..15. It goes byte by byte, because what is given to crc32.Update escapes
// to the heap, and headers are made on the path of every entry.
func kindSum(kind Kind) uint32 {
	sum := ^uint32(0)
	for shift := 24; shift >= 0; shift -= 8 {
		sum = castagnoli[byte(sum)^byte(kind>>shift)] ^ sum>>8
	}
	for range 4 {
		sum = castagnoli[byte(sum)] ^ sum>>8
	}
	return ^sum
}

// BodyBytes is the length of the body that the header describes.
func (h *Header) BodyBytes() int { return int(binary.BigEndian.Uint32(h[0:])) }

// Kind is the kind of the record that the header describes.
func (h *Header) Kind() Kind { return Kind(binary.BigEndian.Uint32(h[8:])) }

// Matches reports whether body is what the header was made for.
func (h *Header) Matches(body []byte) bool {
	if h.BodyBytes() != len(body) {
		return false
	}
	if binary.BigEndian.Uint32(h[12:]) != 0 {
		return false
	}
	return crc32.Update(kindSum(h.Kind()), castagnoli, body) == binary.BigEndian.Uint32(h[4:])
}

// Group gathers records for one write. It belongs to one task at a time and is reused by Reset.
//
// Small bodies are copied, so that a group of many is one vector; long ones are referenced and must stay unchanged
// until the write has returned.
type Group struct {
	chunks  [][]byte // the first is of firstChunkBytes and begins with the group header, the others are of chunkBytes
	current int      // chunk in use
	fill    int      // bytes used of it
	vectors [][]byte
	open    bool // the last vector is the tail of the current chunk and may grow
	chain   uint32
	bytes   int
	count   int
}

// Reset empties the group and keeps its memory.
func (g *Group) Reset() {
	clear(g.vectors)
	g.vectors = g.vectors[:0]
	g.current, g.fill, g.chain, g.bytes, g.count = 0, 0, 0, 0, 0
	g.open = false
	if len(g.chunks) == 0 {
		g.chunks = append(g.chunks, make([]byte, firstChunkBytes))
	}
	g.extend(GroupHeaderSize) // for the header, which Seal writes
}

// Bytes is the length of all records so far, without header and padding.
func (g *Group) Bytes() int { return g.bytes }

// Count is the number of records so far.
func (g *Group) Count() int { return g.count }

// EncodedBytes is the space that a group of records of this total length takes in a file.
func EncodedBytes(records int) int64 {
	return (int64(GroupHeaderSize) + int64(records) + Align - 1) &^ (Align - 1)
}

// Append adds a record and returns the offset of its header from the start of the group.
func (g *Group) Append(h *Header, body []byte) int {
	invariant.Check(h.BodyBytes() == len(body), "a record's header was made for its body")
	if len(g.vectors) == 0 {
		g.Reset()
	}
	offset := GroupHeaderSize + g.bytes
	copied := g.copyIn(h[:])
	if len(body) <= copyLimitBytes {
		g.copyIn(body)
	} else {
		g.vectors = append(g.vectors, body)
		g.open = false
	}
	g.chain = crc32.Update(g.chain, castagnoli, copied)
	g.bytes += HeaderSize + len(body)
	g.count++
	return offset
}

// copyIn copies p to the end of the group and returns the copy.
func (g *Group) copyIn(p []byte) []byte {
	room := g.extend(len(p))
	copy(room, p)
	return room
}

// extend takes n bytes of a chunk, at most a page, as the end of the group. They hold what earlier groups left there.
func (g *Group) extend(n int) []byte {
	if g.fill+n > len(g.chunks[g.current]) {
		g.current, g.fill, g.open = g.current+1, 0, false
		if g.current == len(g.chunks) {
			g.chunks = append(g.chunks, make([]byte, chunkBytes))
		}
	}
	chunk := g.chunks[g.current]
	start := g.fill
	g.fill += n
	if g.open {
		last := len(g.vectors) - 1
		g.vectors[last] = g.vectors[last][:len(g.vectors[last])+n]
	} else {
		g.vectors = append(g.vectors, chunk[start:g.fill:len(chunk)])
		g.open = true
	}
	return chunk[start:g.fill]
}

// Seal is what a group's header says besides its records.
type Seal struct {
	Identity       uint64
	Sequence       uint64
	DurableThrough uint64
	Offset         int64
	Footer         bool
}

// Seal closes the group and returns what to write at s.Offset: whole pages. The vectors are valid until Reset. There is
// room to append one more.
func (g *Group) Seal(s Seal) [][]byte {
	invariant.Check(s.Offset%Align == 0, "a group starts on a page")
	if len(g.vectors) == 0 {
		g.Reset()
	}
	head := g.vectors[0][:GroupHeaderSize]
	putGroupHeader(head, s, uint32(g.bytes), uint32(g.count), g.chain)
	if pad := int(EncodedBytes(g.bytes)) - GroupHeaderSize - g.bytes; pad > 0 {
		clear(g.extend(pad))
	}
	g.vectors = slices.Grow(g.vectors, 1)
	return g.vectors
}

func putGroupHeader(head []byte, s Seal, bytes, count, chain uint32) {
	clear(head)
	binary.BigEndian.PutUint32(head[0:], groupMagic)
	binary.BigEndian.PutUint64(head[8:], s.Identity)
	binary.BigEndian.PutUint64(head[16:], s.Sequence)
	binary.BigEndian.PutUint64(head[24:], s.DurableThrough)
	binary.BigEndian.PutUint64(head[32:], uint64(s.Offset))
	binary.BigEndian.PutUint32(head[40:], bytes)
	binary.BigEndian.PutUint32(head[44:], count)
	binary.BigEndian.PutUint32(head[48:], chain)
	if s.Footer {
		binary.BigEndian.PutUint32(head[52:], flagFooter)
	}
	binary.BigEndian.PutUint32(head[4:], crc32.Checksum(head[8:GroupHeaderSize], castagnoli))
}

// groupHeader is a decoded, valid group header.
type groupHeader struct {
	Seal
	bytes int
	count int
	chain uint32
}

// parseGroupHeader decodes a header that its own checksum confirms.
func parseGroupHeader(head []byte) (groupHeader, bool) {
	if len(head) < GroupHeaderSize || binary.BigEndian.Uint32(head[0:]) != groupMagic {
		return groupHeader{}, false
	}
	if crc32.Checksum(head[8:GroupHeaderSize], castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return groupHeader{}, false
	}
	h := groupHeader{
		Seal: Seal{
			Identity:       binary.BigEndian.Uint64(head[8:]),
			Sequence:       binary.BigEndian.Uint64(head[16:]),
			DurableThrough: binary.BigEndian.Uint64(head[24:]),
			Offset:         int64(binary.BigEndian.Uint64(head[32:])),
			Footer:         binary.BigEndian.Uint32(head[52:])&flagFooter != 0,
		},
		bytes: int(binary.BigEndian.Uint32(head[40:])),
		count: int(binary.BigEndian.Uint32(head[44:])),
		chain: binary.BigEndian.Uint32(head[48:]),
	}
	return h, h.bytes <= MaxGroupBytes && h.count*HeaderSize <= h.bytes
}
