package entrylog

import "lakebed/engine/bookkeeper/ledger"

// ledgerItems is what one log holds of one ledger, ascending by entry, each entry once.
type ledgerItems struct {
	ledger   ledger.ID
	items    []item
	sequence uint64
}

// encodeIndex builds the index of a log: all blocks, and the directory it contains. parts are ascending by ledger.
func encodeIndex(identity uint64, dataEnd int64, parts []ledgerItems) ([]byte, []directoryItem) {
	items := 0
	for _, part := range parts {
		items += len(part.items)
	}
	blocks := (items+itemsPerBlock-1)/itemsPerBlock + (len(parts)+directoryPerBlock-1)/directoryPerBlock + 1
	e := indexEncoder{identity: identity, out: make([]byte, 0, blocks*blockBytes)}
	directory := make([]directoryItem, 0, len(parts))
	var t trailer
	for _, part := range parts {
		directory = append(directory, directoryItem{
			ledger: part.ledger, first: part.items[0].entry, last: part.items[len(part.items)-1].entry,
			firstItem: t.items, count: uint32(len(part.items)), sequence: part.sequence,
		})
		for _, it := range part.items {
			putItem(e.next(blockItems, itemBytes), it)
		}
		t.items += uint32(len(part.items))
		t.sequence = max(t.sequence, part.sequence)
	}
	t.itemBlocks = e.end()
	for _, d := range directory {
		putDirectoryItem(e.next(blockDirectory, directoryBytes), d)
	}
	t.directoryBlocks = e.end() - t.itemBlocks
	t.dataEnd, t.ledgers = dataEnd, uint32(len(directory))
	putTrailer(e.next(blockTrailer, 0), t)
	e.end()
	return e.out, directory
}

// indexEncoder fills blocks one after the other.
type indexEncoder struct {
	identity uint64
	out      []byte
	sealed   uint32 // blocks done
	kind     blockKind
	count    int // items in the open block; 0: none is open
}

// next returns the room for one more item of a kind.
func (e *indexEncoder) next(kind blockKind, size int) []byte {
	if e.count > 0 && (e.kind != kind || e.count == perBlock(kind)) {
		e.end()
	}
	if e.count == 0 {
		e.out = append(e.out, make([]byte, blockBytes)...)
		e.kind = kind
	}
	at := int(e.sealed)*blockBytes + blockHeaderBytes + e.count*size
	e.count++
	return e.out[at:]
}

// end seals the open block and returns how many there are.
func (e *indexEncoder) end() uint32 {
	if e.count > 0 {
		block := e.out[int(e.sealed)*blockBytes:]
		sealBlock(block, e.identity, e.sealed, e.kind, e.count)
		e.sealed++
		e.count = 0
	}
	return e.sealed
}
