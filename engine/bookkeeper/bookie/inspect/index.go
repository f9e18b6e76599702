package inspect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/record"
)

// The layout of an entry log's index, as package entrylog documents it.
const (
	blockBytes       = record.Align
	blockHeaderBytes = 32
	blockMagic       = 0x4c494458
	itemBytes        = 16
	directoryBytes   = 40
	trailerBytes     = 32
	blockOfItems     = 1
	blockOfDirectory = 2
	blockOfTrailer   = 3
)

// blockItemBytes is how long an item is in a block of each kind; 0 for a kind that does not exist.
func blockItemBytes(kind uint32) int {
	switch kind {
	case blockOfItems:
		return itemBytes
	case blockOfDirectory:
		return directoryBytes
	case blockOfTrailer:
		return trailerBytes
	default:
		return 0
	}
}

// readBlock reads the block with this number and checks all that it says about itself.
func readBlock(f host.File, identity uint64, dataEnd int64, number int64) (kind uint32, items []byte, err error) {
	b := make([]byte, blockBytes)
	if _, err := host.ReadFull(f, b, dataEnd+number*blockBytes); err != nil {
		return 0, nil, err
	}
	sum := crc32.Checksum(b[8:], crc32.MakeTable(crc32.Castagnoli))
	kind = binary.BigEndian.Uint32(b[20:])
	count, size := int(binary.BigEndian.Uint32(b[24:])), blockItemBytes(kind)
	switch {
	case binary.BigEndian.Uint32(b) != blockMagic:
		return 0, nil, fmt.Errorf("index block %d has no header: %w", number, record.ErrCorrupt)
	case binary.BigEndian.Uint32(b[4:]) != sum:
		return 0, nil, fmt.Errorf("index block %d fails its checksum: %w", number, record.ErrCorrupt)
	case binary.BigEndian.Uint64(b[8:]) != identity:
		return 0, nil, fmt.Errorf("index block %d belongs to another log: %w", number, record.ErrCorrupt)
	case int64(binary.BigEndian.Uint32(b[16:])) != number:
		return 0, nil, fmt.Errorf("index block %d says that it is block %d: %w", number, binary.BigEndian.Uint32(b[16:]), record.ErrCorrupt)
	case size == 0 || count < 1 || count > (blockBytes-blockHeaderBytes)/size:
		return 0, nil, fmt.Errorf("index block %d of kind %d cannot hold %d items: %w", number, kind, count, record.ErrCorrupt)
	}
	return kind, b[blockHeaderBytes:][:count*size], nil
}

// trailerEnd finds where the groups of a log end, if its last block is a trailer.
func trailerEnd(f host.File, identity uint64, size int64) (int64, bool) {
	b := make([]byte, blockBytes)
	if size < record.FileHeaderBytes+blockBytes {
		return 0, false
	}
	if _, err := host.ReadFull(f, b, size-blockBytes); err != nil {
		return 0, false
	}
	end := int64(binary.BigEndian.Uint64(b[blockHeaderBytes:]))
	if end < record.FileHeaderBytes || end >= size || (size-end)%blockBytes != 0 {
		return 0, false
	}
	kind, _, err := readBlock(f, identity, end, (size-end)/blockBytes-1)
	return end, err == nil && kind == blockOfTrailer
}

// index is a log's index as it was read.
type index struct {
	items     []byte
	directory []byte
	trailer   []byte
	blocks    [4]int64 // of each kind
}

// lookAtIndex reads every block of a closed log's index and compares it with the log's records, entry by entry.
func (i *inspector) lookAtIndex(r *groupReader, l *Log, c *logContent, dataEnd int64) {
	x, err := readIndex(r.file, r.header.Identity, dataEnd, l.Bytes)
	if err == nil {
		err = x.agrees(dataEnd)
	}
	if err != nil {
		l.Index = "bad"
		i.report.found(inspection.Problem{Severity: inspection.Damage, Class: BadIndex, File: l.Name, Offset: dataEnd}, "%v", err)
		return
	}
	l.Index, l.IndexItems = "good", len(x.items)/itemBytes
	seen := map[ledger.ID]bool{}
	next := uint32(0)
	last := ledger.ID(-1)
	for d := x.directory; len(d) > 0; d = d[directoryBytes:] {
		id := ledger.ID(binary.BigEndian.Uint64(d))
		first, count := binary.BigEndian.Uint32(d[24:]), binary.BigEndian.Uint32(d[28:])
		if id <= last || first != next || int64(first)+int64(count) > int64(l.IndexItems) {
			i.mismatch(l, "the directory contradicts itself at ledger %d", id)
			return
		}
		last, next = id, first+count
		seen[id] = true
		i.compare(l, id, d, x.items[int(first)*itemBytes:][:int(count)*itemBytes], c.entries[id])
	}
	if int(next) != l.IndexItems {
		i.mismatch(l, "the directory covers %d of %d items", next, l.IndexItems)
	}
	i.lookForOmitted(l, c, seen)
}

func (i *inspector) mismatch(l *Log, format string, args ...any) {
	l.Index = "bad"
	i.report.found(inspection.Problem{Severity: inspection.Damage, Class: IndexMismatch, File: l.Name, Offset: l.DataEnd}, format, args...)
}

// compare checks one ledger's items against its records.
func (i *inspector) compare(l *Log, id ledger.ID, directory, items []byte, records map[ledger.EntryID]location) {
	wrong, first := 0, ""
	previous := ledger.EntryID(-1)
	for k := 0; k < len(items); k += itemBytes {
		entry := ledger.EntryID(binary.BigEndian.Uint64(items[k:]))
		at := location{int64(binary.BigEndian.Uint32(items[k+8:])), int(binary.BigEndian.Uint32(items[k+12:]))}
		if found, ok := records[entry]; !ok || found != at || entry <= previous {
			if wrong++; first == "" {
				first = fmt.Sprintf("entry %d is at %d with %d bytes in the index, at %d with %d in the log",
					entry, at.offset, at.size, found.offset, found.size)
			}
		}
		previous = entry
	}
	count := len(items) / itemBytes
	from, to := ledger.EntryID(binary.BigEndian.Uint64(directory[8:])), ledger.EntryID(binary.BigEndian.Uint64(directory[16:]))
	switch {
	case wrong > 0:
		i.mismatch(l, "%d of %d items of ledger %d are wrong: %s", wrong, count, id, first)
	case count != len(records):
		i.mismatch(l, "the index has %d entries of ledger %d, the log has %d", count, id, len(records))
	case count == 0 || ledger.EntryID(binary.BigEndian.Uint64(items)) != from || previous != to:
		i.mismatch(l, "the directory gives ledger %d the range %d to %d, which its items do not have", id, from, to)
	}
}

// lookForOmitted reports ledgers that have records and no place in the index. A rescan leaves deleted ones out.
func (i *inspector) lookForOmitted(l *Log, c *logContent, seen map[ledger.ID]bool) {
	for _, id := range host.SortedKeys(c.entries) {
		if seen[id] || i.table == nil || i.table.flags[id]&tableDeleted != 0 {
			continue
		}
		i.mismatch(l, "%d entries of ledger %d are not in the index", len(c.entries[id]), id)
	}
}

func readIndex(f host.File, identity uint64, dataEnd, size int64) (x index, err error) {
	if size <= dataEnd || (size-dataEnd)%blockBytes != 0 {
		return x, fmt.Errorf("%d bytes behind the groups are no index: %w", size-dataEnd, record.ErrCorrupt)
	}
	kindBefore := uint32(blockOfItems)
	for number := int64(0); number < (size-dataEnd)/blockBytes; number++ {
		kind, items, err := readBlock(f, identity, dataEnd, number)
		if err != nil {
			return x, err
		}
		if kind < kindBefore {
			return x, fmt.Errorf("index block %d of kind %d follows one of kind %d: %w", number, kind, kindBefore, record.ErrCorrupt)
		}
		kindBefore = kind
		x.blocks[kind]++
		switch kind {
		case blockOfItems:
			x.items = append(x.items, items...)
		case blockOfDirectory:
			x.directory = append(x.directory, items...)
		default:
			x.trailer = append(x.trailer, items...)
		}
	}
	return x, nil
}

// agrees compares the trailer with what was read.
func (x *index) agrees(dataEnd int64) error {
	if len(x.trailer) != trailerBytes {
		return fmt.Errorf("the index has %d bytes of trailers: %w", len(x.trailer), record.ErrCorrupt)
	}
	t := x.trailer
	said := [...]int64{
		int64(binary.BigEndian.Uint64(t)), int64(binary.BigEndian.Uint32(t[8:])), int64(binary.BigEndian.Uint32(t[12:])),
		int64(binary.BigEndian.Uint32(t[16:])), int64(binary.BigEndian.Uint32(t[20:])),
	}
	is := [...]int64{
		dataEnd, x.blocks[blockOfItems], x.blocks[blockOfDirectory],
		int64(len(x.items) / itemBytes), int64(len(x.directory) / directoryBytes),
	}
	if said != is {
		return fmt.Errorf("the trailer says %v, the index has %v (end of data, blocks of items and directory, items, ledgers): %w",
			said, is, record.ErrCorrupt)
	}
	return nil
}
