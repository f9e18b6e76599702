package entrylog

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

const testIdentity = 0xa1b2c3d4e5f60718

// goldenIndex is an index of two ledgers with three items, and the bytes it must have.
func goldenIndex() (blocks []byte, directory []directoryItem) {
	return encodeIndex(testIdentity, 0x2000, []ledgerItems{
		{ledger: 3, sequence: 9, items: []item{{5, 0x1040, 0x20}, {7, 0x1080, 0x10}}},
		{ledger: 0x0102030405060708, sequence: 8, items: []item{{0, 0x1100, 0x30}}},
	})
}

// TestGoldenIndex: closed logs are read by every later version.
func TestGoldenIndex(t *testing.T) {
	golden := []string{`
		4c494458 ac214bf8 a1b2c3d4e5f60718 00000000 00000001 00000003 00000000
		0000000000000005 00001040 00000020  0000000000000007 00001080 00000010
		0000000000000000 00001100 00000030`, `
		4c494458 2d9b85f5 a1b2c3d4e5f60718 00000001 00000002 00000002 00000000
		0000000000000003 0000000000000005 0000000000000007 00000000 00000002 0000000000000009
		0102030405060708 0000000000000000 0000000000000000 00000002 00000001 0000000000000008`, `
		4c494458 3c91cabe a1b2c3d4e5f60718 00000002 00000003 00000001 00000000
		0000000000002000 00000001 00000001 00000003 00000002 0000000000000009`,
	}
	blocks, directory := goldenIndex()
	if len(blocks) != len(golden)*blockBytes || len(directory) != 2 {
		t.Fatalf("%d bytes, %d ledgers", len(blocks), len(directory))
	}
	for i, text := range golden {
		want, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			t.Fatal(err)
		}
		got := blocks[i*blockBytes:][:blockBytes]
		if string(got[:len(want)]) != string(want) {
			t.Errorf("block %d\n got %x\nwant %x", i, got[:len(want)], want)
		}
		if slices.ContainsFunc(got[len(want):], func(b byte) bool { return b != 0 }) {
			t.Errorf("block %d is not filled with zeros", i)
		}
	}
}

// bytesFile is a read-only host.File.
type bytesFile struct {
	host.File
	data []byte
}

func (f *bytesFile) Size() (int64, error) { return int64(len(f.data)), nil }

func (f *bytesFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	if n := copy(p, f.data[off:]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

// closedLog is a log whose index is these blocks, behind data of 0x2000 bytes.
func closedLog(blocks []byte) *logFile {
	return &logFile{
		durable: 0x2000, header: record.FileHeader{Identity: testIdentity},
		file: &bytesFile{data: append(make([]byte, 0x2000), blocks...)},
	}
}

// TestIndexesRoundTrip at the edges of blocks.
func TestIndexesRoundTrip(t *testing.T) {
	for _, c := range []struct{ ledgers, items int }{
		{1, 1}, {1, itemsPerBlock}, {1, itemsPerBlock + 1}, {directoryPerBlock, 1}, {directoryPerBlock + 1, 3}, {300, 7},
	} {
		var parts []ledgerItems
		for l := range c.ledgers {
			part := ledgerItems{ledger: ledger.ID(l), sequence: uint64(l) + 1}
			for i := range c.items {
				part.items = append(part.items, item{entry: ledger.EntryID(3 * i), offset: uint32(i), size: uint32(l)})
			}
			parts = append(parts, part)
		}
		blocks, directory := encodeIndex(testIdentity, 0x2000, parts)
		got, sequence, err := readIndex(closedLog(blocks))
		if err != nil || sequence != uint64(c.ledgers) || !slices.Equal(got, directory) || len(got) != c.ledgers {
			t.Errorf("%+v: %d ledgers, sequence %d, %v", c, len(got), sequence, err)
		}
	}
}

// TestEveryFlippedBitOfAnIndexIsCorrupt: never another index, never a panic.
func TestEveryFlippedBitOfAnIndexIsCorrupt(t *testing.T) {
	blocks, _ := goldenIndex()
	for at := range blocks {
		if in := at % blockBytes; in > 150 && in%101 != 0 {
			continue
		}
		for bit := range 8 {
			blocks[at] ^= 1 << bit
			block := make([]byte, blockBytes)
			_, _, err := readIndex(closedLog(blocks))
			if at < blockBytes { // item blocks are read when they are needed
				err = readBlock(closedLog(blocks), block, 0, blockItems)
			}
			if !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("flip of bit %d at %d: %v", bit, at, err)
			}
			blocks[at] ^= 1 << bit
		}
	}
}

// reseal gives every block a good header checksum, so that what a fuzzer made is looked at at all.
func reseal(blocks []byte) []byte {
	blocks = append(blocks, make([]byte, (blockBytes-len(blocks)%blockBytes)%blockBytes)...)
	for at := 0; at < len(blocks); at += blockBytes {
		b := blocks[at:][:blockBytes]
		binary.BigEndian.PutUint32(b, blockMagic)
		binary.BigEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	}
	return blocks
}

// FuzzIndex reads indexes whose checksums are good and whose content is arbitrary.
func FuzzIndex(f *testing.F) {
	blocks, _ := goldenIndex()
	f.Add(blocks)
	f.Add(blocks[blockBytes:])
	f.Fuzz(func(t *testing.T, blocks []byte) {
		log := closedLog(reseal(blocks))
		directory, _, err := readIndex(log)
		if err != nil {
			if !errors.Is(err, record.ErrCorrupt) {
				t.Fatalf("neither an index nor corrupt: %v", err)
			}
			return
		}
		next := uint32(0)
		for i, d := range directory {
			if d.firstItem != next || d.count == 0 || d.first > d.last || i > 0 && d.ledger <= directory[i-1].ledger {
				t.Fatalf("ledger %d: %+v", i, d)
			}
			next += d.count
		}
		if int64(next) > int64(len(blocks)) {
			t.Fatalf("%d items in %d bytes", next, len(blocks))
		}
	})
}

// FuzzIndexBlock opens one block: a count that is accepted fits the block.
func FuzzIndexBlock(f *testing.F) {
	blocks, _ := goldenIndex()
	for i := range 3 {
		f.Add(blocks[i*blockBytes:][:blockBytes], uint32(i), uint32(i+1))
	}
	f.Fuzz(func(t *testing.T, block []byte, number, kind uint32) {
		count, err := openBlock(block, testIdentity, number, blockKind(kind))
		if err != nil {
			if !errors.Is(err, record.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if count < 0 || count > perBlock(blockKind(kind)) {
			t.Fatalf("%d items of kind %d", count, kind)
		}
	})
}

// FuzzTrailer: a trailer that fits a file points into it.
func FuzzTrailer(f *testing.F) {
	blocks, _ := goldenIndex()
	f.Add(blocks[2*blockBytes+blockHeaderBytes:][:32], int64(0x2000+3*blockBytes))
	f.Fuzz(func(t *testing.T, p []byte, fileBytes int64) {
		if len(p) < 32 {
			return
		}
		trailer := getTrailer(p)
		again := make([]byte, 32)
		putTrailer(again, trailer)
		if string(again) != string(p[:32]) {
			t.Fatalf("%x decodes and encodes to %x", p[:32], again)
		}
		if trailer.fits(fileBytes) && (trailer.dataEnd >= fileBytes || trailer.dataEnd < record.FileHeaderBytes) {
			t.Fatalf("%+v fits a file of %d bytes", trailer, fileBytes)
		}
	})
}

// TestNamesOfLogsAreCanonical: a name that only looks like one must not be opened, or removed, as a log.
func TestNamesOfLogsAreCanonical(t *testing.T) {
	for _, id := range []LogID{1, 0xab, 0xffffffff} {
		if got, ok := ParseFileName(FileName(id)); !ok || got != id {
			t.Errorf("%s: %d, %v", FileName(id), got, ok)
		}
	}
	for _, name := range []string{"", ".log", "00000000.log", "0000000A.log", "1.log", "000000001.log", "+0000001.log", "0x000001.log", "00000001.log.new"} {
		if id, ok := ParseFileName(name); ok {
			t.Errorf("%q was taken for log %d", name, id)
		}
	}
}

// TestCachesAreBoundedAndDropTheOldest.
func TestCachesAreBoundedAndDropTheOldest(t *testing.T) {
	h := newTestHost(t)
	c := newCache[int](h, "cache", 100)
	holds := func(key int) bool { return c.view(key, func([]byte) {}) }
	for i := range 10 {
		c.put(i, make([]byte, 30))
		if c.bytes > 100 || c.bytes != int64(30*len(c.nodes)) {
			t.Fatalf("%d bytes in %d values", c.bytes, len(c.nodes))
		}
	}
	if holds(6) || !holds(7) || !holds(8) || !holds(9) {
		t.Error("the oldest are not the ones that went")
	}
	holds(7) // now the most recently used
	c.put(10, make([]byte, 40))
	if !holds(7) || holds(8) {
		t.Error("use does not count")
	}
	c.put(7, make([]byte, 101)) // longer than the bound: not stored, and the old value must not stay
	if holds(7) {
		t.Error("a stale value was kept")
	}
	c.put(11, make([]byte, 100))
	if !holds(11) || len(c.nodes) != 1 {
		t.Error("a value of just the bound does not fit")
	}
	c.clear()
	if c.bytes != 0 || h.Memory().InUse() != 0 {
		t.Errorf("%d bytes, %d in hand after clear", c.bytes, h.Memory().InUse())
	}
}

// TestItemsAreFoundInTheirPartOfABlock: the first, the last, none below, between and above, and no more than are wanted.
func TestItemsAreFoundInTheirPartOfABlock(t *testing.T) {
	block := make([]byte, blockBytes)
	for i := range 10 {
		putItem(block[blockHeaderBytes+i*itemBytes:], item{entry: ledger.EntryID(10 * i), offset: uint32(i), size: 1})
	}
	for _, c := range []struct {
		entry ledger.EntryID
		most  int
		want  []uint32 // offsets
	}{
		{20, 1, []uint32{2}},
		{20, 3, []uint32{2, 3, 4}},
		{50, 2, []uint32{5, 6}},
		{70, 5, []uint32{7}},
		{10, 5, nil}, // of another ledger
		{80, 5, nil},
		{25, 5, nil},
		{71, 5, nil},
	} {
		part := searchItems(block, 2, 8, c.entry, c.most)
		var got []uint32
		for _, it := range part.items {
			got = append(got, it.offset)
		}
		if part.first != 20 || part.last != 70 || !slices.Equal(got, c.want) {
			t.Errorf("entry %d: %d..%d, items %v, want %v", c.entry, part.first, part.last, got, c.want)
		}
	}
}
