package record

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestAReusedGroupIsPaddedWithZeros: what an earlier, longer group left in the memory must not reach the file.
func TestAReusedGroupIsPaddedWithZeros(t *testing.T) {
	var g Group
	fill := func(bodies ...string) []byte {
		g.Reset()
		for _, body := range bodies {
			h := MakeHeader(5, []byte(body))
			g.Append(&h, []byte(body))
		}
		size := EncodedBytes(g.Bytes())
		whole := bytes.Join(g.Seal(Seal{Identity: 1, Sequence: 1}), nil)
		if int64(len(whole)) != size {
			t.Errorf("%d bytes, want %d", len(whole), size)
		}
		return whole
	}
	long := strings.Repeat("x", copyLimitBytes)
	for _, count := range []int{1, 2, 15, 16, 17, 40} {
		fill(slices.Repeat([]string{long}, count)...)
		whole := fill("short")
		if end := GroupHeaderSize + HeaderSize + len("short"); slices.ContainsFunc(whole[end:], func(b byte) bool { return b != 0 }) {
			t.Errorf("after %d long records the padding is not zero", count)
		}
	}
}

// TestGroupsOfEverySizeComeBack: the records fall on both sides of the ends of pages and of the memory they are
// gathered in.
func TestGroupsOfEverySizeComeBack(t *testing.T) {
	for _, size := range []int{1, 100, 1000, copyLimitBytes - HeaderSize, copyLimitBytes, copyLimitBytes + 1} {
		b := newBuilder(42)
		var want [][]string
		for count := range 3 * chunkBytes / (size + HeaderSize) {
			if count > 40 && count%97 != 0 {
				continue
			}
			var bodies []string
			for i := range count + 1 {
				bodies = append(bodies, strings.Repeat(string(rune('a'+i%26)), size))
			}
			b.add(0, false, bodies...)
			want = append(want, bodies)
		}
		got := scan(&b.file, b.header, int64(len(b.file.data)), 1)
		if !slices.EqualFunc(got.groups, want, slices.Equal[[]string]) {
			t.Errorf("size %d: %d groups, want %d: %v", size, len(got.groups), len(want), got.end)
		}
	}
}

// TestAScannerStartsAfresh with another file, whatever the first one left in its memory.
func TestAScannerStartsAfresh(t *testing.T) {
	first, second := newBuilder(1), newBuilder(2)
	first.add(0, false, strings.Repeat("first", 3000))
	second.add(0, false, "second")
	var s Scanner
	for range 2 {
		for _, b := range []*builder{first, second} {
			header, err := s.ReadFileHeader(&b.file, b.header.Kind)
			if err != nil || header != b.header {
				t.Fatalf("header %+v, want %+v: %v", header, b.header, err)
			}
			s.Reset(&b.file, header, int64(len(b.file.data)))
			s.Expect(1)
			if v, err := s.Next(); err != nil || v.Identity != b.header.Identity || v.Sequence != 1 {
				t.Errorf("group %+v: %v", v, err)
			}
			if _, err := s.Next(); err == nil {
				t.Error("a second group was found")
			}
		}
	}
}
