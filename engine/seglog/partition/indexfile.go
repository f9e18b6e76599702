package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sort"

	"lakebed/engine/host"
)

const (
	blockBytes    = 4096
	itemBytes     = 16
	itemsFrom     = 16
	itemsPerBlock = (blockBytes - itemsFrom) / itemBytes
	indexMagic    = "SLINDEX1"
)

// indexKind tells the two kinds of index files apart.
type indexKind uint32

const (
	kindIndex indexKind = 1
	kindTimes indexKind = 2
)

// indexHeader is the first block of an index file.
type indexHeader struct {
	kind       indexKind
	base, next Cursor
	logBytes   int64
	newest     Time
	items      int
}

func sum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// encodeIndex makes the content of an index file.
func encodeIndex(h indexHeader, items []pair) []byte {
	blocks := 1 + (len(items)+itemsPerBlock-1)/itemsPerBlock
	b := make([]byte, blocks*blockBytes)
	copy(b, indexMagic)
	binary.BigEndian.PutUint32(b[12:], uint32(h.kind))
	binary.BigEndian.PutUint64(b[16:], uint64(h.base))
	binary.BigEndian.PutUint64(b[24:], uint64(h.next))
	binary.BigEndian.PutUint64(b[32:], uint64(h.logBytes))
	binary.BigEndian.PutUint64(b[40:], uint64(h.newest))
	binary.BigEndian.PutUint32(b[48:], uint32(len(items)))
	binary.BigEndian.PutUint32(b[8:], sum(b[12:blockBytes]))
	for number := 1; number < blocks; number++ {
		encodeItems(b[number*blockBytes:][:blockBytes], number, items[(number-1)*itemsPerBlock:])
	}
	return b
}

func encodeItems(block []byte, number int, items []pair) {
	items = items[:min(len(items), itemsPerBlock)]
	binary.BigEndian.PutUint32(block[4:], uint32(number))
	binary.BigEndian.PutUint32(block[8:], uint32(len(items)))
	for i, item := range items {
		binary.BigEndian.PutUint64(block[itemsFrom+i*itemBytes:], item.key)
		binary.BigEndian.PutUint64(block[itemsFrom+i*itemBytes+8:], uint64(item.value))
	}
	binary.BigEndian.PutUint32(block, sum(block[4:]))
}

// decodeHeader reads the first block of an index file.
func decodeHeader(b []byte) (h indexHeader, err error) {
	if len(b) < blockBytes || string(b[:8]) != indexMagic || binary.BigEndian.Uint32(b[8:]) != sum(b[12:blockBytes]) {
		return h, fmt.Errorf("index header: %w", ErrCorrupt)
	}
	h = indexHeader{
		kind: indexKind(binary.BigEndian.Uint32(b[12:])), base: Cursor(binary.BigEndian.Uint64(b[16:])),
		next: Cursor(binary.BigEndian.Uint64(b[24:])), logBytes: int64(binary.BigEndian.Uint64(b[32:])),
		newest: Time(binary.BigEndian.Uint64(b[40:])), items: int(binary.BigEndian.Uint32(b[48:])),
	}
	if h.base < 0 || h.next < h.base || h.logBytes < 0 {
		return h, fmt.Errorf("index header of cursors %d to %d and %d bytes: %w", h.base, h.next, h.logBytes, ErrCorrupt)
	}
	return h, nil
}

// checkBlock looks whether a block of items is whole, and returns how many there are.
func checkBlock(block []byte, number int) (int, error) {
	if binary.BigEndian.Uint32(block) != sum(block[4:blockBytes]) || binary.BigEndian.Uint32(block[4:]) != uint32(number) {
		return 0, fmt.Errorf("index block %d: %w", number, ErrCorrupt)
	}
	count := int(binary.BigEndian.Uint32(block[8:]))
	if count < 1 || count > itemsPerBlock {
		return 0, fmt.Errorf("index block %d with %d items: %w", number, count, ErrCorrupt)
	}
	return count, nil
}

// itemAt reads an item of a block.
func itemAt(block []byte, i int) pair {
	at := itemsFrom + i*itemBytes
	return pair{binary.BigEndian.Uint64(block[at:]), int64(binary.BigEndian.Uint64(block[at+8:]))}
}

// readHeader reads the header of an index file. ErrCorrupt also if the file is too short.
func readHeader(f host.File, block []byte) (indexHeader, error) {
	if err := readBlock(f, block, 0); err != nil {
		return indexHeader{}, err
	}
	return decodeHeader(block)
}

func readBlock(f host.File, block []byte, number int) error {
	_, err := host.ReadFull(f, block, int64(number)*blockBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("index block %d is missing: %w", number, ErrCorrupt)
	}
	return err
}

// searchItems finds the last item of an index file whose key is at most that, among so many, with a block to read into.
// Not ok: all are larger. Nothing of the file is kept in memory.
func searchItems(f host.File, block []byte, items int, key uint64) (found pair, ok bool, err error) {
	low, high := 1, (items+itemsPerBlock-1)/itemsPerBlock // the block is among these, if there is one
	for low <= high {
		middle := (low + high + 1) / 2
		if err := readBlock(f, block, middle); err != nil {
			return pair{}, false, err
		}
		count, err := checkBlock(block, middle)
		if err != nil {
			return pair{}, false, err
		}
		larger := sort.Search(count, func(i int) bool { return itemAt(block, i).key > key })
		if larger == 0 {
			high = middle - 1
			continue
		}
		found, ok = itemAt(block, larger-1), true
		if larger < count {
			break
		}
		low = middle + 1 // the next block may begin with one that fits better
	}
	return found, ok, nil
}
