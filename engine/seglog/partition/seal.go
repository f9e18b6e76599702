package partition

import (
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// finish ends the segment that takes appends: nothing is added to it any more, and its log is durable before the next one is
// made, so that only the newest log can be torn. Its index files follow in the settling task.
func (p *Partition) finish(s *segment) error {
	if !p.durable() {
		if err := p.syncBase(s.base); err != nil {
			return err
		}
	}
	p.cutZeros(s) // before the next log is made, so that logs were last written in the order of their names
	p.mutex.Lock()
	s.full = true
	p.mutex.Unlock()
	p.h.Probe().Mark(host.Event{Name: PointSealing, A: int64(s.base)})
	return nil
}

// seal writes the index files of a full segment, whose log is durable. It runs in the settling task, or when that has ended.
func (p *Partition) seal(s *segment) error {
	sealed, err := p.writeIndexes(s)
	if err == nil {
		item := itemOf(sealed)
		err = p.addToList(item.append(nil))
	}
	if err != nil {
		return err
	}
	p.mutex.Lock()
	at := slices.Index(p.segments, s)
	invariant.Check(at >= 0, "retention leaves segments that are not sealed")
	sealed.peak = s.peak
	p.segments = slices.Clone(p.segments)
	p.segments[at] = sealed
	p.settled.Broadcast()
	p.mutex.Unlock()
	return p.dropCheckpoints(s.base)
}

// dropCheckpoints removes the checkpoints of a sealed segment. It need not be durable: they are not asked for any more.
func (p *Partition) dropCheckpoints(base Cursor) error { return p.drop(base, checkpointSuffix) }

// drop removes a file of a segment, if it is there.
func (p *Partition) drop(base Cursor, suffix string) error {
	p.forgetFile(base, suffix)
	name := fileName(base, suffix)
	if err := p.place.Dir.Remove(name); err != nil && !errors.Is(err, host.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// writeIndexes writes the index files of a segment whose log is durable, and returns it as a sealed one.
func (p *Partition) writeIndexes(s *segment) (*segment, error) {
	index := encodeIndex(p.header(s, kindIndex, len(s.index)), s.index)
	times := encodeIndex(p.header(s, kindTimes, len(s.times)), s.times)
	// The index comes last: a segment that has one has both.
	for _, file := range []struct {
		suffix  string
		content []byte
	}{{timesSuffix, times}, {indexSuffix, index}} {
		if err := p.writeFresh(fileName(s.base, file.suffix)+host.UnfinishedSuffix, file.content); err != nil {
			return nil, fmt.Errorf("write %s: %w", fileName(s.base, file.suffix), err)
		}
	}
	p.h.Probe().Mark(host.Event{Name: PointIndexWritten, A: int64(s.base)})
	for _, suffix := range []string{timesSuffix, indexSuffix} {
		name := fileName(s.base, suffix)
		if err := p.place.Dir.Rename(name+host.UnfinishedSuffix, name); err != nil {
			return nil, fmt.Errorf("rename %s: %w", name, err)
		}
	}
	if err := p.place.Dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("sync directory after segment %d was sealed: %w", s.base, err)
	}
	p.h.Probe().Mark(host.Event{Name: PointSealed, A: int64(s.base), B: s.bytes})
	return &segment{
		base: s.base, next: s.next, bytes: s.bytes, newest: s.newest, sealed: true,
		indexItems: len(s.index), timesItems: len(s.times),
	}, nil
}

func (p *Partition) header(s *segment, kind indexKind, items int) indexHeader {
	return indexHeader{kind: kind, base: s.base, next: s.next, logBytes: s.bytes, newest: s.newest, items: items}
}

// writeFresh writes a file of this name, in the place of what may be left of one, and syncs it.
func (p *Partition) writeFresh(name string, content []byte) error {
	if err := p.place.Files.Reserve(1); err != nil {
		return err
	}
	defer p.place.Files.Give(1)
	f, err := host.CreateFresh(p.place.Dir, name)
	if err != nil {
		return err
	}
	if err = host.WriteFullAt(f, content, 0); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
