package partition

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"lakebed/engine/host"
)

// Limits bound what one read returns.
type Limits struct {
	Messages int
	Bytes    int64 // of payloads; the first message is returned however long it is
}

// Entry is one message of a batch.
type Entry struct {
	Cursor  Cursor
	Payload []byte // until the batch is released
}

// Batch is what a read returns: messages without a gap, perhaps none.
type Batch struct {
	Entries []Entry
	Next    Cursor // to read on from
	scanner *scanner
}

// Release gives the batch's memory back.
func (b *Batch) Release() {
	if b.scanner != nil {
		b.scanner.release()
		b.scanner = nil
	}
}

// spot is where a search for a cursor begins: a segment, as it was at that moment, and a position in its log.
type spot struct {
	segment segment
	from    pair // cursor and position
	end     Cursor
}

// Read returns messages from a cursor on, as many as are there and within the limits, and none at the end. ErrTrimmed:
// retention has removed it; ErrBeyond: it is behind the next one to come.
func (p *Partition) Read(from Cursor, limits Limits) (Batch, error) {
	b, err := p.read(from, limits)
	if err != nil && p.trimmed(from) {
		err = p.trimmedError(from)
	}
	if err != nil {
		return Batch{}, fmt.Errorf("read cursor %d of partition %s: %w", from, p.place.Name, err)
	}
	return b, nil
}

func (p *Partition) read(from Cursor, limits Limits) (Batch, error) {
	at, err := p.locate(from)
	if err != nil || from == at.end {
		return Batch{Next: from}, err
	}
	if err := p.searchIndex(&at, from); err != nil {
		return Batch{}, err
	}
	f, err := p.logOf(at.segment.base)
	if err != nil {
		return Batch{}, err
	}
	defer f.Release()
	s := newScanner(f, p.h.Memory(), &p.config)
	s.end = at.segment.bytes
	s.seek(at.from.value, Cursor(at.from.key))
	b := Batch{Next: from, scanner: s}
	if err := b.collect(p.h.Probe(), &at, limits); err != nil {
		b.Release()
		return Batch{}, err
	}
	return b, nil
}

// collect takes messages out of the log, as long as they lie in the buffer that the first one came with.
func (b *Batch) collect(probe host.Probe, at *spot, limits Limits) error {
	bytes := int64(0)
	for b.Next < at.end && b.Next < at.segment.next {
		if len(b.Entries) > 0 && !b.scanner.buffered() {
			return nil
		}
		r, err := b.scanner.record()
		if err == io.EOF {
			err = fmt.Errorf("log of segment %d ends at cursor %d, want %d: %w", at.segment.base, b.scanner.next, at.segment.next, ErrCorrupt)
		}
		if err != nil {
			if len(b.Entries) > 0 && errors.Is(err, ErrCorrupt) {
				return nil // what came before is whole; who asks for this one is told
			}
			return err
		}
		if r.Filler || r.Cursor < b.Next {
			continue
		}
		bytes += int64(len(r.Payload))
		if len(b.Entries) > 0 && (len(b.Entries) >= limits.Messages || bytes > limits.Bytes) {
			return nil
		}
		b.Entries = append(b.Entries, Entry{Cursor: r.Cursor, Payload: r.Payload})
		b.Next = r.Cursor + 1
		if probe.Perhaps(PointReadLess) {
			return nil
		}
	}
	return nil
}

// locate finds the segment of a cursor, and in an open one the position too.
func (p *Partition) locate(from Cursor) (spot, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.state == closed {
		return spot{}, ErrClosed
	}
	first := p.firstLocked()
	switch {
	case p.partial && from >= p.visible:
		return spot{}, fmt.Errorf("readable up to %d: %w: %w", p.visible, ErrUnavailable, p.failure)
	case from > p.visible || from < 0:
		return spot{}, fmt.Errorf("it ends at %d: %w", p.visible, ErrBeyond)
	case from < first:
		return spot{}, fmt.Errorf("it begins at %d: %w", first, ErrTrimmed)
	case from == p.visible:
		return spot{end: from}, nil
	}
	i, found := slices.BinarySearchFunc(p.segments, from, func(s *segment, c Cursor) int {
		switch {
		case s.base < c:
			return -1
		case s.base > c:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	s := p.segments[i]
	if from >= s.next {
		return spot{}, fmt.Errorf("segment %d ends at %d and the next one begins later: %w", s.base, s.next, ErrCorrupt)
	}
	at := spot{segment: *s, end: p.visible, from: pair{uint64(s.base), 0}}
	if !s.sealed {
		at.from, _ = atMost(s.index, uint64(from))
	}
	at.segment.index, at.segment.times = nil, nil
	return at, nil
}

// firstLocked is the cursor of the first message that is there, or the next one to come. The mutex is held.
func (p *Partition) firstLocked() Cursor {
	if len(p.segments) == 0 {
		return p.visible
	}
	return p.segments[0].base
}

// trimmed reports whether retention has removed a cursor, perhaps while it was read.
func (p *Partition) trimmed(c Cursor) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return c >= 0 && c < p.firstLocked()
}

func (p *Partition) trimmedError(c Cursor) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return fmt.Errorf("it begins at %d: %w", p.firstLocked(), ErrTrimmed)
}

// searchIndex finds the position for a cursor in the index file of a sealed segment. If the file cannot be used, the log
// is read from its beginning: every record says itself which one it is.
func (p *Partition) searchIndex(at *spot, c Cursor) error {
	s := &at.segment
	if !s.sealed {
		return nil
	}
	found, ok, err := p.searchFile(s.base, indexSuffix, s.indexItems, uint64(c))
	if errors.Is(err, ErrCorrupt) || errors.Is(err, host.ErrNotExist) {
		p.h.Probe().Mark(host.Event{Name: PointIndexUnusable, A: int64(s.base)})
		return nil
	}
	if err != nil {
		return err
	}
	if ok {
		at.from = found
	}
	return nil
}

func (p *Partition) searchFile(base Cursor, suffix string, items int, key uint64) (pair, bool, error) {
	f, err := p.file(base, suffix)
	if err != nil {
		return pair{}, false, err
	}
	defer f.Release()
	block := p.h.Memory().Get(blockBytes)
	defer p.h.Memory().Put(block)
	return searchItems(f, block, items, key)
}

// Bounds are the cursors of the first message that is there and of the next one to come.
func (p *Partition) Bounds() (first, next Cursor, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.partial {
		return 0, 0, fmt.Errorf("bounds of partition %s: %w: %w", p.place.Name, ErrUnavailable, p.failure)
	}
	return p.firstLocked(), p.visible, nil
}
