package keyindex

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

// entry is one entry.
type entry struct {
	hash     int32
	physical int64
	seconds  int32
	before   int32
}

func decodeEntry(p []byte) entry {
	order := binary.BigEndian
	return entry{
		hash: int32(order.Uint32(p)), physical: int64(order.Uint64(p[4:])), seconds: int32(order.Uint32(p[12:])), before: int32(order.Uint32(p[16:])),
	}
}

// Lookup returns offsets of messages that may have this key and a store timestamp between the two, in ms, at most limit, the
// newest first. There may be others among them: hashes collide, and times are kept in seconds.
func (x *Index) Lookup(topic, key []byte, from, to int64, limit int) ([]int64, error) {
	hash := message.KeyHash(topic, key)
	x.mutex.Lock()
	var opened []*open
	var shapes []shape // as they are now
	if x.current != nil {
		opened, shapes = append(opened, x.current), append(shapes, x.current.shape)
	}
	for _, c := range slices.Backward(x.full) {
		opened, shapes = append(opened, c), append(shapes, c.shape)
	}
	closed := slices.Clone(x.closed)
	x.mutex.Unlock()
	var found []int64
	for i, c := range opened {
		if len(found) < limit {
			if err := x.search(c, shapes[i], hash, from, to, limit, &found); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range slices.Backward(closed) {
		if len(found) < limit && s.firstTime <= to && s.lastTime >= from {
			err := x.search(nil, s.shape, hash, from, to, limit, &found)
			if err != nil && x.counts(s.firstOffset) { // else it was removed meanwhile
				return nil, err
			}
		}
	}
	return found, nil
}

// counts reports whether a complete file is part of the index.
func (x *Index) counts(first int64) bool {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	return slices.ContainsFunc(x.closed, func(s closedFile) bool { return s.firstOffset == first })
}

// search follows the chain of a hash in one file. c is nil for a complete one. Neither slots nor entries have checksums, as upstream's: but a chain
// runs backwards, and through entries of its slot only, and one that does not is damaged.
func (x *Index) search(c *open, s shape, hash int32, from, to int64, limit int, found *[]int64) error {
	slot := x.slotOf(hash)
	number, err := x.slot(c, s.firstOffset, slot)
	if err != nil {
		return fmt.Errorf("file %s: %w", FileName(s.firstOffset), damaged(err))
	}
	bound, newest, last := int32(math.MaxInt32), int64(math.MaxInt64), int64(math.MaxInt32)
	if c == nil {
		bound, newest, last = s.next, s.lastOffset, max((s.lastTime-s.firstTime)/secondsMillis, 0)
	}
	for number != 0 && len(*found) < limit {
		if number < 0 || number >= bound {
			return fmt.Errorf("file %s: slot %d goes on with entry %d of less than %d: %w", FileName(s.firstOffset), slot, number, bound, ErrDamaged)
		}
		e, err := x.entry(c, s.firstOffset, number)
		if err != nil {
			return fmt.Errorf("file %s: entry %d: %w", FileName(s.firstOffset), number, damaged(err))
		}
		if e.hash < 0 || x.slotOf(e.hash) != slot || e.physical > newest || e.physical < s.firstOffset || e.seconds < 0 || int64(e.seconds) > last {
			return fmt.Errorf("file %s: entry %d of slot %d is %+v: %w", FileName(s.firstOffset), number, slot, e, ErrDamaged)
		}
		second := s.firstTime/secondsMillis + int64(e.seconds)
		if e.hash == hash && second+1 >= from/secondsMillis && second <= to/secondsMillis+1 {
			if n := len(*found); n == 0 || (*found)[n-1] != e.physical { // two keys of one message may have one hash
				*found = append(*found, e.physical)
			}
		}
		newest, last, bound, number = e.physical, int64(e.seconds), number, e.before
	}
	return nil
}

func (x *Index) slot(c *open, file int64, slot int32) (int32, error) {
	if c != nil {
		x.mutex.Lock()
		defer x.mutex.Unlock()
		return c.slots[slot], nil
	}
	p := make([]byte, slotBytes)
	err := x.readFile(file, p, x.slotAt(slot))
	return int32(binary.BigEndian.Uint32(p)), err
}

func (x *Index) entry(c *open, file int64, number int32) (entry, error) {
	if c != nil {
		if e, ok := x.remembered(c, number); ok {
			return e, nil
		}
	}
	p := make([]byte, entryBytes)
	err := x.readFile(file, p, x.entryAt(number))
	return decodeEntry(p), err
}

func (x *Index) readFile(file int64, p []byte, off int64) error {
	f, err := x.use(file, false)
	if err != nil {
		return err
	}
	defer f.Release()
	_, err = host.ReadFull(f, p, off)
	return err
}

// remembered is an entry that is in memory.
func (x *Index) remembered(c *open, number int32) (entry, bool) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	if at := int(number-1) * entryBytes; at < len(c.head) {
		return decodeEntry(c.head[at:]), true
	}
	if at := int(number-c.written) * entryBytes; at >= 0 {
		return decodeEntry(c.pending[at:]), true
	}
	return entry{}, false
}
