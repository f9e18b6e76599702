package consumequeue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/internal/invariant"
)

// UnitBytes is the length of a unit.
const UnitBytes = 20

var (
	// ErrOrder says that a unit is not the next of its queue: the log and the queue do not agree.
	ErrOrder = errors.New("consume queue and log do not agree")
	// ErrSync says that a sync has failed, and that a later one proves nothing.
	ErrSync = errors.New("sync of a consume queue failed")
)

// Unit says where a message is.
type Unit struct {
	Physical int64 // in the CommitLog
	Size     int32
	Tag      int64
}

// State is what the owner of a queue stores about it. Units from First to below Count are in files, Rest holds those that
// follow.
type State struct {
	First, Count int64
	Rest         []byte
}

// Next is the index behind the last unit.
func (s *State) Next() int64 { return s.Count + int64(len(s.Rest))/UnitBytes }

// Queue is one queue.
type Queue struct {
	h     host.Host
	dir   host.Dir
	above []host.Dir // the directories that hold dir's name, and those of its parents
	files *openfiles.Cache
	owner string // in the cache
	units int64  // in a file

	mutex   host.Mutex
	waiting []host.Cond // of those that wait, see Wait
	ended   bool        // nobody waits any more
	first   int64
	written int64 // units below are in files
	pending []byte

	// Owned by the flushing task.
	settled bool  // nothing lies behind the written units
	named   int64 // the file whose name was synced last; -1: none yet
	spare   []byte
}

// Options say what a queue is made of.
type Options struct {
	Dir       host.Dir
	Above     []host.Dir // synced when the queue writes its first file: the parents of Dir, nearest first
	Files     *openfiles.Cache
	Owner     string // tells the queue's files from others in Files
	FileUnits int64  // mappedFileSizeConsumeQueue / 20
	State     State
}

// Open makes a queue of what its state says. It reads nothing: a start must not wait for thousands of queues.
func Open(h host.Host, o Options) *Queue {
	return &Queue{
		h: h, dir: o.Dir, above: o.Above, files: o.Files, owner: o.Owner, units: o.FileUnits, mutex: h.NewMutex("consume-queue"),
		first: o.State.First, written: o.State.Count, pending: append([]byte(nil), o.State.Rest...), named: -1,
	}
}

// FileName is the name of the file that the unit at this index begins.
func FileName(index int64) string { return fmt.Sprintf("%020d", index*UnitBytes) }

// Bounds are the index of the first unit and the one behind the last.
func (q *Queue) Bounds() (first, end int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.first, q.end()
}

func (q *Queue) end() int64 { return q.written + int64(len(q.pending))/UnitBytes }

// Append adds the unit of the message with this queue offset. A queue without units may begin anywhere.
func (q *Queue) Append(index int64, u Unit) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.first == q.end() && q.end() == 0 {
		q.first, q.written = index, index
	}
	if index != q.end() {
		return fmt.Errorf("unit %d where %d is next: %w", index, q.end(), ErrOrder)
	}
	p := binary.BigEndian.AppendUint64(q.pending, uint64(u.Physical))
	p = binary.BigEndian.AppendUint32(p, uint32(u.Size))
	q.pending = binary.BigEndian.AppendUint64(p, uint64(u.Tag))
	return nil
}

// Read returns units from index on, at most limit, as many as lie together. None: there are none.
func (q *Queue) Read(index int64, limit int) ([]Unit, error) {
	q.mutex.Lock()
	if index < q.first || index >= q.end() || limit < 1 {
		q.mutex.Unlock()
		return nil, nil
	}
	if at := index - q.written; at >= 0 {
		units := decode(q.pending[at*UnitBytes:], limit)
		q.mutex.Unlock()
		return units, nil
	}
	count := min(int64(limit), q.written-index, q.units-index%q.units)
	q.mutex.Unlock()
	p := make([]byte, count*UnitBytes)
	if err := q.readFile(p, index); err != nil {
		if first, _ := q.Bounds(); index < first {
			return nil, nil // its file was removed meanwhile
		}
		return nil, fmt.Errorf("read %d units from %d: %w", count, index, err)
	}
	return decode(p, limit), nil
}

func (q *Queue) readFile(p []byte, index int64) error {
	base := index - index%q.units
	f, err := q.use(base, false)
	if err != nil {
		return err
	}
	defer f.Release()
	_, err = host.ReadFull(f, p, (index-base)*UnitBytes)
	return err
}

// key names the file that begins with the unit at base among all that are open.
func (q *Queue) key(base int64) openfiles.Key {
	return openfiles.Key{Dir: q.owner, Name: FileName(base)}
}

// use opens the file that begins with the unit at base. A file is never given back dirty: units that count were synced in
// the same use, and what a failed write has left is written again before it counts.
func (q *Queue) use(base int64, create bool) (*openfiles.Handle, error) {
	key := q.key(base)
	return q.files.Open(key, func() (host.File, error) {
		f, err := q.dir.Open(key.Name)
		if create && errors.Is(err, host.ErrNotExist) {
			f, err = q.dir.Create(key.Name)
		}
		return f, err
	})
}

func decode(p []byte, limit int) []Unit {
	units := make([]Unit, 0, min(len(p)/UnitBytes, limit))
	for ; len(p) >= UnitBytes && len(units) < limit; p = p[UnitBytes:] {
		units = append(units, Unit{
			Physical: int64(binary.BigEndian.Uint64(p)), Size: int32(binary.BigEndian.Uint32(p[8:])), Tag: int64(binary.BigEndian.Uint64(p[12:])),
		})
	}
	return units
}

// MoveFirst moves the start of the queue to index: the messages before it are gone from the log. It does not move back.
func (q *Queue) MoveFirst(index int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	invariant.Check(index <= q.end(), "a queue begins before its end")
	q.first = max(q.first, index)
}
