package partition

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"lakebed/engine/host"
)

// bytesFile is a file that is only read.
type bytesFile struct {
	host.File
	content []byte
}

func (f bytesFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.content).ReadAt(p, off)
}

func indexOf(items int) ([]byte, []pair) {
	all := make([]pair, items)
	for i := range all {
		all[i] = pair{uint64(10 + i*3), int64(i * 100)}
	}
	return encodeIndex(indexHeader{kind: kindIndex, base: 10, next: 900, logBytes: 1234, newest: 99, items: items}, all), all
}

// TestGoldenIndexFile: the bytes on disk, where they are not zero. The checksums were computed by another program.
func TestGoldenIndexFile(t *testing.T) {
	b, _ := indexOf(2)
	if len(b) != 2*blockBytes {
		t.Fatalf("%d bytes", len(b))
	}
	header := "534c494e44455831" + "f1bda22c" + "00000001" + "000000000000000a" + "0000000000000384" + "00000000000004d2" + "0000000000000063" + "00000002"
	if got := hex.EncodeToString(b[:52]); got != header {
		t.Errorf("header\n%s\n%s", got, header)
	}
	block := "4bbcec06" + "00000001" + "00000002" + "00000000" + "000000000000000a0000000000000000" + "000000000000000d0000000000000064"
	if got := hex.EncodeToString(b[blockBytes:][:48]); got != block {
		t.Errorf("block\n%s\n%s", got, block)
	}
}

// TestIndexFilesAreSearchedLikeLists, with any number of items around the edges of blocks.
func TestIndexFilesAreSearchedLikeLists(t *testing.T) {
	block := make([]byte, blockBytes)
	for _, items := range []int{0, 1, 2, itemsPerBlock - 1, itemsPerBlock, itemsPerBlock + 1, 2 * itemsPerBlock, 5*itemsPerBlock + 7} {
		b, all := indexOf(items)
		h, err := readHeader(bytesFile{content: b}, block)
		if err != nil || h.items != items || h.next != 900 || h.logBytes != 1234 || h.newest != 99 {
			t.Fatalf("header %+v: %v", h, err)
		}
		for key := uint64(0); key < uint64(items*3+20); key++ {
			want, wantOK := atMost(all, key)
			got, ok, err := searchItems(bytesFile{content: b}, block, items, key)
			if err != nil || ok != wantOK || got != want {
				t.Fatalf("%d items, key %d: %+v %v %v, want %+v %v", items, key, got, ok, err, want, wantOK)
			}
		}
	}
}

// TestEveryFlippedBitOfAnIndexIsFound, in the header when it is opened and in a block when it is searched.
func TestEveryFlippedBitOfAnIndexIsFound(t *testing.T) {
	b, _ := indexOf(3)
	block := make([]byte, blockBytes)
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		_, err := readHeader(bytesFile{content: b}, block)
		if bit/8 >= blockBytes {
			_, _, err = searchItems(bytesFile{content: b}, block, 3, 13)
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d of byte %d: %v", bit%8, bit/8, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// FuzzIndex: any bytes are an index file, or ErrCorrupt.
func FuzzIndex(f *testing.F) {
	b, _ := indexOf(300)
	f.Add(b, 300, uint64(400))
	f.Add(b[:5000], 300, uint64(400))
	f.Fuzz(func(t *testing.T, b []byte, items int, key uint64) {
		block := make([]byte, blockBytes)
		if _, err := readHeader(bytesFile{content: b}, block); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		found, ok, err := searchItems(bytesFile{content: b}, block, min(max(items, 0), 1<<26), key)
		if err != nil && !errors.Is(err, ErrCorrupt) && err != io.EOF {
			t.Fatal(err)
		}
		if err == nil && ok && found.key > key {
			t.Fatalf("key %d is found for %d", found.key, key)
		}
	})
}

// TestGoldenSealedItem: the bytes on disk. The checksum was computed by another program.
func TestGoldenSealedItem(t *testing.T) {
	i := sealedItem{base: 10, next: 900, logBytes: 1234, newest: 99, indexItems: 2, timesItems: 1}
	want := "1f100fda" + "534c5331" + "000000000000000a" + "0000000000000384" + "00000000000004d2" + "0000000000000063" + "00000002" + "00000001" + strings.Repeat("00", 16)
	b := i.append(nil)
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("item\n%s\n%s", got, want)
	}
	if got, ok := decodeSealed(b); !ok || got != i {
		t.Errorf("%+v, %v", got, ok)
	}
	for bit := range len(b) * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if _, ok := decodeSealed(b); ok {
			t.Fatalf("bit %d of byte %d is not missed", bit%8, bit/8)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

// FuzzSealed: any bytes are an item of a sealed segment, which is written with the same bytes again, or none.
func FuzzSealed(f *testing.F) {
	i := sealedItem{base: 1, next: 2, logBytes: 3, newest: 4, indexItems: 5, timesItems: 6}
	f.Add(i.append(nil))
	f.Add([]byte("SLS1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if i, ok := decodeSealed(b); ok && !bytes.Equal(i.append(nil)[:48], b[:48]) && bytes.Equal(b[48:64], make([]byte, 16)) {
			t.Fatalf("%+v of % x", i, b)
		}
	})
}
