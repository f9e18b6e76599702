package partition

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

// copyBytes is how much of a log is written at once while it is copied.
const copyBytes = 256 << 10

// recover makes the directory what it would be after a clean stop, and returns its segments. With an error it returns those
// that came before.
func (p *Partition) recover() ([]*segment, error) {
	bases, err := p.tidy()
	if err != nil {
		return nil, err
	}
	var segments []*segment
	for i, base := range bases {
		newest := i == len(bases)-1
		s, err := p.load(base)
		if err == nil && s == nil {
			s, err = p.mend(base, newest)
		}
		if err != nil {
			return segments, fmt.Errorf("segment %d: %w", base, err)
		}
		if end := endOf(segments); len(segments) > 0 && base != end {
			if base < end {
				return segments, fmt.Errorf("segment %d begins before the end of the one before it, %d: %w", base, end, ErrCorrupt)
			}
			p.h.Probe().Mark(host.Event{Name: PointGap, A: int64(end), B: int64(base)})
			p.h.Log(host.Error, "cursors are missing", host.F("partition", p.place.Name), host.F("from", int64(end)), host.F("to", int64(base)))
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// tidy removes what a crash left unfinished, and index files without a log. It returns the logs in order.
func (p *Partition) tidy() ([]Cursor, error) {
	entries, err := p.place.Dir.List()
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	var bases []Cursor
	for _, e := range entries {
		if base, suffix, ok := parseName(e.Name); ok && !e.Dir && suffix == logSuffix {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases) // as numbers: the names are not padded
	for _, e := range entries {
		name, unfinished := strings.CutSuffix(e.Name, host.UnfinishedSuffix)
		base, suffix, ok := parseName(name)
		if !ok || e.Dir {
			continue // not ours
		}
		_, hasLog := slices.BinarySearch(bases, base)
		orphan := (suffix == indexSuffix || suffix == timesSuffix) && !hasLog
		if unfinished || orphan {
			if err := p.place.Dir.Remove(e.Name); err != nil {
				return nil, fmt.Errorf("remove %s: %w", e.Name, err)
			}
		}
	}
	return bases, nil
}

// load returns a segment that was sealed. Nil: it was not, or its index files cannot be used.
func (p *Partition) load(base Cursor) (*segment, error) {
	index, err := p.loadHeader(base, indexSuffix)
	if err != nil || index == nil {
		return nil, err
	}
	times, err := p.loadHeader(base, timesSuffix)
	if err != nil || times == nil {
		return nil, err
	}
	agree := index.kind == kindIndex && times.kind == kindTimes && index.base == base && times.base == base &&
		index.next == times.next && index.logBytes == times.logBytes && index.newest == times.newest
	if !agree {
		return nil, nil
	}
	f, err := p.file(base, logSuffix)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	size, err := f.Size()
	if err != nil || size < index.logBytes {
		return nil, err
	}
	return &segment{
		base: base, next: index.next, bytes: index.logBytes, newest: index.newest, sealed: true,
		indexItems: index.items, timesItems: times.items,
	}, nil
}

// loadHeader returns the header of an index file. Nil: there is none that can be used.
func (p *Partition) loadHeader(base Cursor, suffix string) (*indexHeader, error) {
	f, err := p.file(base, suffix)
	if errors.Is(err, host.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Release()
	block := p.h.Memory().Get(blockBytes)
	defer p.h.Memory().Put(block)
	h, err := readHeader(f, block)
	if errors.Is(err, ErrCorrupt) {
		return nil, nil
	}
	return &h, err
}

// mend makes a sealed segment of a log that has no index files. Of the newest one it keeps what is whole, and copies it:
// it may be in the page cache only, and count as synced. An older one was synced before the next was made.
func (p *Partition) mend(base Cursor, newest bool) (*segment, error) {
	const filesAtOnce = 2 // the log and its copy: two places at once, since who holds one must not wait for another
	if err := p.place.Files.Reserve(filesAtOnce); err != nil {
		return nil, err
	}
	s, err := p.readAll(base, newest)
	p.place.Files.Give(filesAtOnce)
	if err != nil {
		return nil, err
	}
	p.forget(base)
	if newest && s.empty() {
		p.h.Probe().Mark(host.Event{Name: PointAdopted, A: int64(base)})
		s.began = p.h.Elapsed()
		return s, nil
	}
	s.addTime()
	sealed, err := p.writeIndexes(s)
	if err == nil {
		p.h.Probe().Mark(host.Event{Name: PointSalvaged, A: int64(sealed.next), B: sealed.bytes})
	}
	return sealed, err
}

// readAll reads a log, and puts a copy of what is whole of it in its place if it is the newest.
func (p *Partition) readAll(base Cursor, newest bool) (*segment, error) {
	var to *copier
	if newest {
		to = &copier{p: p, name: fileName(base, logSuffix)}
		defer to.abandon()
		if err := to.begin(); err != nil {
			return nil, fmt.Errorf("begin a copy: %w", err)
		}
	} else {
		p.h.Probe().Mark(host.Event{Name: PointMissingIndex, A: int64(base)})
	}
	s, err := p.scan(base, to)
	if err == nil && newest {
		err = to.finish(base)
	}
	return s, err
}

// scan reads a log up to its end, or to the first bytes that are no record of it.
func (p *Partition) scan(base Cursor, to *copier) (*segment, error) {
	f, err := p.place.Dir.Open(fileName(base, logSuffix))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	scanner := newScanner(f, p.h.Memory(), &p.config)
	defer scanner.release()
	scanner.next, scanner.end = base, size
	s := &segment{base: base, next: base}
	for {
		r, err := scanner.record()
		var at Time
		if err == nil && !r.Filler {
			if at, err = message.NewestTime(r.Payload); err != nil {
				err = fmt.Errorf("cursor %d: %w: %w", r.Cursor, ErrCorrupt, err)
			}
		}
		switch {
		case err == io.EOF:
			return s, nil
		case errors.Is(err, ErrCorrupt):
			p.tornTail(base, s, size, err)
			return s, nil
		case err != nil:
			return nil, err // not the end: the disk does not answer
		}
		if r.Filler {
			s.bytes = r.position + int64(len(r.raw))
		} else {
			s.add(r.position, int64(len(r.raw)), at, p.config.IndexBytes)
		}
		if to != nil {
			if err := to.write(r.raw); err != nil {
				return nil, fmt.Errorf("copy the record at %d: %w", r.position, err)
			}
		}
	}
}

func (p *Partition) tornTail(base Cursor, s *segment, size int64, why error) {
	p.h.Probe().Mark(host.Event{Name: PointTornTail, A: int64(s.next), B: size - s.bytes})
	p.h.Log(host.Warn, "the end of a log is no record and is cut off", host.F("partition", p.place.Name),
		host.F("segment", int64(base)), host.F("next", int64(s.next)), host.F("bytes", size-s.bytes), host.F("why", why))
}

// copier writes a log anew under another name, and gives it the old one's when it is durable.
type copier struct {
	p       *Partition
	name    string
	file    host.File
	buffer  []byte
	written int64
}

func (c *copier) begin() error {
	f, err := host.CreateFresh(c.p.place.Dir, c.name+host.UnfinishedSuffix)
	c.file = f
	return err
}

func (c *copier) write(raw []byte) error {
	c.buffer = append(c.buffer, raw...)
	if len(c.buffer) < copyBytes {
		return nil
	}
	return c.flush()
}

func (c *copier) flush() error {
	if len(c.buffer) == 0 {
		return nil
	}
	if err := host.WriteFullAt(c.file, c.buffer, c.written); err != nil {
		return err
	}
	c.written += int64(len(c.buffer))
	c.buffer = c.buffer[:0]
	return nil
}

// finish makes the copy durable and has it take the old log's place. Only when that is durable too may index files say
// how long the log is.
func (c *copier) finish(base Cursor) error {
	err := c.flush()
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	c.p.h.Probe().Mark(host.Event{Name: PointSalvaging, A: int64(base), B: c.written})
	c.abandon()
	if err := c.p.place.Dir.Rename(c.name+host.UnfinishedSuffix, c.name); err != nil {
		return fmt.Errorf("rename the copy: %w", err)
	}
	if err := c.p.place.Dir.SyncDir(); err != nil {
		return fmt.Errorf("sync directory after the copy was renamed: %w", err)
	}
	return nil
}

// abandon closes the copy. What is not renamed is removed at the next start.
func (c *copier) abandon() {
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}
