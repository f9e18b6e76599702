package partition

import (
	"errors"
	"fmt"
	"io"
	"math"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

// copyBytes is how much of a log is written at once while it is copied.
const copyBytes = 256 << 10

// recover makes the directory what it would be after a clean stop, but for index files that the settling task is to write, and
// returns its segments. With an error it returns what comes before the failure.
func (p *Partition) recover() ([]*segment, error) {
	there, err := p.tidy()
	if err == nil {
		err = p.setNamelessAside(&there)
	}
	if err != nil {
		return nil, err
	}
	list, err := p.readSealed(&there)
	if err != nil {
		return nil, err
	}
	segments, err := p.takeAll(&there, &list)
	if err == nil {
		err = p.amendList(&list, segments)
	}
	return segments, err
}

// takeAll returns the segments of a listing. With an error it returns what comes before the failure.
func (p *Partition) takeAll(there *listing, list *sealedList) (segments []*segment, err error) {
	for i, base := range there.segments {
		limit := noLimit
		if i+1 < len(there.segments) {
			limit = there.segments[i+1]
		}
		more, failed := p.take(base, limit, there, list)
		if failed != nil {
			err = fmt.Errorf("segment %d: %w", base, failed)
		}
		if len(more) == 0 {
			return segments, err
		}
		if end := endOf(segments); len(segments) > 0 && base != end {
			if base < end {
				return segments, fmt.Errorf("segment %d begins before the end of the one before it, %d: %w", base, end, ErrCorrupt)
			}
			p.h.Probe().Mark(host.Event{Name: PointGap, A: int64(end), B: int64(base)})
			p.h.Log(host.Error, "cursors are missing", host.F("partition", p.place.Name), host.F("from", int64(end)), host.F("to", int64(base)))
		}
		segments = append(segments, more...)
		if err != nil {
			break
		}
	}
	return segments, err
}

// noLimit is that of the newest log: nothing follows it.
const noLimit = Cursor(math.MaxInt64)

// take returns the segment of a log, of which the newest may become two. The messages from limit on are those of the next log.
func (p *Partition) take(base, limit Cursor, there *listing, list *sealedList) (all []*segment, err error) {
	lost := !has(there.logs, base)
	var said *indexHeader
	s := list.find(base, there)
	if s == nil {
		s, said, err = p.load(base)
	}
	if err == nil && lost {
		err = p.markLost(base)
	}
	if err != nil {
		return nil, err
	}
	if s == nil {
		return p.mend(base, limit, said, lost)
	}
	if has(there.checkpoints, base) {
		err = p.dropCheckpoints(base) // a crash came between the two steps of sealing
	}
	return []*segment{s}, err
}

// load returns a segment that was sealed, as its index files say, also if its log is not as long any more: what was in it is
// missing then, and reads say so. Nil: it was not sealed, or an index file cannot be used; said is what the other one says.
func (p *Partition) load(base Cursor) (s *segment, said *indexHeader, err error) {
	index, err := p.loadHeader(base, indexSuffix, kindIndex)
	if err != nil {
		return nil, nil, err
	}
	times, err := p.loadHeader(base, timesSuffix, kindTimes)
	if err != nil {
		return nil, nil, err
	}
	if index == nil {
		return nil, times, nil
	}
	if times == nil || index.next != times.next || index.logBytes != times.logBytes || index.newest != times.newest {
		return nil, index, nil
	}
	size, err := p.logSize(base)
	if err != nil {
		return nil, nil, err
	}
	if size < index.logBytes {
		p.tellMissing(base, index.next, fmt.Errorf("its log has %d bytes of %d: %w", size, index.logBytes, ErrCorrupt))
	}
	return &segment{
		base: base, next: index.next, bytes: index.logBytes, newest: index.newest, sealed: true,
		indexItems: index.items, timesItems: times.items,
	}, nil, nil
}

// logSize is the length of a log, zero if it is lost.
func (p *Partition) logSize(base Cursor) (int64, error) {
	f, err := p.file(base, logSuffix)
	if errors.Is(err, host.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Release()
	return f.Size()
}

// tellMissing tells that a log is not what other files of its segment say was durable. Its segment ends where they say all the
// same: reads of what is missing are answered with ErrCorrupt, and no cursor is given twice.
func (p *Partition) tellMissing(base, next Cursor, why error) {
	p.h.Probe().Mark(host.Event{Name: PointMessagesMissing, A: int64(base), B: int64(next)})
	p.h.Log(host.Error, "messages that were durable are missing or damaged", host.F("partition", p.place.Name),
		host.F("segment", int64(base)), host.F("next", int64(next)), host.F("why", why))
}

// loadHeader returns the header of an index file. Nil: there is none that can be used.
func (p *Partition) loadHeader(base Cursor, suffix string, kind indexKind) (*indexHeader, error) {
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
	if errors.Is(err, ErrCorrupt) || err == nil && (h.kind != kind || h.base != base) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &h, nil
}

// mend makes segments of a log that has no index files, or none that can be used. What its checkpoints cover is taken as it
// is. Of the rest of the newest one it keeps what is whole, and copies it into a log of its own: it may be in the page cache
// only, and count as synced. An older log was synced before the next was made, and so was one of which an index file says
// something.
func (p *Partition) mend(base, limit Cursor, said *indexHeader, lost bool) ([]*segment, error) {
	known, err := p.covered(base)
	if err != nil {
		return nil, err
	}
	if known == nil {
		known = &segment{base: base, next: base}
	}
	known.full = true
	if said != nil {
		limit = min(limit, said.next)
	}
	const filesAtOnce = 2 // the log and its copy: two places at once, since who holds one must not wait for another
	if err := p.place.Files.Reserve(filesAtOnce); err != nil {
		return nil, err
	}
	defer p.place.Files.Give(filesAtOnce)
	if limit == noLimit && !lost {
		segments, err := p.salvage(known)
		if errors.Is(err, host.ErrNoSpace) {
			return p.keepInPlace(known, err)
		}
		return segments, err
	}
	p.h.Probe().Mark(host.Event{Name: PointMissingIndex, A: int64(base)})
	if known.next < limit && !lost {
		err = p.scan(known, limit, func(r found, at Time) error {
			known.take(&r, 0, at, p.config.IndexBytes)
			return nil
		})
	}
	known.addTime()
	if said != nil && known.next < said.next {
		p.tellMissing(base, said.next, fmt.Errorf("it ends at cursor %d: %w", known.next, ErrCorrupt))
		known.next, known.bytes, known.newest = said.next, max(known.bytes, said.logBytes), max(known.newest, said.newest)
	}
	return []*segment{known}, err
}

// salvage copies what is whole of the newest log behind what is known to be durable. The copy is the newest log then, and takes
// appends; where nothing is known it takes the old one's place.
func (p *Partition) salvage(known *segment) ([]*segment, error) {
	rest := &segment{base: known.next, next: known.next, began: p.h.Elapsed()}
	to := &copier{p: p, name: fileName(rest.base, logSuffix)}
	defer to.abandon()
	if known.empty() {
		if err := to.begin(); err != nil {
			return nil, fmt.Errorf("begin a copy: %w", err)
		}
	}
	origin := known.bytes
	err := p.scan(known, noLimit, func(r found, at Time) error {
		if to.file == nil && r.Filler {
			origin = r.position + int64(len(r.raw))
			return nil
		}
		if err := to.write(r.raw); err != nil {
			return fmt.Errorf("copy the record at %d: %w", r.position, err)
		}
		rest.take(&r, origin, at, p.config.IndexBytes)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if to.file == nil {
		return []*segment{known}, nil // the checkpoint covers all of it
	}
	if pad := paddingFor(rest.bytes, p.config.PadBytes); pad > 0 { // a group was cut in its middle, or filled no sector
		if err := to.write(message.AppendFiller(nil, rest.next, int(pad))); err != nil {
			return nil, fmt.Errorf("fill the last sector of a copy: %w", err)
		}
		rest.bytes += pad
	}
	if err := to.finish(rest.base); err != nil {
		return nil, err
	}
	p.forget(rest.base)
	if !known.empty() {
		p.h.Probe().Mark(host.Event{Name: PointSalvaged, A: int64(rest.next), B: rest.bytes})
		return []*segment{known, rest}, nil
	}
	// Checkpoints that could not be used are of a log that is gone.
	if err := p.dropCheckpoints(rest.base); err != nil {
		return nil, err
	}
	point := PointSalvaged
	if rest.empty() {
		point = PointAdopted
	}
	p.h.Probe().Mark(host.Event{Name: point, A: int64(rest.next), B: rest.bytes})
	return []*segment{rest}, nil
}

// take adds a record of a log to the segment that it is read for, whose log begins at origin of that.
func (s *segment) take(r *found, origin int64, at Time, indexBytes int64) {
	if r.Filler {
		s.bytes = r.position + int64(len(r.raw)) - origin
		return
	}
	s.add(r.position-origin, int64(len(r.raw)), at, indexBytes)
}

// scan hands out the records of a log behind what is known of it, up to a cursor, its end, or the first bytes that are no
// record of it.
func (p *Partition) scan(known *segment, limit Cursor, each func(r found, at Time) error) error {
	f, err := p.place.Dir.Open(fileName(known.base, logSuffix))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return p.scanFile(f, known, limit, each)
}

// scanFile is scan of a file that is open.
func (p *Partition) scanFile(f host.File, known *segment, limit Cursor, each func(r found, at Time) error) error {
	base := known.base
	size, err := f.Size()
	if err != nil {
		return err
	}
	scanner := newScanner(f, p.h.Memory(), &p.config)
	defer scanner.release()
	scanner.seek(known.bytes, known.next)
	for scanner.end = size; scanner.next < limit; {
		good, next := scanner.position, scanner.next
		r, err := scanner.record()
		var at Time
		if err == nil && !r.Filler {
			if at, err = message.NewestTime(r.Payload); err != nil {
				err = fmt.Errorf("cursor %d: %w: %w", r.Cursor, ErrCorrupt, err)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, ErrCorrupt):
			scanner.seek(good, next)
			if scanner.zeros() {
				p.h.Probe().Mark(host.Event{Name: PointZerosFound, A: int64(next), B: size - good})
			} else {
				p.tornTail(base, next, size-good, err)
			}
			return nil
		case err != nil:
			return err // not the end: the disk does not answer
		}
		if err := each(r, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *Partition) tornTail(base, next Cursor, bytes int64, why error) {
	p.h.Probe().Mark(host.Event{Name: PointTornTail, A: int64(next), B: bytes})
	p.h.Log(host.Warn, "the end of a log is no record and is cut off", host.F("partition", p.place.Name),
		host.F("segment", int64(base)), host.F("next", int64(next)), host.F("bytes", bytes), host.F("why", why))
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
	if c.file == nil {
		if err := c.begin(); err != nil {
			return err
		}
	}
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
	c.close()
	if err := c.p.place.Dir.Rename(c.name+host.UnfinishedSuffix, c.name); err != nil {
		return fmt.Errorf("rename the copy: %w", err)
	}
	if err := c.p.place.Dir.SyncDir(); err != nil {
		return fmt.Errorf("sync directory after the copy was renamed: %w", err)
	}
	return nil
}

// close closes the copy.
func (c *copier) close() {
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// abandon closes a copy that could not be completed, and gives its room back; if that fails too the next start does.
func (c *copier) abandon() {
	if c.file != nil {
		c.close()
		_ = c.p.place.Dir.Remove(c.name + host.UnfinishedSuffix)
	}
}
