package partition

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

// Seek returns the cursor of the first message whose time is at least that; if there is none, that of the next message to
// come. Unlike Read it shows nothing: the message may be removed before it is read.
func (p *Partition) Seek(t Time) (Cursor, error) {
	for {
		c, err := p.seek(t)
		if err != nil && p.trimmed(c) {
			continue // retention has removed the segment: look at what is left
		}
		if err != nil {
			return 0, fmt.Errorf("seek time %d in partition %s: %w", t, p.place.Name, err)
		}
		return c, nil
	}
}

// seek does one attempt. With an error it returns a cursor of the segment that it looked into, or -1.
func (p *Partition) seek(t Time) (Cursor, error) {
	locate := p.locateTime
	if p.config.TimeRule == ByModification {
		locate = p.locateModified
	}
	at, err := locate(t)
	if err != nil {
		return -1, err
	}
	if at.segment.base == at.end {
		return at.end, nil
	}
	base := at.segment.base
	if at.segment.sealed {
		if err := p.searchTimes(&at, t); err != nil {
			return base, err
		}
	}
	f, err := p.logOf(base)
	if err != nil {
		return base, err
	}
	defer f.Release()
	s := newScanner(f, p.h.Memory(), &p.config)
	defer s.release()
	s.end = at.segment.bytes
	s.seek(at.from.value, Cursor(at.from.key))
	for {
		r, err := s.record()
		if err == io.EOF && p.config.TimeRule == ByModification {
			return at.segment.next, nil
		}
		if err == io.EOF {
			return base, fmt.Errorf("segment %d has no message of time %d, and should: %w", base, t, ErrCorrupt)
		}
		if err != nil {
			return base, err
		}
		if r.Filler {
			continue
		}
		newest, err := message.NewestTime(r.Payload)
		if err != nil {
			return base, fmt.Errorf("cursor %d: %w: %w", r.Cursor, ErrCorrupt, err)
		}
		if newest >= t {
			return r.Cursor, nil
		}
	}
}

// locateTime finds the first segment that holds a message of that time or later: times up to each segment never fall.
func (p *Partition) locateTime(t Time) (spot, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state == closed {
		return spot{}, ErrClosed
	}
	if p.partial {
		return spot{}, fmt.Errorf("%w: %w", ErrUnavailable, p.failure)
	}
	none := spot{segment: segment{base: p.visible}, end: p.visible}
	i, _ := slices.BinarySearchFunc(p.segments, t, func(s *segment, t Time) int {
		if s.peak < t {
			return -1
		}
		return 1
	})
	if i == len(p.segments) || p.segments[i].empty() {
		return none, nil
	}
	s := p.segments[i]
	at := spot{segment: *s, end: p.visible, from: pair{uint64(s.base), 0}}
	if !s.sealed && t > 0 {
		if item, ok := atMost(s.times, uint64(t-1)); ok {
			at.from, _ = atMost(s.index, uint64(item.value))
		}
	}
	at.segment.index, at.segment.times = nil, nil
	return at, nil
}

// searchTimes finds where the search for a time begins in a sealed segment.
func (p *Partition) searchTimes(at *spot, t Time) error {
	if t == 0 {
		return nil
	}
	s := &at.segment
	item, ok, err := p.searchFile(s.base, timesSuffix, s.timesItems, uint64(t-1))
	if errors.Is(err, ErrCorrupt) || errors.Is(err, host.ErrNotExist) {
		p.h.Probe().Mark(host.Event{Name: PointIndexUnusable, A: int64(s.base)})
		return nil
	}
	if err != nil || !ok {
		return err
	}
	return p.searchIndex(at, Cursor(item.value))
}

// locateModified finds the segment of a time by the times at which logs were last written.
func (p *Partition) locateModified(t Time) (spot, error) {
	type dated struct {
		segment segment
		at      host.Wall
	}
	p.mutex.Lock()
	all := make([]dated, len(p.segments))
	for i, s := range p.segments {
		all[i].segment = *s
		all[i].segment.index, all[i].segment.times = nil, nil
	}
	end := p.visible
	p.mutex.Unlock()
	for i := range all {
		at, err := host.Modified(p.place.Dir, fileName(all[i].segment.base, logSuffix))
		if err != nil {
			return spot{}, err
		}
		all[i].at = at
	}
	slices.SortStableFunc(all, func(a, b dated) int { return cmp.Compare(a.at, b.at) })
	i := sort.Search(len(all), func(i int) bool { return uint64(all[i].at)/uint64(p.config.TimeUnit) >= uint64(t) })
	if i == len(all) || all[i].segment.empty() {
		return spot{segment: segment{base: end}, end: end}, nil
	}
	s := all[i].segment
	return spot{segment: s, end: end, from: pair{uint64(s.base), 0}}, nil
}
