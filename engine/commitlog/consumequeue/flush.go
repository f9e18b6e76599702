package consumequeue

import (
	"errors"
	"fmt"
	"strconv"

	"lakebed/engine/host"
)

// Points of a queue. A is the index behind the last unit, B the first unit of the file.
const (
	PointWritten host.Point = "consumequeue.written" // not yet synced
	PointSynced  host.Point = "consumequeue.synced"
	PointRemoved host.Point = "consumequeue.file-removed"
)

// blockUnits is how many units Flush writes together: five sectors of 512 bytes, exactly. A write that is torn may spoil the
// whole of a sector, so none may touch a sector in which durable units lie. What does not fill a block is small, and is
// stored by the owner; so a checkpoint of thousands of queues that have a few messages each syncs one file.
const blockUnits = 128

// Flush writes units that are in memory, makes them durable, and returns what is to be stored about the queue, with the units
// that are left. After a failure that is not ErrSync it may be called again.
func (q *Queue) Flush() (State, error) {
	q.mutex.Lock()
	state := State{First: q.first, Count: q.written}
	p := append(q.spare[:0], q.pending...)
	q.mutex.Unlock()
	q.spare = p
	n := q.whole(state.Count, int64(len(p))/UnitBytes)
	if n == 0 {
		state.Rest = append([]byte(nil), p...)
		return state, nil
	}
	written := p[:n*UnitBytes]
	if err := q.settle(state.Count); err != nil {
		return state, fmt.Errorf("cut consume queue at %d: %w", state.Count, err)
	}
	if err := q.write(written, state.Count); err != nil {
		return state, fmt.Errorf("write %d units of consume queue at %d: %w", n, state.Count, err)
	}
	state.Count += n
	state.Rest = append([]byte(nil), p[len(written):]...)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.written = state.Count
	q.pending = append(q.pending[:0], q.pending[len(written):]...)
	if len(q.pending) == 0 && cap(q.pending) > keptBytes {
		q.pending, q.spare = nil, nil // thousands of idle queues must not hold what they once needed
	}
	return state, nil
}

// whole is how many of so many units behind index fill blocks, or the file that they end.
func (q *Queue) whole(index, count int64) int64 {
	end := index + count
	inFile := end % q.units
	return max(count-inFile%blockUnits, 0)
}

// keptBytes is what an idle queue may keep of its buffers.
const keptBytes = 1024

// settle cuts off what an earlier process left behind the units that count. It need not be durable by itself: until the next
// state is stored, the same units count.
func (q *Queue) settle(count int64) error {
	if q.settled {
		return nil
	}
	infos, err := q.dir.List()
	if err != nil {
		return err
	}
	for _, info := range infos {
		offset, err := strconv.ParseInt(info.Name, 10, 64)
		if err != nil || info.Name != FileName(offset/UnitBytes) {
			continue
		}
		base := offset / UnitBytes
		switch {
		case base >= count:
			err = q.dir.Remove(info.Name)
		case info.Size > (count-base)*UnitBytes && count < base+q.units:
			err = q.truncate(base, (count-base)*UnitBytes)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range append([]host.Dir{q.dir}, q.above...) {
		if err := d.SyncDir(); err != nil {
			return fmt.Errorf("%w: %w", ErrSync, err)
		}
	}
	q.settled = true
	return nil
}

func (q *Queue) truncate(base, bytes int64) error {
	f, err := q.use(base, false)
	if err != nil {
		return err
	}
	defer f.Release()
	return f.Truncate(bytes)
}

// write writes units to their files and syncs these. A name is synced too, before its units count.
func (q *Queue) write(p []byte, index int64) error {
	for len(p) > 0 {
		base := index - index%q.units
		n := min(int64(len(p)), (base+q.units-index)*UnitBytes)
		if err := q.writeFile(p[:n], base, index); err != nil {
			return err
		}
		p, index = p[n:], index+n/UnitBytes
	}
	return nil
}

func (q *Queue) writeFile(p []byte, base, index int64) error {
	f, err := q.use(base, true)
	if err != nil {
		return err
	}
	defer f.Release()
	if err := host.WriteFullAt(f, p, (index-base)*UnitBytes); err != nil {
		return err
	}
	end := index + int64(len(p))/UnitBytes
	q.h.Probe().Mark(host.Event{Name: PointWritten, A: end, B: base})
	if err = f.Sync(); err == nil && q.named != base {
		err = q.dir.SyncDir()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSync, err)
	}
	q.named = base
	q.h.Probe().Mark(host.Event{Name: PointSynced, A: end, B: base})
	return nil
}

// RemoveBelow removes the files of which every unit is below first, the oldest first, and never the last: it holds the
// number of the next message. state must be stored durably already.
func (q *Queue) RemoveBelow(state State) error {
	removed := false
	infos, err := q.dir.List()
	if err != nil {
		return fmt.Errorf("list consume queue: %w", err)
	}
	for _, info := range infos {
		offset, err := strconv.ParseInt(info.Name, 10, 64)
		base := offset / UnitBytes
		if err != nil || base+q.units > state.First || base+q.units >= state.Count {
			continue
		}
		q.files.Forget(q.key(base))
		if err := q.dir.Remove(info.Name); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove file %s of consume queue: %w", info.Name, err)
		}
		removed = true
		q.h.Probe().Mark(host.Event{Name: PointRemoved, A: state.First, B: base})
	}
	if removed {
		if err := q.dir.SyncDir(); err != nil {
			return fmt.Errorf("sync consume queue directory: %w", err)
		}
	}
	return nil
}
