package partition

import (
	"errors"
	"fmt"

	"lakebed/engine/host"
)

// Keep says what retention leaves. The zero value leaves all.
type Keep struct {
	From     Time  // segments whose messages are all older go; zero: time removes nothing
	BytesMax int64 // of all logs: the oldest sealed segments go until the rest is within it; zero: no limit
}

// Retain removes the oldest sealed segments that are not to be kept, one after the other, each for good before the next:
// a crash leaves no gap. If the newest segment is as old it is sealed, and goes the next time: its name tells the next
// cursor until there is another. Retain returns how many segments went. It also works after a failure, since a full disk needs
// it most, and of a partition that could not be opened to its end, which may need the room for that. Retain and Restore are called one at a time.
func (p *Partition) Retain(keep Keep) (int, error) {
	p.mutex.Lock()
	if p.state == closed {
		p.mutex.Unlock()
		return 0, nil
	}
	count, roll := p.expire(keep)
	doomed := p.doomed
	p.mutex.Unlock()
	removed := 0
	var err error
	for _, s := range doomed {
		if err = p.remove(s); err != nil {
			break
		}
		removed++
	}
	p.mutex.Lock()
	p.doomed = append([]*segment(nil), p.doomed[removed:]...)
	p.mutex.Unlock()
	if err != nil {
		err = fmt.Errorf("retention of partition %s: %w", p.place.Name, err)
		p.fail(err)
		return removed, err
	}
	if roll {
		p.roll()
	}
	return count, nil
}

// expire takes segments out of sight. The mutex is held.
func (p *Partition) expire(keep Keep) (count int, roll bool) {
	total := int64(0)
	for _, s := range p.segments {
		total += s.bytes
	}
	for ; count < len(p.segments); count++ {
		s := p.segments[count]
		expired := s.newest < keep.From
		if count == len(p.segments)-1 {
			roll = expired && !s.empty()
			break
		}
		if !s.sealed {
			break // soon
		}
		if !expired && (keep.BytesMax == 0 || total <= keep.BytesMax) {
			break
		}
		total -= s.bytes
	}
	p.doomed = append(p.doomed, p.segments[:count]...)
	p.segments = append([]*segment(nil), p.segments[count:]...)
	setPeaks(p.segments)
	return count, roll
}

// remove removes the files of a segment. The log goes first: index files without one are removed at the next start.
func (p *Partition) remove(s *segment) error {
	p.h.Probe().Mark(host.Event{Name: PointRemoving, A: int64(s.base), B: int64(s.newest)})
	for _, suffix := range []string{logSuffix, indexSuffix, timesSuffix, checkpointSuffix} {
		if err := p.place.Dir.Remove(fileName(s.base, suffix)); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", fileName(s.base, suffix), err)
		}
		if suffix == logSuffix {
			if err := p.place.Dir.SyncDir(); err != nil {
				return fmt.Errorf("sync directory after log %d was removed: %w", s.base, err)
			}
		}
	}
	p.forget(s.base)
	p.h.Probe().Mark(host.Event{Name: PointRemoved, A: int64(s.base), B: s.bytes})
	return nil
}

// SegmentStats describes a segment.
type SegmentStats struct {
	Base, Next Cursor
	Bytes      int64
	Newest     Time
	Sealed     bool
}

// Segments describes what is there, the oldest first.
func (p *Partition) Segments() []SegmentStats {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all := make([]SegmentStats, len(p.segments))
	for i, s := range p.segments {
		all[i] = SegmentStats{Base: s.base, Next: s.next, Bytes: s.bytes, Newest: s.newest, Sealed: s.sealed}
	}
	return all
}
