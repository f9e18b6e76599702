package partition

import (
	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

const (
	// zeroAheadGroups is how many groups the zeros are to hold. Of longer groups it is not the journal's commit that takes the time.
	zeroAheadGroups = 8
	// allocateAheadGroupMax is the longest group for which room is made where nothing is synced. What one call of the kernel costs
	// matters for short ones, and a file that grows with its writes is laid out better.
	allocateAheadGroupMax = 8 << 10
	// zerosAtOnce bounds the zeros of one write.
	zerosAtOnce = 256 << 10
	// fileBlockBytes is what zeros end at a multiple of: most file systems give room in blocks of that.
	fileBlockBytes = 4096
)

// zeroAhead writes zeros behind a group that ends there, when the next one of its size would make the log longer or reach blocks
// that were never written: to sync that takes a commit of the file system's journal. One is paid at once here for as much as
// the log holds, and for ZeroAheadBytes at most: partitions may be many, and most of them small. Whoever commits calls it, so
// that no other write can be where the zeros go; and before the sync, which both share.
func (p *Partition) zeroAhead(f host.File, end, size int64) {
	from, to := p.ahead(end, size, p.config.ZeroAheadBytes/zeroAheadGroups)
	if to <= from {
		return
	}
	zeros := p.h.Memory().Get(int(min(to-from, zerosAtOnce)))
	defer p.h.Memory().Put(zeros)
	clear(zeros)
	for at := from; at < to; {
		n := min(to-at, int64(len(zeros)))
		if err := host.WriteFullAt(f, zeros[:n], at); err != nil {
			p.h.Log(host.Warn, "cannot write zeros ahead; syncs take longer", host.F("partition", p.place.Name), host.F("error", err))
			return
		}
		at += n
	}
	p.h.Probe().Mark(host.Event{Name: PointZeroed, A: end, B: to - from})
}

// allocateAhead is zeroAhead where no sync follows: room for the next groups, which reads as zeros, so that they can be written through
// memory.
func (p *Partition) allocateAhead(f host.File, end, size int64) {
	from, to := p.ahead(end, size, allocateAheadGroupMax)
	if to <= from {
		return
	}
	if err := f.Allocate(from, to-from); err != nil {
		p.h.Log(host.Warn, "cannot allocate ahead; appends take longer", host.F("partition", p.place.Name), host.F("error", err))
		return
	}
	p.h.Probe().Mark(host.Event{Name: PointAllocated, A: end, B: to - from})
}

// ahead says from where to where the open log is to go on with zeros behind a group, unless the group is longer than that. Nothing: it does so
// already, or it is full. It counts them, also if they then cannot be had: the next attempt is at the next blocks.
func (p *Partition) ahead(end, size, groupMax int64) (from, to int64) {
	if end+size <= p.zeroed || size > groupMax {
		return end, end
	}
	from = max(end, p.zeroed) // a group may have gone past the zeros
	to = min(wholeBlocks(from+min(end, p.config.ZeroAheadBytes)), p.config.SegmentBytes)
	if to > from {
		p.zeroed = to
	}
	return from, to
}

// cutZeros gives the room back that zeros take behind the end of a log to which nothing is added any more, but for what is left of
// its last block: that holds messages, and is not to be written again. It is not made durable, and may fail: no
// segment needs its file to end where its log does. Only zeros of this life are cut off: what else lies behind the end
// of a log is never touched.
func (p *Partition) cutZeros(s *segment) {
	end := wholeBlocks(s.bytes)
	if p.zeroed <= end {
		return
	}
	p.zeroed = 0
	if err := p.cut(s.base, end); err != nil {
		p.h.Log(host.Warn, "cannot cut zeros off a log that is full; they stay", host.F("partition", p.place.Name),
			host.F("segment", int64(s.base)), host.F("error", err))
	}
}

// cut makes a log end there, if it is longer.
func (p *Partition) cut(base Cursor, end int64) error {
	f, err := p.file(base, logSuffix)
	if err != nil {
		return err
	}
	defer f.Release()
	size, err := f.Size()
	if err != nil || size <= end {
		return err
	}
	return f.Truncate(end)
}

func wholeBlocks(bytes int64) int64 {
	return (bytes + fileBlockBytes - 1) / fileBlockBytes * fileBlockBytes
}

// zeros reports whether nothing but zeros lies from here to the end. No record begins like that: the field of its size is not
// zero.
func (s *scanner) zeros() bool {
	for s.position < s.end {
		n := int(min(max(int64(s.to-s.from), message.HeaderBytes), s.end-s.position))
		if s.fill(n) != nil {
			return false
		}
		for _, b := range s.buffer[s.from:s.to] {
			if b != 0 {
				return false
			}
		}
		s.position += int64(s.to - s.from)
		s.from = s.to
	}
	return true
}
