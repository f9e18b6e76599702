package commitlog

import (
	"fmt"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// group is what one commit writes: records behind each other, and where each contiguous run of them goes.
type group struct {
	bytes  []byte
	runs   []run
	end    int64 // of the log, behind the group
	stored int64 // store timestamp of its last record
	blank  bool  // it ends with a blank, at the end of a sector
}

// run is a part of a group's bytes that lies together in one file.
type run struct {
	physical int64 // of its first byte
	from     int   // in the group's bytes
}

// begin says that what is appended next lies at this offset, in another file than what was appended last.
func (g *group) begin(physical int64) {
	g.runs = append(g.runs, run{physical: physical, from: len(g.bytes)})
}

// keptGroupBytes is what an empty group keeps of its buffer.
const keptGroupBytes = 8 << 20

func (g *group) reset() {
	if cap(g.bytes) > keptGroupBytes {
		g.bytes = nil
	}
	g.bytes, g.runs, g.blank = g.bytes[:0], g.runs[:0], false
}

// padded is where the group behind one that ends at end begins, if a blank lies between them: a write that is torn may spoil the
// whole of a sector, so none may touch a sector in which durable bytes lie.
func (s *Store) padded(end int64) int64 {
	if end%s.config.SectorBytes == 0 {
		return end
	}
	behind := end + message.BlankBytes
	behind += (s.config.SectorBytes - behind%s.config.SectorBytes) % s.config.SectorBytes
	if fileEnd := s.log.FileEnd(end); behind+message.BlankBytes > fileEnd {
		return fileEnd // small sectors: a blank that leads to the next file would not fit behind this one
	}
	return behind
}

// pad ends a group with the blank that leads to the next one, if it has one.
func (s *Store) pad(g *group) {
	if to := s.padded(g.end); g.blank && to != g.end {
		g.bytes = message.AppendBlank(g.bytes, g.end, to-g.end)
		g.end = to
	}
}

// commit writes one group, and syncs it in the modes that say so. It runs in the task whose turn it is, and in one at a time.
func (s *Store) commit(g *group) error {
	s.pad(g)
	s.awaitCheckpoint(g.end)
	for i, r := range g.runs {
		to := len(g.bytes)
		if i+1 < len(g.runs) {
			to = g.runs[i+1].from
		}
		if r.from == to {
			continue // nobody has joined behind a blank
		}
		if err := s.writer.WriteAt(g.bytes[r.from:to], r.physical); err != nil {
			return fmt.Errorf("%w: %w", ErrFailed, err)
		}
	}
	s.h.Probe().Mark(host.Event{Name: PointWritten, A: g.end, B: int64(len(g.bytes))})
	if !s.config.Flush.synced() {
		return nil
	}
	s.mutex.Lock()
	s.written = g.end
	s.mutex.Unlock()
	s.zeroAhead(g)
	if err := s.syncLog(g.end); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	s.h.Probe().Mark(host.Event{Name: PointSynced, A: g.end, B: int64(len(g.bytes))})
	return nil
}

// zeroAhead writes zeros behind a group when the next one of its size would reach blocks that were never written. They read as
// zeros before and after, so nothing depends on them: but to sync the first write of a block takes a commit of the file
// system's journal, and one for ZeroAheadBytes is paid at once here. Whoever has the turn to commit calls it, so that
// no other write can be where the zeros go.
func (s *Store) zeroAhead(g *group) {
	size := int64(len(g.bytes))
	end, ahead := s.log.FileEnd(g.end-1), s.config.ZeroAheadBytes
	if g.end+size <= s.zeroed || s.zeroed >= end || size > ahead/zeroAheadGroups || s.config.Preallocation != series.Fallocated {
		return
	}
	from := max(g.end, s.zeroed)
	to := min(from+ahead, end)
	s.zeroed = to // also if it fails: the next attempt is at the next blocks
	for at := from; at < to; {
		n := min(to-at, int64(len(s.zeros)))
		if err := s.writer.WriteAt(s.zeros[:n], at); err != nil {
			s.h.Log(host.Warn, "cannot write zeros ahead; syncs take longer", host.F("error", err))
			return
		}
		at += n
	}
}

// zeroAheadGroups is how many groups the zeros are to hold. Of longer groups it is not the journal's commit that takes the time.
const zeroAheadGroups = 8

// zerosAtOnce bounds the zeros of one write.
const zerosAtOnce = 256 << 10

// settle lets the dispatcher have a group, before its appends return.
func (s *Store) settle(g *group, err error) error {
	if err != nil {
		s.fail(err)
	} else {
		s.mutex.Lock()
		s.written = max(s.written, g.end) // in the synced modes the next group may be written
		s.confirmed, s.lastStored = g.end, g.stored
		if g.end%s.config.SectorBytes == 0 {
			s.sealed = g.end
		}
		if s.sealing {
			s.moved.Broadcast()
		}
		if !s.resting || s.urgent() {
			s.confirm.Broadcast()
		}
		if s.confirmed-s.checkpointed >= s.config.CheckpointBytes {
			s.due.Broadcast()
		}
		s.mutex.Unlock()
	}
	g.reset()
	return err
}

// syncLog makes the log durable up to an offset that is written. Its failure is final: the kernel may have marked the pages
// clean, so that another sync would succeed without having written them (rocketmq#2706).
func (s *Store) syncLog(to int64) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.syncFailed != nil {
		return s.syncFailed
	}
	s.mutex.Lock()
	from := s.synced
	s.mutex.Unlock()
	if to <= from {
		return nil
	}
	if err := s.log.Sync(from, to); err != nil {
		s.syncFailed = fmt.Errorf("%w: %w", errSync, err)
		return s.syncFailed
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.synced = to
	return nil
}

// flushAtIntervals is the task of mode interval.
func (s *Store) flushAtIntervals() {
	for s.tasks.Sleep(s.config.FlushInterval) {
		s.mutex.Lock()
		written := s.written
		s.mutex.Unlock()
		if err := s.syncLog(written); err != nil {
			s.fail(fmt.Errorf("sync at interval: %w", err))
			return
		}
		s.h.Probe().Mark(host.Event{Name: PointSynced, A: written})
	}
}
