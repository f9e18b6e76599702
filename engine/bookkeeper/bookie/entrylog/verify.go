package entrylog

import (
	"fmt"
	"sort"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Verifier reads settled logs as a scrubber does: every byte that was written, past all caches, and the index against the
// records. It belongs to one task, and holds the memory of one group and one block.
type Verifier struct {
	logs  *Logs
	keep  func(ledger.ID) bool
	leave func(bytes int64) error
	bad   func(Flaw)

	scanner record.Scanner
	log     *logFile // a view of the log at hand, whose file is slow
	damaged []span   // of bad groups

	directory []directoryItem // nil: there is no index to compare with
	items     uint32          // that the index has
	unread    map[uint32]bool // item blocks that are bad
	block     []byte          // the item block read last
	number    uint32          // and its number
	loaded    bool
	next      uint32 // the item that the next record should have
	matched   uint32 // items whose record is where they say
	unplaced  uint32 // records for which the index could not be read: none of them proves that an item has no record
}

// span is a range of bytes.
type span struct{ from, to int64 }

func (s span) holds(offset int64) bool { return s.from <= offset && offset < s.to }

// NewVerifier makes a verifier. keep says whether a ledger is still wanted; leave is asked before each read, which then may
// wait, and its error ends the work; bad is told of each flaw.
func (l *Logs) NewVerifier(keep func(ledger.ID) bool, leave func(bytes int64) error, bad func(Flaw)) *Verifier {
	return &Verifier{logs: l, keep: keep, leave: leave, bad: bad, block: make([]byte, blockBytes)}
}

// Verify reads one log. The error is that of leave; a log that is gone has no flaws.
func (v *Verifier) Verify(id LogID) error {
	f := v.logs.pin(id)
	if f == nil {
		return nil
	}
	defer v.logs.unpin(f)
	slow := &slowFile{File: f.file, leave: v.leave}
	v.log = &logFile{id: id, file: slow, header: f.header, durable: f.durable}
	v.damaged, v.directory, v.unread = v.damaged[:0], nil, map[uint32]bool{}
	v.items, v.next, v.matched, v.unplaced, v.loaded = 0, 0, 0, 0, false
	found := func(flaw Flaw) {
		if slow.refused == nil {
			v.found(flaw)
		}
	}
	verifyHeader(&v.scanner, slow, f.header, found)
	if f.closed {
		v.index()
	}
	v.scanner.Reset(slow, f.header, f.durable)
	v.scanner.Expect(1)
	verifyGroups(&v.scanner, found, v.compare)
	if slow.refused == nil {
		v.unmatched()
	}
	return slow.refused
}

func (v *Verifier) found(flaw Flaw) {
	flaw.Log = v.log.id
	if flaw.Part == PartGroup {
		v.damaged = append(v.damaged, span{flaw.Offset, flaw.Offset + flaw.Bytes})
	}
	v.bad(flaw)
}

// refused reports that leave was refused: nothing that is seen from then on is a flaw.
func (v *Verifier) refused() bool { return v.log.file.(*slowFile).refused != nil }

// index reads all blocks of the index.
func (v *Verifier) index() {
	directory, _, err := readIndex(v.log)
	if err != nil {
		v.foundIndex(0, v.indexBytes(), NoLedger, err)
		return
	}
	v.directory = directory
	for _, d := range directory {
		v.items += d.count
	}
	for number := range (v.items + itemsPerBlock - 1) / itemsPerBlock {
		if err := v.load(number); err != nil {
			v.unread[number] = true
			v.foundIndex(int64(number)*blockBytes, blockBytes, v.ledgerOf(number*itemsPerBlock), err)
		}
	}
}

// foundIndex reports a part of the index, which begins so many bytes behind the groups.
func (v *Verifier) foundIndex(at, bytes int64, id ledger.ID, err error) {
	if !v.refused() {
		v.found(Flaw{Part: PartIndex, Offset: v.log.durable + at, Bytes: bytes, Ledger: id, Entry: ledger.NoEntry, Cause: err})
	}
}

func (v *Verifier) indexBytes() int64 {
	size, err := v.log.file.Size()
	if err != nil {
		return blockBytes // at least the trailer
	}
	return max(size-v.log.durable, blockBytes)
}

// ledgerOf is the ledger whose part of the index an item is in.
func (v *Verifier) ledgerOf(item uint32) ledger.ID {
	at := sort.Search(len(v.directory), func(i int) bool { return v.directory[i].firstItem > item })
	return v.directory[at-1].ledger
}

// load reads an item block, unless it is at hand.
func (v *Verifier) load(number uint32) error {
	if v.loaded && v.number == number {
		return nil
	}
	v.loaded = false
	if _, err := host.ReadFull(v.log.file, v.block, v.log.durable+int64(number)*blockBytes); err != nil {
		return fmt.Errorf("read index block %d: %w", number, err)
	}
	count, err := openBlock(v.block, v.log.header.Identity, number, blockItems)
	if err != nil {
		return err
	}
	if wanted := min(v.items-number*itemsPerBlock, itemsPerBlock); uint32(count) != wanted {
		return fmt.Errorf("index block %d holds %d items, the directory wants %d: %w", number, count, wanted, record.ErrCorrupt)
	}
	v.number, v.loaded = number, true
	return nil
}

// item returns an item of the index. Not ok: it is in a block that cannot be read.
func (v *Verifier) item(k uint32) (it item, ok bool) {
	number := k / itemsPerBlock
	if v.unread[number] {
		return item{}, false
	}
	if err := v.load(number); err != nil { // it was good a moment ago
		v.unread[number] = true
		v.foundIndex(int64(number)*blockBytes, blockBytes, v.ledgerOf(k), err)
		return item{}, false
	}
	return itemAt(v.block, int(k%itemsPerBlock)), true
}

// compare looks for the records of a good group in the index.
func (v *Verifier) compare(view *record.View) {
	_ = view.Each(func(kind record.Kind, offset int64, body []byte) error {
		if kind != kindEntry || v.directory == nil {
			return nil
		}
		id, entry, err := ledger.Key(body)
		if err == nil {
			err = v.agrees(id, item{entry: entry, offset: uint32(offset), size: uint32(len(body))})
		}
		if err != nil && !v.refused() {
			v.found(Flaw{
				Part: PartIndex, Offset: offset, Bytes: record.HeaderSize + int64(len(body)), Ledger: id, Entry: entry, Cause: err,
			})
		}
		return nil
	})
}

// agrees checks that the index leads to a record, or to a newer one of the same entry.
func (v *Verifier) agrees(id ledger.ID, is item) error {
	at := sort.Search(len(v.directory), func(i int) bool { return v.directory[i].ledger >= id })
	if at == len(v.directory) || v.directory[at].ledger != id {
		return v.omitted(id, is)
	}
	k, said, known := v.locate(&v.directory[at], is.entry)
	switch {
	case !known: // a block is bad, which was reported
		v.unplaced++
	case said == is:
		v.matched++
		v.next = k + 1
	case said.entry != is.entry:
		return v.omitted(id, is)
	case said.offset <= is.offset:
		return fmt.Errorf("the index has entry %d of ledger %d at %d with %d bytes, the log at %d with %d: %w",
			is.entry, id, said.offset, said.size, is.offset, is.size, record.ErrCorrupt)
	}
	return nil
}

// omitted is the flaw of a record that is not in the index, unless its ledger was deleted: then it need not be.
func (v *Verifier) omitted(id ledger.ID, is item) error {
	if !v.keep(id) {
		return nil
	}
	return fmt.Errorf("the index does not have entry %d of ledger %d, the log has it at %d: %w", is.entry, id, is.offset, record.ErrCorrupt)
}

// locate finds the first item of a ledger's part that is not before an entry. A flush is sorted like the index, so mostly it is
// the one behind the last. Not known: a block that cannot be read stands in the way.
func (v *Verifier) locate(d *directoryItem, entry ledger.EntryID) (k uint32, it item, known bool) {
	low, high := d.firstItem, d.firstItem+d.count
	if low <= v.next && v.next < high {
		if it, known = v.item(v.next); known && it.entry == entry {
			return v.next, it, true
		}
	}
	for low < high {
		middle := (low + high) / 2
		it, known := v.item(middle)
		if !known {
			return 0, item{}, false
		}
		if it.entry < entry {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == d.firstItem+d.count {
		return low, item{entry: ledger.NoEntry}, true
	}
	it, known = v.item(low)
	return low, it, known
}

// unmatched names the entries that are lost with bad groups, and counts what the index promises and no group has.
func (v *Verifier) unmatched() {
	if v.directory == nil || v.matched == v.items {
		return
	}
	lost := uint32(0)
	for i := range v.directory {
		d := &v.directory[i]
		for k := d.firstItem; k < d.firstItem+d.count; k++ {
			it, known := v.item(k)
			if !known {
				lost++ // not to be told
				continue
			}
			if v.inBadGroup(int64(it.offset)) {
				lost++
				v.entry(d.ledger, it)
			}
		}
	}
	if explained := v.matched + v.unplaced + lost; explained < v.items {
		v.foundIndex(0, blockBytes, NoLedger, fmt.Errorf("the index has %d entries that the log does not have: %w",
			v.items-explained, record.ErrCorrupt))
	}
}

func (v *Verifier) inBadGroup(offset int64) bool {
	for _, s := range v.damaged {
		if s.holds(offset) {
			return true
		}
	}
	return false
}

// entry reads an entry of a bad group as a reader does, and reports it if that fails.
func (v *Verifier) entry(id ledger.ID, it item) {
	p := make([]byte, record.HeaderSize+int(it.size))
	_, err := host.ReadFull(v.log.file, p, int64(it.offset))
	if err == nil {
		_, err = recordAt(p, id, it)
	}
	if err != nil && !v.refused() {
		v.found(Flaw{Part: PartEntry, Offset: int64(it.offset), Bytes: int64(len(p)), Ledger: id, Entry: it.entry, Cause: err})
	}
}
