package partition

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
)

const (
	sealedName      = "sealed"
	sealedMagic     = "SLS1"
	sealedItemBytes = 64
	sealedBytesMax  = 64 << 20 // of the list that a start reads

	// spareItems is how many items the list may have beside twice those of segments that are there.
	spareItems = 64
)

// sealedItem is what the list of sealed segments says of one.
type sealedItem struct {
	base, next             Cursor
	logBytes               int64
	newest                 Time
	indexItems, timesItems int
}

func itemOf(s *segment) sealedItem {
	return sealedItem{s.base, s.next, s.bytes, s.newest, s.indexItems, s.timesItems}
}

func (i *sealedItem) append(b []byte) []byte {
	from := len(b)
	b = append(b, make([]byte, sealedItemBytes)...)
	item := b[from:]
	copy(item[4:], sealedMagic)
	for k, n := range []int64{int64(i.base), int64(i.next), i.logBytes, int64(i.newest)} {
		binary.BigEndian.PutUint64(item[8+8*k:], uint64(n))
	}
	binary.BigEndian.PutUint32(item[40:], uint32(i.indexItems))
	binary.BigEndian.PutUint32(item[44:], uint32(i.timesItems))
	binary.BigEndian.PutUint32(item, sum(item[4:]))
	return b
}

// decodeSealed reads an item. Not ok: it is torn or has rotted, and says nothing.
func decodeSealed(item []byte) (i sealedItem, ok bool) {
	if len(item) < sealedItemBytes || string(item[4:8]) != sealedMagic || binary.BigEndian.Uint32(item) != sum(item[4:sealedItemBytes]) {
		return i, false
	}
	long := func(k int) int64 { return int64(binary.BigEndian.Uint64(item[8+8*k:])) }
	return sealedItem{
		base: Cursor(long(0)), next: Cursor(long(1)), logBytes: long(2), newest: Time(long(3)),
		indexItems: int(binary.BigEndian.Uint32(item[40:])), timesItems: int(binary.BigEndian.Uint32(item[44:])),
	}, true
}

// sealedList is the list as a start finds it.
type sealedList struct {
	items map[Cursor]sealedItem // the last one of each segment
	all   int                   // that are in the file, whole or not
}

func (p *Partition) sealedFile() (*openfiles.Handle, error) {
	return p.place.Files.Open(openfiles.Key{Dir: p.place.Name, Name: sealedName}, func() (host.File, error) {
		f, err := p.place.Dir.Create(sealedName)
		if errors.Is(err, host.ErrExist) {
			f, err = p.place.Dir.Open(sealedName)
		}
		return f, err
	})
}

// readSealed reads the list. What cannot be read of it is found in the index files.
func (p *Partition) readSealed(there *listing) (list sealedList, err error) {
	size, ok := there.sizes[sealedName]
	list.all = int((size + sealedItemBytes - 1) / sealedItemBytes)
	if !ok || size > sealedBytesMax {
		return list, nil // one that is too long is written anew
	}
	f, err := p.sealedFile()
	if err != nil {
		return list, fmt.Errorf("open the list of sealed segments: %w", err)
	}
	defer f.Release()
	content := p.h.Memory().Get(int(size))
	defer p.h.Memory().Put(content)
	if _, err := host.ReadFull(f, content, 0); err != nil {
		return list, fmt.Errorf("read the list of sealed segments: %w", err)
	}
	list.items = map[Cursor]sealedItem{}
	for ; len(content) > 0; content = content[min(len(content), sealedItemBytes):] {
		if item, ok := decodeSealed(content); ok {
			list.items[item.base] = item
		}
	}
	return list, nil
}

// find returns a segment of the list whose files have the lengths that they should have. Nil: it must be looked at.
func (l *sealedList) find(base Cursor, there *listing) *segment {
	i, ok := l.items[base]
	if !ok || there.sizes[fileName(base, logSuffix)] < i.logBytes ||
		there.sizes[fileName(base, indexSuffix)] != int64(1+blocksOf(i.indexItems))*blockBytes ||
		there.sizes[fileName(base, timesSuffix)] != int64(1+blocksOf(i.timesItems))*blockBytes {
		return nil
	}
	return &segment{
		base: base, next: i.next, bytes: i.logBytes, newest: i.newest, sealed: true, indexItems: i.indexItems, timesItems: i.timesItems,
	}
}

// amendList brings the list up to what a start has found. An item that is wrong goes for good before its segment can be sealed
// again; others are added when there is room.
func (p *Partition) amendList(list *sealedList, segments []*segment) error {
	var fresh, whole []byte
	live, wrong := 0, false
	for _, s := range segments {
		old, listed := list.items[s.base]
		if !s.sealed {
			wrong = wrong || listed
			continue
		}
		item := itemOf(s)
		wrong = wrong || listed && old != item
		live++
		whole = item.append(whole)
		if !listed {
			fresh = item.append(fresh)
		}
	}
	for _, base := range host.SortedKeys(list.items) {
		wrong = wrong || base >= endOf(segments) // cursors that are given anew
	}
	p.sealedItems = list.all
	if wrong || list.all > 2*live+spareItems {
		p.forgetList()
		if err := p.place.Files.Reserve(1); err != nil {
			return err
		}
		defer p.place.Files.Give(1)
		if err := host.ReplaceFile(p.place.Dir, sealedName, whole); err != nil {
			return fmt.Errorf("write the list of sealed segments: %w", err)
		}
		p.sealedItems = live
		return nil
	}
	if err := p.addToList(fresh); err != nil && !errors.Is(err, host.ErrNoSpace) {
		return err
	}
	return nil
}

// addToList adds items of segments that are sealed durably. It is not synced: what a crash takes of it is in their index files.
func (p *Partition) addToList(items []byte) error {
	if len(items) == 0 {
		return nil
	}
	f, err := p.sealedFile()
	if err != nil {
		return fmt.Errorf("open the list of sealed segments: %w", err)
	}
	defer f.Release()
	if err := host.WriteFullAt(f, items, int64(p.sealedItems)*sealedItemBytes); err != nil {
		return fmt.Errorf("add to the list of sealed segments: %w", err)
	}
	p.sealedItems += len(items) / sealedItemBytes
	return nil
}

func (p *Partition) forgetList() {
	p.place.Files.Forget(openfiles.Key{Dir: p.place.Name, Name: sealedName})
}
