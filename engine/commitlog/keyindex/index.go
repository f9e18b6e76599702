package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/openfiles"
)

const (
	headerBytes   = 40
	slotBytes     = 4
	entryBytes    = 20
	secondsMillis = 1000
)

// Options say where an index is and how large its files are.
type Options struct {
	Dir     host.Dir
	Files   *openfiles.Cache
	Owner   string // tells the index's files from others in Files
	Slots   int32  // maxHashSlotNum
	Entries int32  // maxIndexNum
	// SnapshotEntries is how many entries are added between two snapshots of the slots, about: a start reads twice as many at most. Zero: there are
	// no snapshots, and a start reads all entries of the file that is being filled.
	SnapshotEntries int32
	State           []byte // what the last Flush returned that was stored; empty: nothing is known of the messages before
	LogFirst        int64  // where the log begins: files that are only about what lies before are not missed
}

// Index is the open index.
type Index struct {
	h       host.Host
	o       Options
	mutex   host.Mutex
	last    int64        // physical offset of the last message added; -1: none
	lack    *Lack        // what Open has found missing; nil: nothing
	closed  []closedFile // complete files, ascending
	full    []*open      // full, not yet written as a whole
	current *open        // nil: none was begun

	snapshots [len(snapshotNames)]mark // what they count
	newest    int                      // which of them is
	flushed   mark                     // what the last Flush has returned the state of
	stored    mark                     // what the state counts that a start will find
}

// shape is what a header says.
type shape struct {
	firstTime, lastTime     int64
	firstOffset, lastOffset int64
	used                    int32
	next                    int32 // number of the next entry
}

// open is a file that is being filled. Entries from written on are in memory, and so are those of head: they share a sector
// with the last slots, which are written when the file is full.
type open struct {
	shape
	before  link // the file that was filled before it
	slots   []int32
	head    []byte
	written int32 // entries below, but for those of head, are in the file
	pending []byte
	settled bool // nothing that an earlier process left lies behind the entries that count
}

// FileName is the name of the file whose first message lies at this offset.
func FileName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// Open opens the index that a state describes. Files that it does not know of are removed: what is in them is added again. So are those that
// are damaged or follow on one that is missing: see Lack. Names are made durable first: what a process removed that was killed then must
// not come back beside entries that have its numbers.
func Open(h host.Host, o Options) (*Index, error) {
	x := &Index{h: h, o: o, mutex: h.NewMutex("key-index"), last: -1}
	if err := o.Dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("sync the directory of the key index: %w", err)
	}
	current, err := x.decodeState(o.State)
	if err != nil {
		x.lacks(o.LogFirst, err)
	} else if len(o.State) == 0 {
		x.lacks(o.LogFirst, errUnknown)
	}
	limit := int64(-1)
	if current != nil {
		limit = current.firstOffset
	}
	offsets, err := x.offsets()
	if err != nil {
		return nil, err
	}
	for len(offsets) > 0 && offsets[0] < limit && x.lack == nil {
		if err := x.openClosed(offsets[0]); err != nil {
			return nil, err
		}
		if x.lack == nil {
			offsets = offsets[1:]
		}
	}
	if current != nil && x.lack == nil {
		if err := x.openCurrent(current); err != nil {
			return nil, err
		}
	}
	if x.lack != nil || current == nil {
		if _, err := x.openSlots(nil); err != nil {
			return nil, err
		}
		x.current, limit = nil, -1
	}
	offsets = slices.DeleteFunc(offsets, func(offset int64) bool { return offset == limit })
	return x, x.remove(offsets)
}

// remove removes files that do not count.
func (x *Index) remove(offsets []int64) error {
	for _, offset := range offsets {
		x.o.Files.Forget(x.key(offset))
		if err := x.o.Dir.Remove(FileName(offset)); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove key index file %s: %w", FileName(offset), err)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	return x.o.Dir.SyncDir()
}

// offsets are the names of the files that are there, ascending.
func (x *Index) offsets() (offsets []int64, err error) {
	infos, err := x.o.Dir.List()
	if err != nil {
		return nil, fmt.Errorf("list key index: %w", err)
	}
	for _, info := range infos {
		if offset, err := strconv.ParseInt(info.Name, 10, 64); err == nil && info.Name == FileName(offset) {
			offsets = append(offsets, offset)
		}
	}
	slices.Sort(offsets)
	return offsets, nil
}

// openCurrent makes the slots of the file that is being filled anew, from a snapshot and the entries that it does not count.
func (x *Index) openCurrent(c *open) error {
	if !x.follows(c.before) {
		x.lacks(x.behindClosed(), fmt.Errorf("file %s does not follow on the one before: %w", FileName(c.firstOffset), ErrDamaged))
		return nil
	}
	c.slots = make([]int32, x.o.Slots)
	from, err := x.openSlots(c)
	if err != nil {
		return err
	}
	x.flushed = mark{c.firstOffset, c.next}
	x.stored = x.flushed
	if err = x.countFrom(c, c.head, 1, from); err == nil {
		err = x.countFile(c, from)
	}
	if err == nil {
		err = x.countFrom(c, c.pending, c.written, from)
	}
	if err = unusable(err); errors.Is(err, ErrDamaged) {
		x.lacks(c.firstOffset, fmt.Errorf("file %s: %w", FileName(c.firstOffset), err))
		return nil
	}
	x.current, x.last = c, c.lastOffset
	return err
}

// countFile counts the entries that are in the file, from a number on. It must be as long as they say, also if none of them has to be read.
func (x *Index) countFile(c *open, from int32) error {
	first := x.headEntries() + 1
	if c.written <= first {
		return nil
	}
	f, err := x.use(c.firstOffset, false)
	if err != nil {
		return err
	}
	defer f.Release()
	if size, err := f.Size(); err != nil || size < x.entryAt(c.written) {
		return errors.Join(err, fmt.Errorf("%d bytes for %d entries: %w", size, c.written-1, ErrDamaged))
	}
	first = max(first, from)
	p := make([]byte, entryBytes*max(min(entriesAtOnce, c.written-first), 0))
	for n := first; n < c.written; n += entriesAtOnce {
		part := p[:min(c.written-n, entriesAtOnce)*entryBytes]
		if _, err := host.ReadFull(f, part, x.entryAt(n)); err != nil {
			return err
		}
		if err := x.count(c, part, n); err != nil {
			return err
		}
	}
	return nil
}

// countFrom is count for entries of which those below from are counted.
func (x *Index) countFrom(c *open, entries []byte, number, from int32) error {
	if skip := int64(from-number) * entryBytes; skip > 0 {
		entries, number = entries[min(skip, int64(len(entries))):], from
	}
	return x.count(c, entries, number)
}

// count brings entries, of which the first has this number, into their slots. Each must go on where its slot was.
func (x *Index) count(c *open, entries []byte, number int32) error {
	for ; len(entries) >= entryBytes; entries = entries[entryBytes:] {
		e := decodeEntry(entries)
		slot := x.slotOf(e.hash)
		if e.hash < 0 || e.seconds < 0 || e.before != c.slots[slot] || e.physical < c.firstOffset || e.physical > c.lastOffset {
			return fmt.Errorf("entry %d is %+v: %w", number, e, ErrDamaged)
		}
		c.slots[slot] = number
		number++
	}
	return nil
}

// headEntries is how many entries lie before the first sector that has nothing but entries and begins with one.
func (x *Index) headEntries() (n int32) {
	for x.entryAt(1+n)%sectorBytes != 0 {
		n++
	}
	return n
}

// sectorBytes is what a device may spoil when a write is torn: none touches a sector in which durable entries lie.
const sectorBytes = 512

// entriesAtOnce is how many entries are read together at a start.
const entriesAtOnce = 50_000

func (x *Index) slotOf(hash int32) int32    { return (hash & math.MaxInt32) % x.o.Slots } // never negative, though an entry rots
func (x *Index) slotAt(slot int32) int64    { return headerBytes + int64(slot)*slotBytes }
func (x *Index) entryAt(number int32) int64 { return x.slotAt(x.o.Slots) + int64(number)*entryBytes }

// key names a file among all that are open.
func (x *Index) key(offset int64) openfiles.Key {
	return openfiles.Key{Dir: x.o.Owner, Name: FileName(offset)}
}

// use opens a file. It is never given back dirty: entries that count were synced in the same use, and what a failed write
// has left is written again before it counts.
func (x *Index) use(offset int64, create bool) (*openfiles.Handle, error) {
	key := x.key(offset)
	return x.o.Files.Open(key, func() (host.File, error) {
		f, err := x.o.Dir.Open(key.Name)
		if create && errors.Is(err, host.ErrNotExist) {
			f, err = x.o.Dir.Create(key.Name)
		}
		return f, err
	})
}

// Add adds a message under each of its keys. Messages come in the order of the log; those that the index has are left out, and
// so are those of transactions that were taken back.
func (x *Index) Add(m *message.Message) {
	if len(m.Properties) == 0 {
		return // no keys
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if m.PhysicalOffset <= x.last || m.SysFlag&message.FlagTransaction == message.FlagRollback {
		return
	}
	m.Keys(func(key []byte) {
		x.add(message.KeyHash(m.Topic, key), m)
		x.last = m.PhysicalOffset
	})
}

func (x *Index) add(hash int32, m *message.Message) {
	// A message's keys stay in one file, so that last tells whether a message is there: a file may pass its bound by them.
	if c := x.current; c == nil || c.next >= x.o.Entries && c.lastOffset != m.PhysicalOffset {
		if c != nil {
			x.full = append(x.full, c)
		}
		x.current = &open{
			shape: shape{firstTime: m.StoreTimestamp, firstOffset: m.PhysicalOffset, next: 1},
			slots: make([]int32, x.o.Slots), written: 1 + x.headEntries(), before: x.lastFile(),
		}
	}
	c := x.current
	slot := x.slotOf(hash)
	before := c.slots[slot]
	if before == 0 {
		c.used++
	}
	seconds := min(max((m.StoreTimestamp-c.firstTime)/secondsMillis, 0), math.MaxInt32)
	p := &c.pending
	if c.next < c.written {
		p = &c.head
	}
	*p = binary.BigEndian.AppendUint32(*p, uint32(hash))
	*p = binary.BigEndian.AppendUint64(*p, uint64(m.PhysicalOffset))
	*p = binary.BigEndian.AppendUint32(*p, uint32(seconds))
	*p = binary.BigEndian.AppendUint32(*p, uint32(before))
	c.slots[slot] = c.next
	c.next++
	c.lastTime, c.lastOffset = m.StoreTimestamp, m.PhysicalOffset
}

// Close forgets the index. What was not flushed is added again by whoever stored the state.
func (x *Index) Close() error { return nil }
