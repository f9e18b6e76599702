package bench

import (
	"bytes"
	"testing"
	"unsafe"
)

// TestASourceHandsOutEveryByteOncePerTurn, so that what is in flight is not written to.
func TestASourceHandsOutEveryByteOncePerTurn(t *testing.T) {
	s := newSource(1000, 1)
	start := unsafe.SliceData(s.bytes)
	end := uintptr(0)
	for range 1000 / 130 {
		p := s.take(130)
		at := uintptr(unsafe.Pointer(unsafe.SliceData(p))) - uintptr(unsafe.Pointer(start))
		if at < end || len(p) != 130 || cap(p) != 130 {
			t.Fatalf("a piece at %d of %d bytes (capacity %d) after one that ended at %d", at, len(p), cap(p), end)
		}
		end = at + 130
	}
	if again := s.take(130); unsafe.SliceData(again) != start {
		t.Error("the second turn does not begin at the start")
	}
}

// TestVectorsOfASourceGoAroundItsEnd and hold what the memory holds.
func TestVectorsOfASourceGoAroundItsEnd(t *testing.T) {
	s := newSource(1000, 1)
	twice := append(bytes.Clone(s.bytes), s.bytes...)
	for at := 0; at < 1000; at += 300 {
		got := bytes.Join(s.takeVectors(nil, 300), nil)
		if !bytes.Equal(got, twice[at:at+300]) {
			t.Fatalf("the bytes from %d on are not those of the memory", at)
		}
	}
}

func TestSharesOfASourceDoNotOverlap(t *testing.T) {
	s := newSource(1000, 1)
	for i, share := range s.share(8, 100) {
		p := share.take(125)
		for j := range p {
			if p[j] == byte(i+200) {
				continue
			}
			p[j] = byte(i + 200)
		}
	}
	for at, b := range s.bytes {
		if b != byte(at/125+200) {
			t.Fatalf("byte %d belongs to share %d as well", at, b-200)
		}
	}
}

// TestContentIsNotCompressible: a disk that compresses would flatter a line of equal bytes.
func TestContentIsNotCompressible(t *testing.T) {
	var counts [256]int
	s := newSource(1<<20, 1)
	for _, b := range s.bytes {
		counts[b]++
	}
	for value, count := range counts {
		if count < 3500 || count > 4700 {
			t.Errorf("byte %d comes %d times, want about 4096", value, count)
		}
	}
	if bytes.Equal(newSource(100, 1).bytes, newSource(100, 2).bytes) {
		t.Error("two seeds give the same content")
	}
}
