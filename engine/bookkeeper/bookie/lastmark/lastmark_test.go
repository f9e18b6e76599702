package lastmark

import (
	"encoding/hex"
	"testing"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
)

// TestGoldenSlot: marks are read by every later version.
func TestGoldenSlot(t *testing.T) {
	m := Mark{
		Journal: journal.Mark{Sequence: 0x0102030405060708, File: 0x11, First: 0x12},
		Table:   ledgertable.Position{File: 0x13, Sequence: 0x14},
	}
	const want = "4c4d524b" + "c7a2bc03" + "0000000000000007" + "0102030405060708" + "0000000000000011" +
		"0000000000000012" + "0000000000000013" + "0000000000000014" + "0000000000000000"
	p := make([]byte, slotBytes)
	encode(p, m, 7)
	if got := hex.EncodeToString(p); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	got, counter, ok := Decode(p)
	if got != m || counter != 7 || !ok {
		t.Errorf("decoded %+v, %d, %v", got, counter, ok)
	}
	for at := range p {
		for bit := range 8 {
			p[at] ^= 1 << bit
			if _, _, ok := Decode(p); ok {
				t.Errorf("flip of bit %d at %d went unnoticed", bit, at)
			}
			p[at] ^= 1 << bit
		}
	}
}

// FuzzSlot: a slot that is accepted is what its mark encodes to.
func FuzzSlot(f *testing.F) {
	p := make([]byte, slotBytes)
	encode(p, Mark{Journal: journal.Mark{Sequence: 1, File: 2, First: 3}}, 4)
	f.Add(p)
	f.Add(p[:10])
	f.Fuzz(func(t *testing.T, p []byte) {
		m, counter, ok := Decode(p)
		if !ok {
			return
		}
		again := make([]byte, slotBytes)
		encode(again, m, counter)
		if string(again[8:56]) != string(p[8:56]) {
			t.Fatalf("%x decodes to %+v", p[:slotBytes], m)
		}
	})
}
