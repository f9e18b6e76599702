package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
	"lakebed/engine/seglog/message"
)

// The layout of index files, as package partition documents it.
const (
	indexMagic    = "SLINDEX1"
	blockBytes    = 4096
	itemsFrom     = 16
	itemBytes     = 16
	itemsPerBlock = 255
	kindIndex     = 1
	kindTimes     = 2
	indexBytesMax = 1 << 30
)

var errBadIndex = errors.New("bad index file")

// item is cursor and position, or time and cursor.
type item struct {
	key   uint64
	value int64
}

// index is an index file.
type index struct {
	file       string
	kind       uint32
	base, next message.Cursor
	logBytes   int64
	newest     message.Time
	items      []item
	met        int // of them, how many the log has reached
	broken     bool
	loose      bool // messages were skipped
}

// readIndex reads an index file, and checks what it says by itself.
func readIndex(dir host.Dir, name string, kind uint32) (*index, error) {
	p, err := inspection.ReadAll(dir, name, indexBytesMax)
	if err != nil {
		return nil, err
	}
	order := binary.BigEndian
	if len(p) < blockBytes || string(p[:8]) != indexMagic || order.Uint32(p[8:]) != sumOf(p[12:blockBytes]) {
		return nil, fmt.Errorf("header: %w", errBadIndex)
	}
	x := &index{
		kind: order.Uint32(p[12:]), base: message.Cursor(order.Uint64(p[16:])), next: message.Cursor(order.Uint64(p[24:])),
		logBytes: int64(order.Uint64(p[32:])), newest: message.Time(order.Uint64(p[40:])),
	}
	count := int(order.Uint32(p[48:]))
	if x.kind != kind {
		return nil, fmt.Errorf("header of kind %d, not %d: %w", x.kind, kind, errBadIndex)
	}
	if x.items, err = itemsOf(p, 1, count); err != nil {
		return nil, err
	}
	for i := 1; i < len(x.items); i++ {
		if x.items[i].key <= x.items[i-1].key || x.items[i].value <= x.items[i-1].value {
			return nil, fmt.Errorf("item %d does not ascend: %w", i, errBadIndex)
		}
	}
	return x, nil
}

// itemsOf reads so many items of a file, from the block of this number on.
func itemsOf(p []byte, number, count int) (items []item, err error) {
	order := binary.BigEndian
	for ; len(items) < count; number++ {
		if len(p) < (number+1)*blockBytes {
			return nil, fmt.Errorf("%d of %d items: %w", len(items), count, errBadIndex)
		}
		block := p[number*blockBytes:][:blockBytes]
		n := int(order.Uint32(block[8:]))
		if order.Uint32(block) != sumOf(block[4:]) || int(order.Uint32(block[4:])) != number || n != min(itemsPerBlock, count-len(items)) {
			return nil, fmt.Errorf("block %d: %w", number, errBadIndex)
		}
		for i := range n {
			at := block[itemsFrom+i*itemBytes:]
			items = append(items, item{order.Uint64(at), int64(order.Uint64(at[8:]))})
		}
	}
	return items, nil
}

func sumOf(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// meet compares the items that speak of this message: at which position it lies, or that all before it have times up to some
// other. Newest is the largest time before it.
func (x *index) meet(r *Report, c message.Cursor, position int64, newest message.Time) {
	for !x.broken && x.met < len(x.items) {
		i := x.items[x.met]
		about := x.about(x.met)
		switch {
		case about > c:
			return
		case about < c:
			x.mismatch(r, "item %d speaks of cursor %d, which no message before %d has", x.met, about, c)
		case x.kind == kindIndex && i.value != position:
			x.mismatch(r, "item %d says that message %d lies at %d; it lies at %d", x.met, c, i.value, position)
		case x.kind == kindTimes && differs(message.Time(i.key), newest, x.loose):
			x.mismatch(r, "item %d says that messages before %d have times up to %d; they have times up to %d", x.met, c, i.key, newest)
		}
		x.met++
	}
}

// compare looks at what is left when the log has been read.
func (x *index) compare(r *Report, s *Segment) {
	if x.broken {
		return
	}
	if x.kind == kindTimes && x.met < len(x.items) {
		x.meet(r, s.Next, s.Bytes, s.Newest) // of all messages
	}
	switch {
	case x.base != s.Base || x.next != s.Next || x.logBytes != s.Bytes || differs(x.newest, s.Newest, x.loose):
		x.mismatch(r, "it is of cursors %d to %d in %d bytes with times up to %d; the log holds %d to %d in %d bytes with times up to %d",
			x.base, x.next, x.logBytes, x.newest, s.Base, s.Next, s.Bytes, s.Newest)
	case x.met < len(x.items):
		x.mismatch(r, "%d items speak of messages that the log does not hold", len(x.items)-x.met)
	case x.kind == kindIndex && len(x.items) == 0 && s.Next > s.Base: // a time index speaks of what lies before an item
		x.mismatch(r, "it has no item, and the log holds messages")
	}
}

func (x *index) mismatch(r *Report, format string, arguments ...any) {
	x.broken = true
	r.Found(inspection.Damage, IndexMismatch, x.file, 0, format, arguments...)
}
