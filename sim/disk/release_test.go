package disk

import (
	"bytes"
	"testing"
)

// TestADiskMadeFromReleasedMemoryIsEmpty: what an earlier disk held must not show where the new one was never written,
// neither to readers nor on the media.
func TestADiskMadeFromReleasedMemoryIsEmpty(t *testing.T) {
	var images [2]uint64
	for round := range 20 {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", bytes.Repeat([]byte{'x'}, 100))
		write(t, f, 3*PageSize+5, []byte("y"))
		must(t, f.Truncate(6*PageSize+7))
		got := readAll(t, f)
		for i, b := range got {
			want := byte(0)
			if i < 100 {
				want = 'x'
			} else if i == 3*PageSize+5 {
				want = 'y'
			}
			if b != want {
				t.Fatalf("round %d: byte %d is %q, want %q", round, i, b, want)
			}
		}
		must(t, f.Sync())
		if images[round%2] = d.ImageHash(); round > 0 && images[0] != images[1] {
			t.Fatalf("round %d: another image", round)
		}
		garbage := durableFile(t, d, "garbage", bytes.Repeat([]byte{0xee}, 30*PageSize))
		write(t, garbage, 0, bytes.Repeat([]byte{0xdd}, 3*PageSize)) // cached, not synced
		d.Release()
	}
}
