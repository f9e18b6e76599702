package inspect

import (
	"encoding/binary"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

const (
	sealedName      = "sealed"
	sealedMagic     = "SLS1"
	sealedItemBytes = 64
	sealedBytesMax  = 1 << 30
)

// sealedItem is what the list of sealed segments says of one.
type sealedItem struct {
	next     message.Cursor
	logBytes int64
	newest   message.Time
	items    int
	offset   int64
}

// sealed compares the list of sealed segments with the segments. It is a shortcut, and never synced: an item that is not whole is
// looked up in the index files, and none of a segment need be there. A whole one is believed.
func (r *Report) sealed(name string, dir host.Dir, segments []Segment) {
	file := name + "/" + sealedName
	content, err := inspection.ReadAll(dir, sealedName, sealedBytesMax)
	if err != nil {
		r.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		return
	}
	order, items, torn := binary.BigEndian, map[message.Cursor]sealedItem{}, 0
	for at := 0; at < len(content); at += sealedItemBytes {
		b := content[at:]
		if len(b) < sealedItemBytes || string(b[4:8]) != sealedMagic || order.Uint32(b) != sumOf(b[4:sealedItemBytes]) {
			torn++
			continue
		}
		items[message.Cursor(order.Uint64(b[8:]))] = sealedItem{
			next: message.Cursor(order.Uint64(b[16:])), logBytes: int64(order.Uint64(b[24:])), newest: message.Time(order.Uint64(b[32:])),
			items: int(order.Uint32(b[40:])) + int(order.Uint32(b[44:])), offset: int64(at),
		}
	}
	if torn > 0 {
		r.Found(inspection.Note, BadList, file, 0, "%d items are not whole: a start looks into the index files for them", torn)
	}
	for i := range segments {
		s := &segments[i]
		item, ok := items[s.Base]
		if !ok {
			continue
		}
		if !s.Sealed {
			r.Found(inspection.Note, BadList, file, item.offset, "it names segment %d, which is not sealed", s.Base)
		} else if !s.Lost && (item.next != s.Next || item.logBytes != s.Bytes || item.newest != s.Newest || item.items != s.Items) {
			r.Found(inspection.Damage, IndexMismatch, file, item.offset, "it says that segment %d has messages up to %d in %d bytes with times up to %d and %d items; it has them up to %d in %d bytes with times up to %d and %d items",
				s.Base, item.next, item.logBytes, item.newest, item.items, s.Next, s.Bytes, s.Newest, s.Items)
		}
	}
}
