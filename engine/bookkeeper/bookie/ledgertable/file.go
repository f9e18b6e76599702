package ledgertable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

const (
	suffix     = ".table"
	groupBytes = 1 << 20 // a snapshot is written in groups of about this
	growth     = 2       // a new snapshot is due when the file is this many times the last one, and
	growthMin  = 1 << 20 // at least this much was added
)

// Points of the ledger table. A is the file's id, B the group's sequence.
const (
	PointWritten  host.Point = "ledgertable.written" // not yet synced
	PointSynced   host.Point = "ledgertable.synced"
	PointSnapshot host.Point = "ledgertable.snapshot"
)

// PointSnapshotNow is where the world may have a checkpoint write the whole table, although its changes would do.
const PointSnapshotNow host.Point = "ledgertable.snapshot-now"

// Kind is the kind of ledger table files.
func Kind() record.FileKind { return record.FileKind{'L', 'T', 'B', 'L'} }

// FileName is the name of the table file with this id.
func FileName(id uint64) string { return fmt.Sprintf("%08x%s", id, suffix) }

// ParseFileName reads the id out of a table file's name.
func ParseFileName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 8 {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 16, 32)
	return id, err == nil && id > 0 && FileName(id) == name
}

// Position is a point in the table's history: everything up to this group of this file.
type Position struct {
	File     uint64
	Sequence uint64
}

// Before reports whether p lies before q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || (p.File == q.File && p.Sequence < q.Sequence)
}

// LogChanges is what a checkpoint writes about entry logs.
type LogChanges struct {
	Set  []entrylog.LogState
	Gone []entrylog.LogID
}

// File is the durable side of the table.
type File struct {
	h    host.Host
	dir  host.Dir
	rand *rand.Rand

	old      []uint64 // files to remove once a newer one is durable
	lastID   uint64
	current  host.File // nil: the next write must be a snapshot
	header   record.FileHeader
	offset   int64
	sequence uint64
	synced   uint64 // last group that is durable
	snapshot int64  // bytes of the snapshot that the current file starts with
	group    record.Group
}

// Loaded is what Load found.
type Loaded struct {
	Table *Table
	Logs  []entrylog.LogState
	At    Position
}

// Load reads the newest finished file. vouched is what the mark says was durable: less than that is rot. An empty
// directory gives an empty table.
func Load(h host.Host, dir host.Dir, vouched Position) (*File, Loaded, error) {
	f := &File{h: h, dir: dir, rand: h.Rand("ledgertable")}
	ids, err := listFiles(dir)
	if err != nil {
		return nil, Loaded{}, fmt.Errorf("list ledger table files: %w", err)
	}
	f.old = ids
	loaded := Loaded{Table: NewTable()}
	for _, id := range slices.Backward(ids) {
		f.lastID = max(f.lastID, id)
		c, at, err := f.read(id)
		if err != nil {
			return nil, Loaded{}, fmt.Errorf("read ledger table %s: %w", FileName(id), err)
		}
		if !c.finished {
			continue
		}
		loaded.Table, loaded.At = c.table, at
		for _, log := range host.SortedKeys(c.logs) {
			loaded.Logs = append(loaded.Logs, c.logs[log])
		}
		break
	}
	if loaded.At.Before(vouched) {
		return nil, Loaded{}, fmt.Errorf("ledger table ends at group %d of file %d, but group %d of file %d was durable: %w",
			loaded.At.Sequence, loaded.At.File, vouched.Sequence, vouched.File, record.ErrCorrupt)
	}
	return f, loaded, nil
}

func listFiles(dir host.Dir) ([]uint64, error) {
	infos, err := dir.List()
	if err != nil {
		return nil, err
	}
	var ids []uint64
	for _, info := range infos {
		if id, ok := ParseFileName(info.Name); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// read decodes one file up to its last valid group. A header that is bad belongs to a file that was never finished,
// unless the mark vouches for it, which Load checks.
func (f *File) read(id uint64) (content, Position, error) {
	c := content{table: NewTable(), logs: make(map[entrylog.LogID]entrylog.LogState)}
	at := Position{File: id}
	file, err := f.dir.Open(FileName(id))
	if err != nil {
		return c, at, err
	}
	defer file.Close()
	var s record.Scanner
	header, err := s.ReadFileHeader(file, Kind())
	if errors.Is(err, record.ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) {
		return c, at, nil
	}
	if err != nil {
		return c, at, err
	}
	size, err := file.Size()
	if err != nil {
		return c, at, err
	}
	s.Reset(file, header, size)
	s.Expect(1)
	for {
		view, err := s.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, record.ErrTornTail) {
			return c, at, nil
		}
		if err != nil {
			return c, at, err
		}
		if err := view.Each(func(kind record.Kind, _ int64, body []byte) error { return c.apply(kind, body) }); err != nil {
			return c, at, err
		}
		at.Sequence = view.Sequence
	}
}

// NeedsSnapshot reports whether the next Write must be given everything.
func (f *File) NeedsSnapshot() bool {
	return f.current == nil || f.offset > max(growth*f.snapshot, f.snapshot+growthMin) || f.h.Probe().Perhaps(PointSnapshotNow)
}

// Write makes changes durable. If NeedsSnapshot said so when they were captured, they are the whole content.
func (f *File) Write(changes Changes, logs LogChanges) (Position, error) {
	if changes.whole {
		return f.writeSnapshot(changes, logs)
	}
	err := f.writeGroups(changes, logs)
	if err == nil {
		f.h.Probe().Mark(host.Event{Name: PointWritten, A: int64(f.header.ID), B: int64(f.sequence)})
		err = f.current.Sync()
	}
	if err != nil {
		f.giveUp()
		return Position{}, fmt.Errorf("write ledger table %s: %w", FileName(f.header.ID), err)
	}
	f.synced = f.sequence
	f.h.Probe().Mark(host.Event{Name: PointSynced, A: int64(f.header.ID), B: int64(f.sequence)})
	return Position{f.header.ID, f.sequence}, nil
}

// giveUp stops using a file after a failed write: what it holds beyond the last good group is not known.
func (f *File) giveUp() {
	_ = f.current.Close()
	f.current = nil
}

func (f *File) writeSnapshot(changes Changes, logs LogChanges) (Position, error) {
	if f.current != nil {
		f.giveUp()
	}
	f.lastID++
	if err := f.create(f.lastID); err != nil {
		return Position{}, fmt.Errorf("create ledger table %s: %w", FileName(f.lastID), err)
	}
	err := f.writeGroups(changes, logs)
	if err == nil {
		err = f.current.Sync()
	}
	if err == nil {
		err = f.dir.SyncDir()
	}
	if err != nil {
		f.giveUp()
		_ = f.dir.Remove(FileName(f.lastID)) // it may hold the space that the next attempt needs
		return Position{}, fmt.Errorf("write ledger table %s: %w", FileName(f.lastID), err)
	}
	f.snapshot, f.synced = f.offset, f.sequence
	f.h.Probe().Mark(host.Event{Name: PointSnapshot, A: int64(f.header.ID), B: int64(len(changes.Rows))})
	return Position{f.header.ID, f.sequence}, nil
}

func (f *File) create(id uint64) error {
	file, err := f.dir.Create(FileName(id))
	if err != nil {
		return err
	}
	f.old = append(f.old, id)
	identity := f.rand.Uint64() ^ id<<40 ^ uint64(f.h.Now())
	f.current, f.offset, f.sequence, f.synced = file, record.FileHeaderBytes, 0, 0
	f.header = record.FileHeader{Kind: Kind(), ID: id, Identity: identity}
	if err := host.WriteFullAt(file, f.header.Encode(), 0); err != nil {
		f.giveUp()
		return err
	}
	return nil
}

// writeGroups writes the changes, the last group of a snapshot with its end. Only a snapshot may take several groups.
func (f *File) writeGroups(changes Changes, logs LogChanges) error {
	f.group.Reset()
	scratch := make([]byte, 0, ledgerBytes)
	for _, row := range changes.Rows {
		scratch = appendLedger(scratch[:0], row)
		f.add(kindLedger, scratch)
		if changes.whole && f.group.Bytes() >= groupBytes {
			if err := f.writeGroup(); err != nil {
				return err
			}
		}
	}
	for _, state := range logs.Set {
		f.add(kindLog, appendLog(scratch[:0], state))
	}
	for _, id := range logs.Gone {
		f.add(kindLogGone, binary.BigEndian.AppendUint32(scratch[:0], uint32(id)))
	}
	f.add(kindBookie, append(scratch[:0], flag(changes.Uncertain, 1)))
	if changes.whole {
		f.add(kindSnapshotEnd, nil)
	}
	return f.writeGroup()
}

func (f *File) add(kind record.Kind, body []byte) {
	h := record.MakeHeader(kind, body)
	f.group.Append(&h, body)
}

func (f *File) writeGroup() error {
	size := record.EncodedBytes(f.group.Bytes())
	vectors := f.group.Seal(record.Seal{
		Identity: f.header.Identity, Sequence: f.sequence + 1, DurableThrough: f.synced, Offset: f.offset,
	})
	if _, err := host.WriteFull(f.current, vectors, f.offset); err != nil {
		return fmt.Errorf("write group at %d: %w", f.offset, err)
	}
	f.sequence++
	f.offset += size
	f.group.Reset()
	return nil
}

// RemoveOld deletes the files that a durable mark no longer needs: all but the current one.
func (f *File) RemoveOld() error {
	removed := false
	for len(f.old) > 0 && (f.current == nil || f.old[0] != f.header.ID) {
		if f.current == nil {
			return nil // nothing newer is known to be durable
		}
		if err := f.dir.Remove(FileName(f.old[0])); err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove ledger table %s: %w", FileName(f.old[0]), err)
		}
		f.old = f.old[1:]
		removed = true
	}
	if !removed {
		return nil
	}
	return f.dir.SyncDir()
}

// Extent is the durable part of a table file.
type Extent struct {
	Name   string // empty: there is none
	Header record.FileHeader
	Bytes  int64
}

// Extent is what the last Write that succeeded left. It belongs to the task that writes.
func (f *File) Extent() Extent {
	if f.current == nil {
		return Extent{}
	}
	return Extent{Name: FileName(f.header.ID), Header: f.header, Bytes: f.offset}
}

// Close closes the current file.
func (f *File) Close() error {
	if f.current == nil {
		return nil
	}
	defer func() { f.current = nil }()
	return f.current.Close()
}
