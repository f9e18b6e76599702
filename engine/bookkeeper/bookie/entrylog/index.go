package entrylog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

const (
	blockBytes        = record.Align
	blockHeaderBytes  = 32
	itemBytes         = 16
	directoryBytes    = 40
	itemsPerBlock     = (blockBytes - blockHeaderBytes) / itemBytes
	directoryPerBlock = (blockBytes - blockHeaderBytes) / directoryBytes
	blockMagic        = 0x4c494458 // "LIDX"
)

type blockKind uint32

const (
	blockItems     blockKind = 1
	blockDirectory blockKind = 2
	blockTrailer   blockKind = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealBlock writes the header of a block whose items are in place.
func sealBlock(block []byte, identity uint64, number uint32, kind blockKind, count int) {
	binary.BigEndian.PutUint32(block[0:], blockMagic)
	binary.BigEndian.PutUint64(block[8:], identity)
	binary.BigEndian.PutUint32(block[16:], number)
	binary.BigEndian.PutUint32(block[20:], uint32(kind))
	binary.BigEndian.PutUint32(block[24:], uint32(count))
	binary.BigEndian.PutUint32(block[4:], crc32.Checksum(block[8:blockBytes], castagnoli))
}

// openBlock checks a block and returns how many items it holds.
func openBlock(block []byte, identity uint64, number uint32, kind blockKind) (int, error) {
	if len(block) != blockBytes || binary.BigEndian.Uint32(block) != blockMagic {
		return 0, fmt.Errorf("index block %d has no header: %w", number, record.ErrCorrupt)
	}
	if crc32.Checksum(block[8:], castagnoli) != binary.BigEndian.Uint32(block[4:]) {
		return 0, fmt.Errorf("index block %d fails its checksum: %w", number, record.ErrCorrupt)
	}
	if binary.BigEndian.Uint64(block[8:]) != identity || binary.BigEndian.Uint32(block[16:]) != number ||
		blockKind(binary.BigEndian.Uint32(block[20:])) != kind {
		return 0, fmt.Errorf("index block %d belongs elsewhere: %w", number, record.ErrCorrupt)
	}
	count := int(binary.BigEndian.Uint32(block[24:]))
	if count > perBlock(kind) {
		return 0, fmt.Errorf("index block %d claims %d items: %w", number, count, record.ErrCorrupt)
	}
	return count, nil
}

func perBlock(kind blockKind) int {
	switch kind {
	case blockItems:
		return itemsPerBlock
	case blockDirectory:
		return directoryPerBlock
	default:
		return 1
	}
}

func putItem(p []byte, it item) {
	binary.BigEndian.PutUint64(p[0:], uint64(it.entry))
	binary.BigEndian.PutUint32(p[8:], it.offset)
	binary.BigEndian.PutUint32(p[12:], it.size)
}

func getItem(p []byte) item {
	return item{
		entry:  ledger.EntryID(binary.BigEndian.Uint64(p[0:])),
		offset: binary.BigEndian.Uint32(p[8:]),
		size:   binary.BigEndian.Uint32(p[12:]),
	}
}

// itemAt reads the k-th item of an item block.
func itemAt(block []byte, k int) item { return getItem(block[blockHeaderBytes+k*itemBytes:]) }

// directoryItem is one ledger's part of a closed log.
type directoryItem struct {
	ledger    ledger.ID
	first     ledger.EntryID
	last      ledger.EntryID
	firstItem uint32
	count     uint32
	sequence  uint64
}

func putDirectoryItem(p []byte, d directoryItem) {
	binary.BigEndian.PutUint64(p[0:], uint64(d.ledger))
	binary.BigEndian.PutUint64(p[8:], uint64(d.first))
	binary.BigEndian.PutUint64(p[16:], uint64(d.last))
	binary.BigEndian.PutUint32(p[24:], d.firstItem)
	binary.BigEndian.PutUint32(p[28:], d.count)
	binary.BigEndian.PutUint64(p[32:], d.sequence)
}

func getDirectoryItem(p []byte) directoryItem {
	return directoryItem{
		ledger:    ledger.ID(binary.BigEndian.Uint64(p[0:])),
		first:     ledger.EntryID(binary.BigEndian.Uint64(p[8:])),
		last:      ledger.EntryID(binary.BigEndian.Uint64(p[16:])),
		firstItem: binary.BigEndian.Uint32(p[24:]),
		count:     binary.BigEndian.Uint32(p[28:]),
		sequence:  binary.BigEndian.Uint64(p[32:]),
	}
}

// trailer is the last block of a closed log.
type trailer struct {
	dataEnd         int64
	itemBlocks      uint32
	directoryBlocks uint32
	items           uint32
	ledgers         uint32
	sequence        uint64
}

func putTrailer(p []byte, t trailer) {
	binary.BigEndian.PutUint64(p[0:], uint64(t.dataEnd))
	binary.BigEndian.PutUint32(p[8:], t.itemBlocks)
	binary.BigEndian.PutUint32(p[12:], t.directoryBlocks)
	binary.BigEndian.PutUint32(p[16:], t.items)
	binary.BigEndian.PutUint32(p[20:], t.ledgers)
	binary.BigEndian.PutUint64(p[24:], t.sequence)
}

func getTrailer(p []byte) trailer {
	return trailer{
		dataEnd:         int64(binary.BigEndian.Uint64(p[0:])),
		itemBlocks:      binary.BigEndian.Uint32(p[8:]),
		directoryBlocks: binary.BigEndian.Uint32(p[12:]),
		items:           binary.BigEndian.Uint32(p[16:]),
		ledgers:         binary.BigEndian.Uint32(p[20:]),
		sequence:        binary.BigEndian.Uint64(p[24:]),
	}
}

// fits reports whether a trailer describes a file of this size.
func (t trailer) fits(fileBytes int64) bool {
	blocks := int64(t.itemBlocks) + int64(t.directoryBlocks) + 1
	return t.dataEnd >= record.FileHeaderBytes && t.dataEnd+blocks*blockBytes == fileBytes &&
		int64(t.items) <= int64(t.itemBlocks)*itemsPerBlock &&
		int64(t.ledgers) <= int64(t.directoryBlocks)*directoryPerBlock
}
