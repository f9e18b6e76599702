package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lakebed/engine/host"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// padded is b with zeros up to n bytes.
func padded(b []byte, n int) []byte { return append(slices.Clone(b), make([]byte, n-len(b))...) }

func mustEqual(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d bytes, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s differs at byte %d:\n got %x\nwant %x", what, i, got[i:min(i+32, len(got))], want[i:min(i+32, len(want))])
		}
	}
}

// TestGoldenFileHeader: files written today must be read by every later version.
func TestGoldenFileHeader(t *testing.T) {
	h := FileHeader{Kind: FileKind{'J', 'R', 'N', 'L'}, ID: 0x0102030405060708, Identity: 0xa1b2c3d4e5f60718}
	want := padded(unhex(t, `
		4c414b4542454431  4a524e4c 00000001  0102030405060708  a1b2c3d4e5f60718
		00000000000000000000000000000000000000000000000000000000  5f1cf833`), 4096)
	mustEqual(t, "file header", h.Encode(), want)
	got, err := DecodeFileHeader(want, h.Kind)
	if err != nil || got != h {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// TestGoldenGroup: header, two records and padding, byte for byte.
func TestGoldenGroup(t *testing.T) {
	var g Group
	for _, r := range []struct {
		kind Kind
		body string
	}{{1, "abc"}, {0xfeed, ""}} {
		h := MakeHeader(r.kind, []byte(r.body))
		g.Append(&h, []byte(r.body))
	}
	vectors := g.Seal(Seal{Identity: 0xa1b2c3d4e5f60718, Sequence: 9, DurableThrough: 8, Offset: 0x3000, Footer: true})
	want := padded(unhex(t, `
		4c475250 aaaa3302 a1b2c3d4e5f60718  0000000000000009  0000000000000008
		0000000000003000  00000023 00000002  a74d4851 00000001 0000000000000000
		00000003 b5c25712  00000001 00000000 616263
		00000000 8dcb2787  0000feed 00000000`), 4096)
	mustEqual(t, "group", bytes.Join(vectors, nil), want)
}

// TestEveryFlippedBitIsClassified flips each bit of a file of three groups behind which a footer follows, or not. The
// scan gives whole groups as they were written, or none from the damaged one on, and says what that means.
func TestEveryFlippedBitIsClassified(t *testing.T) {
	for _, footer := range []bool{false, true} {
		b := newBuilder(0x1122334455667788)
		ends := []int64{FileHeaderBytes}
		for i := range 3 {
			b.add(0, false, fmt.Sprint("first of ", i), "second", strings.Repeat("long", 20))
			ends = append(ends, b.offset)
		}
		if footer {
			b.add(0, true)
			ends = append(ends, b.offset)
		}
		whole := scan(&b.file, b.header, b.offset, 1)
		if whole.end != io.EOF || len(whole.groups) != len(ends)-1 {
			t.Fatalf("undamaged: %d groups, %v", len(whole.groups), whole.end)
		}
		for at := int64(FileHeaderBytes); at < b.offset; at++ {
			if in := at % Align; in > 300 && in%97 != 0 {
				continue // padding: a few samples do
			}
			for bit := range 8 {
				b.file.data[at] ^= 1 << bit
				expect := uint64(bit % 2) // whether the scanner knows where the file begins must not matter
				checkFlip(t, whole, scan(&b.file, b.header, b.offset, expect), ends, at, footer)
				b.file.data[at] ^= 1 << bit
			}
		}
	}
}

// usedBytes is how many bytes of a group its records reach; what follows is padding.
func usedBytes(bodies []string) int64 {
	n := int64(GroupHeaderSize)
	for _, body := range bodies {
		n += HeaderSize + int64(len(body))
	}
	return n
}

func checkFlip(t *testing.T, whole, got found, ends []int64, at int64, footer bool) {
	t.Helper()
	hit := 0
	for at >= ends[hit+1] {
		hit++
	}
	inPadding := at-ends[hit] >= usedBytes(whole.groups[hit])
	wantGroups, wantEnd := hit, ErrCorrupt
	switch {
	case inPadding:
		wantGroups, wantEnd = len(whole.groups), io.EOF
	case hit == len(whole.groups)-1:
		wantEnd = ErrTornTail
	}
	if len(got.groups) != wantGroups || !errors.Is(got.end, wantEnd) {
		t.Fatalf("footer %v, flip at %d in group %d: %d groups and %v; want %d and %v",
			footer, at, hit, len(got.groups), got.end, wantGroups, wantEnd)
	}
	for i := range got.groups {
		if !slices.Equal(got.groups[i], whole.groups[i]) || got.seals[i] != whole.seals[i] {
			t.Fatalf("flip at %d changed group %d", at, i)
		}
	}
}

// TestEveryFlippedBitOfAFileHeaderIsFound, as far as its bytes mean anything.
func TestEveryFlippedBitOfAFileHeaderIsFound(t *testing.T) {
	h := FileHeader{Kind: FileKind{'T', 'E', 'S', 'T'}, ID: 3, Identity: 4}
	page := h.Encode()
	for at := range 64 {
		for bit := range 8 {
			page[at] ^= 1 << bit
			if got, err := DecodeFileHeader(page, h.Kind); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("flip of bit %d at %d: %+v, %v", bit, at, got, err)
			}
			page[at] ^= 1 << bit
		}
	}
	if _, err := DecodeFileHeader(page, FileKind{'E', 'L', 'S', 'E'}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another kind: %v", err)
	}
}

// TestTruncationAtEveryOffset: a file may end anywhere. What is whole is found; the rest is torn, or nothing.
func TestTruncationAtEveryOffset(t *testing.T) {
	b := newBuilder(5)
	b.add(0, false, "one", "two")
	b.add(0, false, strings.Repeat("x", 5000))
	b.add(0, false, "three")
	ends := []int64{FileHeaderBytes, FileHeaderBytes + Align, FileHeaderBytes + 3*Align, FileHeaderBytes + 4*Align}
	whole := scan(&b.file, b.header, b.offset, 1)
	for size := int64(FileHeaderBytes); size <= b.offset; size++ {
		short := memoryFile{data: b.file.data[:size], chunk: 1000}
		for _, limit := range []int64{size, b.offset} { // told the true size, or one that the file does not have
			got := scan(&short, b.header, limit, 1)
			want, torn := 0, size
			for want < 3 && ends[want]+usedBytes(whole.groups[want]) <= size {
				torn = ends[want+1]
				want++
			}
			if want < 3 {
				torn = ends[want]
			}
			wantEnd := ErrTornTail
			if size <= torn {
				wantEnd = io.EOF
			}
			if len(got.groups) != want || !errors.Is(got.end, wantEnd) {
				t.Fatalf("size %d, told %d: %d groups and %v; want %d and %v", size, limit, len(got.groups), got.end, want, wantEnd)
			}
		}
	}
}

// TestATornLastGroupIsNotRot: what follows a bad group proves rot only if it knows the group as durable.
func TestATornLastGroupIsNotRot(t *testing.T) {
	for _, c := range []struct {
		lag  uint64
		want error
	}{{0, ErrCorrupt}, {1, ErrTornTail}, {2, ErrTornTail}} {
		b := newBuilder(5)
		b.add(0, false, "one")
		b.add(0, false, "two")
		at := b.offset
		b.add(0, false, "three")
		b.add(c.lag, false, "four")
		b.file.data[at+GroupHeaderSize]++
		got := scan(&b.file, b.header, b.offset, 1)
		if len(got.groups) != 2 || !errors.Is(got.end, c.want) {
			t.Errorf("lag %d: %d groups and %v, want %v", c.lag, len(got.groups), got.end, c.want)
		}
	}
}

// TestProofIsFoundHoweverFarItLies, also behind the window that is read at a time.
func TestProofIsFoundHoweverFarItLies(t *testing.T) {
	for _, pages := range []int{1, classifyPages - 1, classifyPages, classifyPages + 1, 3 * classifyPages} {
		b := newBuilder(5)
		b.add(0, false, strings.Repeat("x", pages*Align-200))
		b.add(0, false, "proof")
		b.file.chunk = 7777
		b.file.data[FileHeaderBytes]++
		if got := scan(&b.file, b.header, b.offset, 1); !errors.Is(got.end, ErrCorrupt) {
			t.Errorf("%d pages: %v", pages, got.end)
		}
	}
}

// TestAScanGoesOnBehindABadGroup wherever in it the bad bit is, if it is told that all was durable; a bad last group and one
// after the other are passed over too.
func TestAScanGoesOnBehindABadGroup(t *testing.T) {
	for _, bad := range [][]int{{0}, {1}, {3}, {0, 1}, {1, 3}, {0, 1, 2, 3}} {
		for _, at := range []int64{5, 20, GroupHeaderSize + 5, GroupHeaderSize + HeaderSize + 1, Align + 9} {
			b := newBuilder(5)
			body := strings.Repeat("x", Align)
			for range 4 {
				b.add(0, false, body)
			}
			size := EncodedBytes(HeaderSize + len(body))
			for _, group := range bad {
				b.file.data[FileHeaderBytes+int64(group)*size+at] ^= 1
			}
			s := NewScanner(&b.file, b.header, b.offset)
			s.Expect(1)
			good, skipped := 0, int64(0)
			for {
				from := s.Offset()
				_, err := s.NextDurable()
				if err == io.EOF {
					break
				}
				if err == nil {
					good++
					continue
				}
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				skipped += s.Skip() - from
			}
			if good != 4-len(bad) || skipped != int64(len(bad))*size {
				t.Errorf("groups %v bad at %d: %d were good and %d bytes skipped", bad, at, good, skipped)
			}
		}
	}
}

// TestRecycledAndForeignBytesAreRefused: only groups of this file, at their own place and in their own turn, count.
func TestRecycledAndForeignBytesAreRefused(t *testing.T) {
	old := newBuilder(111)
	for range 4 {
		old.add(0, false, "old")
	}
	fresh := newBuilder(222)
	fresh.add(0, false, "new")
	t.Run("another life of the file", func(t *testing.T) {
		data := slices.Concat(fresh.file.data, old.file.data[fresh.offset:])
		if got := scan(&memoryFile{data: data}, fresh.header, int64(len(data)), 1); len(got.groups) != 1 || !errors.Is(got.end, ErrTornTail) {
			t.Errorf("%d groups, %v", len(got.groups), got.end)
		}
	})
	t.Run("a group in another place", func(t *testing.T) {
		data := slices.Concat(old.file.data[:FileHeaderBytes+Align], old.file.data[FileHeaderBytes+2*Align:])
		if got := scan(&memoryFile{data: data}, old.header, int64(len(data)), 1); len(got.groups) != 1 || !errors.Is(got.end, ErrTornTail) {
			t.Errorf("%d groups, %v", len(got.groups), got.end)
		}
	})
	t.Run("a group out of turn", func(t *testing.T) {
		got := scan(&old.file, old.header, old.offset, 2)
		if len(got.groups) != 0 || !errors.Is(got.end, ErrCorrupt) {
			t.Errorf("%d groups, %v", len(got.groups), got.end)
		}
	})
	t.Run("zeros", func(t *testing.T) {
		data := padded(fresh.file.data, len(fresh.file.data)+5*Align)
		if got := scan(&memoryFile{data: data}, fresh.header, int64(len(data)), 1); len(got.groups) != 1 || got.end != io.EOF {
			t.Errorf("%d groups, %v", len(got.groups), got.end)
		}
	})
}

// TestAReadErrorIsNoEnd: a scan that could not read must not be taken for one that found nothing.
func TestAReadErrorIsNoEnd(t *testing.T) {
	b := newBuilder(5)
	b.add(0, false, "one")
	b.add(0, false, "two")
	for at := int64(FileHeaderBytes + 1); at < FileHeaderBytes+Align+usedBytes([]string{"two"}); at += 64 {
		b.file.failAt = at
		got := scan(&b.file, b.header, b.offset, 1)
		bad := errors.Is(got.end, ErrCorrupt) || errors.Is(got.end, ErrTornTail) || errors.Is(got.end, io.EOF)
		if !errors.Is(got.end, host.ErrIO) || bad {
			t.Fatalf("reads fail from %d on: %v", at, got.end)
		}
	}
}

// TestAHeaderThatClaimsTooMuchIsRefusedBeforeAllocation, although its checksum is good.
func TestAHeaderThatClaimsTooMuchIsRefusedBeforeAllocation(t *testing.T) {
	for _, c := range []struct{ bytes, count uint32 }{
		{1 << 31, 1}, {MaxGroupBytes + 1, 1}, {MaxGroupBytes, 1}, {1 << 20, 1}, {64, 5}, {0xffffffff, 0xffffffff}, {15, 1},
	} {
		b := newBuilder(5)
		b.file.data = padded(b.file.data, 3*Align)
		putGroupHeader(b.file.data[FileHeaderBytes:][:GroupHeaderSize],
			Seal{Identity: 5, Sequence: 1, Offset: FileHeaderBytes}, c.bytes, c.count, 0)
		b.file.longestRead = classifyPages * Align
		if got := scan(&b.file, b.header, int64(len(b.file.data)), 1); len(got.groups) != 0 || !errors.Is(got.end, ErrTornTail) {
			t.Errorf("%d bytes, %d records: %d groups, %v", c.bytes, c.count, len(got.groups), got.end)
		}
	}
}

// TestGroupsRoundTrip: whatever is appended is found, in order, at the offset that Append told.
func TestGroupsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBuilder(rapid.Uint64().Draw(t, "identity"))
		b.file.chunk = rapid.SampledFrom([]int{0, 1000, 4096}).Draw(t, "chunk")
		var want [][]string
		var offsets []int64
		for range rapid.IntRange(0, 4).Draw(t, "groups") {
			var bodies []string
			at := b.offset + GroupHeaderSize
			for range rapid.IntRange(0, 40).Draw(t, "records") {
				size := rapid.SampledFrom([]int{0, 1, 15, 100, copyLimitBytes - 1, copyLimitBytes, copyLimitBytes + 1, 9000}).Draw(t, "size")
				body := strings.Repeat(string(rune('a'+size%26)), size)
				bodies = append(bodies, body)
				offsets = append(offsets, at)
				at += HeaderSize + int64(size)
			}
			b.add(0, false, bodies...)
			want = append(want, bodies)
		}
		got := scan(&b.file, b.header, b.offset, 1)
		if got.end != io.EOF || len(got.groups) != len(want) {
			t.Fatalf("%d of %d groups, %v", len(got.groups), len(want), got.end)
		}
		for i := range want {
			if !slices.Equal(got.groups[i], want[i]) {
				t.Fatalf("group %d differs", i)
			}
		}
		for i, at := range flatOffsets(t, b) {
			if at != offsets[i] {
				t.Fatalf("record %d at %d, want %d", i, at, offsets[i])
			}
		}
	})
}

func flatOffsets(t *rapid.T, b *builder) (offsets []int64) {
	s := NewScanner(&b.file, b.header, b.offset)
	for {
		v, err := s.Next()
		if err == io.EOF {
			return offsets
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = v.Each(func(_ Kind, offset int64, _ []byte) error {
			offsets = append(offsets, offset)
			return nil
		})
	}
}

// TestAGroupKeepsNothingOfTheOneBefore: groups are reused, and old bytes must not show.
func TestAGroupKeepsNothingOfTheOneBefore(t *testing.T) {
	var reused, fresh Group
	for i := range 50 {
		body := bytes.Repeat([]byte{byte(i)}, 2000)
		h := MakeHeader(1, body)
		reused.Append(&h, body)
	}
	reused.Seal(Seal{})
	reused.Reset()
	for _, g := range []*Group{&reused, &fresh} {
		h := MakeHeader(2, []byte("x"))
		if at := g.Append(&h, []byte("x")); at != GroupHeaderSize {
			t.Errorf("first record at %d", at)
		}
		if g.Count() != 1 || g.Bytes() != HeaderSize+1 {
			t.Errorf("%d records, %d bytes", g.Count(), g.Bytes())
		}
	}
	seal := Seal{Identity: 1, Sequence: 2, Offset: Align}
	mustEqual(t, "reused group", bytes.Join(reused.Seal(seal), nil), bytes.Join(fresh.Seal(seal), nil))
}
