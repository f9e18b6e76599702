package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"lakebed/engine/host"
)

// ErrState says that a stored state is none.
var ErrState = errors.New("bad state of the key index")

// PointClosed is visited when a file is complete and durable. B is the offset of its first message.
const PointClosed host.Point = "keyindex.file-closed"

// A state is the header of the file that is being filled; 4 number of the first entry that is not in the file; 4 length of the
// entries at the front that are not there either, and these; the entries that follow what is in the file; and 8 and 8, the first and the last
// offset of the file before, 8 number of slots. Earlier versions ended it with the entries. That of an index which has no file is 8 zeros.
const (
	stateBytes     = headerBytes + 8
	stateTailBytes = linkBytes + 8
	noFileBytes    = 8
)

// appendShape appends the bytes of a header, which are those of a state, too.
func appendShape(p []byte, s *shape) []byte {
	order := binary.BigEndian
	p = order.AppendUint64(p, uint64(s.firstTime))
	p = order.AppendUint64(p, uint64(s.lastTime))
	p = order.AppendUint64(p, uint64(s.firstOffset))
	p = order.AppendUint64(p, uint64(s.lastOffset))
	p = order.AppendUint32(p, uint32(s.used))
	return order.AppendUint32(p, uint32(s.next))
}

func decodeShape(p []byte) shape {
	order := binary.BigEndian
	return shape{
		firstTime: int64(order.Uint64(p)), lastTime: int64(order.Uint64(p[8:])),
		firstOffset: int64(order.Uint64(p[16:])), lastOffset: int64(order.Uint64(p[24:])),
		used: int32(order.Uint32(p[32:])), next: int32(order.Uint32(p[36:])),
	}
}

// decodeState is nil for no state, and for that of an index to which nothing was added.
func (x *Index) decodeState(p []byte) (*open, error) {
	if len(p) == 0 || len(p) == noFileBytes {
		return nil, nil
	}
	if len(p) < stateBytes {
		return nil, fmt.Errorf("%d bytes: %w", len(p), ErrState)
	}
	c := &open{shape: decodeShape(p), written: int32(binary.BigEndian.Uint32(p[headerBytes:]))}
	head, rest := int64(binary.BigEndian.Uint32(p[headerBytes+4:])), p[stateBytes:]
	if entries := len(rest) - stateTailBytes; len(rest)%entryBytes == stateTailBytes%entryBytes && entries >= 0 {
		c.before = decodeLink(rest[entries:])
		if slots := binary.BigEndian.Uint64(rest[entries+linkBytes:]); slots != uint64(x.o.Slots) {
			return nil, fmt.Errorf("it has %d slots, and is to have %d: %w", slots, x.o.Slots, ErrState)
		}
		rest = rest[:entries]
	}
	if c.next < 1 || c.written < 1 || c.firstOffset < 0 || c.lastOffset < c.firstOffset || head > int64(len(rest)) {
		return nil, fmt.Errorf("%+v: %w", c.shape, ErrState)
	}
	c.head, c.pending = append([]byte(nil), rest[:head]...), append([]byte(nil), rest[head:]...)
	inMemory := int64(len(c.head)+len(c.pending)) / entryBytes
	if len(rest)%entryBytes != 0 || len(c.pending) > 0 && int64(c.written)+int64(len(c.pending))/entryBytes != int64(c.next) ||
		len(c.pending) == 0 && c.next > c.written || inMemory >= int64(c.next) {
		return nil, fmt.Errorf("%d entries of %d: %w", inMemory, c.next-1, ErrState)
	}
	return c, nil
}

// Flush makes durable what was added, and returns the state to store.
func (x *Index) Flush() ([]byte, error) {
	for {
		x.mutex.Lock()
		if len(x.full) == 0 {
			break
		}
		c := x.full[0]
		x.mutex.Unlock()
		if err := x.complete(c); err != nil {
			return nil, fmt.Errorf("complete key index file %s: %w", FileName(c.firstOffset), err)
		}
	}
	c := x.current
	if c == nil {
		x.mutex.Unlock()
		return make([]byte, noFileBytes), nil
	}
	state := c.shape
	at := mark{state.firstOffset, state.next}
	var slots []byte
	if x.snapshotDue(c) {
		slots = snapshotOf(c)
	}
	head, pending := append([]byte(nil), c.head...), append([]byte(nil), c.pending...)
	x.mutex.Unlock()
	whole := x.whole(c.written, len(pending)/entryBytes) * entryBytes
	if err := x.writeEntries(c, pending[:whole]); err != nil {
		return nil, fmt.Errorf("write key index file %s: %w", FileName(c.firstOffset), err)
	}
	x.taken(c, whole)
	if err := x.writeSnapshot(slots, at); err != nil {
		return nil, err
	}
	x.mutex.Lock()
	x.flushed = at
	x.mutex.Unlock()
	p := binary.BigEndian.AppendUint32(appendShape(nil, &state), uint32(c.written))
	p = binary.BigEndian.AppendUint32(p, uint32(len(head)))
	p = c.before.appendTo(append(append(p, head...), pending[whole:]...))
	return binary.BigEndian.AppendUint64(p, uint64(x.o.Slots)), nil
}

// whole is how many of so many entries end where a sector does: the others stay in memory and in the state.
func (x *Index) whole(first int32, count int) int {
	for ; count > 0 && x.entryAt(first+int32(count))%sectorBytes != 0; count-- {
	}
	return count
}

// taken notes that so much of what was pending is in the file.
func (x *Index) taken(c *open, bytes int) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	c.written += int32(bytes / entryBytes)
	c.pending = append(c.pending[:0], c.pending[bytes:]...)
}

// complete writes a full file as a whole.
func (x *Index) complete(c *open) error {
	if err := x.writeEntries(c, c.pending); err != nil {
		return err
	}
	p := appendShape(make([]byte, 0, x.entryAt(1)+int64(len(c.head))), &c.shape)
	for _, number := range c.slots {
		p = binary.BigEndian.AppendUint32(p, uint32(number))
	}
	p = append(append(p, entryZero(p[:headerBytes], c.before)...), c.head...)
	f, err := x.use(c.firstOffset, true)
	if err != nil {
		return err
	}
	defer f.Release()
	if err = host.WriteFullAt(f, p, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = x.o.Dir.SyncDir()
	}
	if err != nil {
		return err
	}
	x.mutex.Lock()
	x.full = x.full[1:]
	x.closed = append(x.closed, closedFile{c.shape, c.before})
	x.mutex.Unlock()
	x.h.Probe().Mark(host.Event{Name: PointClosed, B: c.firstOffset})
	return nil
}

// writeEntries writes entries behind those that are in the file, and makes file and name durable.
func (x *Index) writeEntries(c *open, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	f, err := x.use(c.firstOffset, true)
	if err != nil {
		return err
	}
	defer f.Release()
	if !c.settled {
		if err := f.Truncate(x.entryAt(c.written)); err != nil {
			return err
		}
	}
	if err = host.WriteFullAt(f, p, x.entryAt(c.written)); err == nil {
		err = f.Sync()
	}
	if err == nil && !c.settled {
		err = x.o.Dir.SyncDir()
	}
	c.settled = c.settled || err == nil
	return err
}

// Filling is the name, as an offset, of the file that a state says is being filled: an index that is opened with the state needs it, and
// none behind it. Without one it is the largest there is.
func Filling(state []byte) int64 {
	if len(state) < headerBytes {
		return math.MaxInt64
	}
	s := decodeShape(state)
	return s.firstOffset
}

// RemoveBelow removes the files of which every message lies below an offset, but not the one that begins at needed, nor those behind it: an
// older state that may yet be opened has it as the one being filled.
func (x *Index) RemoveBelow(physical, needed int64) error {
	x.mutex.Lock()
	var gone []int64
	for len(x.closed) > 0 && x.closed[0].lastOffset < physical && x.closed[0].firstOffset < needed {
		gone = append(gone, x.closed[0].firstOffset)
		x.closed = x.closed[1:]
	}
	x.mutex.Unlock()
	return x.remove(gone)
}
