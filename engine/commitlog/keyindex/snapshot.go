package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lakebed/engine/host"
)

// A snapshot is a copy of the slots of the file that is being filled, so that a start need not read all of its entries. There are two, in
// files of their own, and the older is replaced as a whole. Big-endian:
//
//	 0  4  magic "LCIS"
//	 4  4  CRC32C of all bytes from 8 on
//	 8  8  offset of the first message of the file
//	16  4  number of the first entry that the slots do not count
//	20  4  number of slots, and these, 4 bytes each
const (
	snapshotMagic     = 0x4c434953
	snapshotHeadBytes = 24
)

// PointSnapshot is visited when a snapshot is durable. A is the number of the first entry that it does not count.
const PointSnapshot host.Point = "keyindex.snapshot"

var snapshotNames = [...]string{"slots-0", "slots-1"} // only ever read

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // only ever read

// mark is a place among all entries: the entry of this number in the file that begins at first.
type mark struct {
	first int64
	next  int32
}

func (m mark) behind(o mark) bool { return m.first > o.first || m.first == o.first && m.next > o.next }

// snapshotDue reports whether so many entries were added since the newest snapshot that another is worth its bytes. It waits until the state
// that the newest goes with is stored: else both may be ahead of the state that a start finds, and of no use to it. The mutex is held.
func (x *Index) snapshotDue(c *open) bool {
	newest := x.snapshots[x.newest]
	counted := int32(1)
	if newest.first == c.firstOffset {
		counted = max(newest.next, 1)
	}
	return x.o.SnapshotEntries > 0 && c.next-counted >= x.o.SnapshotEntries && !newest.behind(x.stored)
}

// snapshotOf encodes a snapshot. The mutex is held.
func snapshotOf(c *open) []byte {
	order := binary.BigEndian
	p := order.AppendUint32(make([]byte, 0, snapshotHeadBytes+slotBytes*len(c.slots)), snapshotMagic)
	p = order.AppendUint32(p, 0)
	p = order.AppendUint64(p, uint64(c.firstOffset))
	p = order.AppendUint32(p, uint32(c.next))
	p = order.AppendUint32(p, uint32(len(c.slots)))
	for _, number := range c.slots {
		p = order.AppendUint32(p, uint32(number))
	}
	return p
}

// writeSnapshot replaces the older snapshot.
func (x *Index) writeSnapshot(p []byte, at mark) error {
	if p == nil {
		return nil
	}
	binary.BigEndian.PutUint32(p[4:], crc32.Checksum(p[8:], castagnoli))
	slot := 1 - x.newest
	if err := host.ReplaceFile(x.o.Dir, snapshotNames[slot], p); err != nil {
		return fmt.Errorf("write slots of key index file %s: %w", FileName(at.first), err)
	}
	x.mutex.Lock()
	x.snapshots[slot], x.newest = at, slot
	x.mutex.Unlock()
	x.h.Probe().Mark(host.Event{Name: PointSnapshot, A: int64(at.next), B: at.first})
	return nil
}

// Stored says that the state which the last Flush returned is what a start will find.
func (x *Index) Stored() {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.stored = x.flushed
}

// openSlots takes the slots of a file from the newest snapshot that goes with its state, and returns the number of the first entry that they
// do not count. Snapshots that do not go with it are removed for good: of what came behind the state nothing counts, and other entries
// will get those numbers.
func (x *Index) openSlots(c *open) (next int32, err error) {
	next = 1
	removed := false
	for slot, name := range snapshotNames {
		at, slots, err := x.readSnapshot(name, c)
		switch {
		case errors.Is(err, host.ErrNotExist):
			continue
		case err != nil || c == nil || at.first != c.firstOffset || at.next > c.next:
			if err := x.o.Dir.Remove(name); err != nil {
				return 0, fmt.Errorf("remove %s: %w", name, err)
			}
			removed = true
			continue
		}
		x.snapshots[slot] = at
		if at.next >= next {
			c.slots, next, x.newest = slots, at.next, slot
		}
	}
	if removed {
		err = x.o.Dir.SyncDir()
	}
	return next, err
}

// errSnapshot says that a snapshot is damaged, or of another size than the index has now.
var errSnapshot = errors.New("no snapshot of these slots")

// readSnapshot reads a snapshot; its slots only if it goes with c.
func (x *Index) readSnapshot(name string, c *open) (at mark, slots []int32, err error) {
	f, err := x.o.Dir.Open(name)
	if err != nil {
		return at, nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	head := make([]byte, snapshotHeadBytes)
	if _, err := host.ReadFull(f, head, 0); err != nil {
		return at, nil, err
	}
	order := binary.BigEndian
	at = mark{first: int64(order.Uint64(head[8:])), next: int32(order.Uint32(head[16:]))}
	if order.Uint32(head) != snapshotMagic || at.next < 1 || order.Uint32(head[20:]) != uint32(x.o.Slots) {
		return at, nil, errSnapshot
	}
	if c == nil || at.first != c.firstOffset || at.next > c.next {
		return at, nil, nil
	}
	p := make([]byte, int(x.o.Slots)*slotBytes)
	if _, err := host.ReadFull(f, p, snapshotHeadBytes); err != nil {
		return at, nil, err
	}
	if crc32.Update(crc32.Checksum(head[8:], castagnoli), castagnoli, p) != order.Uint32(head[4:]) {
		return at, nil, errSnapshot
	}
	slots = make([]int32, x.o.Slots)
	for i := range slots {
		slots[i] = int32(order.Uint32(p[i*slotBytes:]))
	}
	return at, slots, nil
}
