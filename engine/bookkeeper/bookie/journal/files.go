package journal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/record"
)

const (
	suffix      = ".journal"
	fillPages   = 256                    // zero-filled at a time: a megabyte costs the kernel a third less than 64 KiB do
	retryPause  = 100 * time.Millisecond // between attempts to prepare a file
	idDigits    = 16
	fileKindTag = "JRNL"
)

// Kind is the kind of a journal's files.
func Kind() record.FileKind { return record.FileKind([]byte(fileKindTag)) }

// FileName is the name of the journal file with this id.
func FileName(id uint64) string {
	name := make([]byte, 0, idDigits+len(suffix))
	for shift := 4 * (idDigits - 1); shift >= 0; shift -= 4 {
		name = append(name, "0123456789abcdef"[id>>shift&15])
	}
	return string(append(name, suffix...))
}

// ParseFileName reads the id out of a journal file's name.
func ParseFileName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != idDigits {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 16, 64)
	return id, err == nil && id > 0 && FileName(id) == name
}

// removeUnfinished deletes what a crash left of files that were being filled.
func (j *Journal) removeUnfinished() error {
	infos, err := j.dir.List()
	if err != nil {
		return fmt.Errorf("list journal files: %w", err)
	}
	for _, info := range infos {
		name, unfinished := strings.CutSuffix(info.Name, host.UnfinishedSuffix)
		if _, ok := ParseFileName(name); !ok || !unfinished {
			continue
		}
		if err := j.dir.Remove(info.Name); err != nil {
			return fmt.Errorf("remove unfinished journal file %s: %w", info.Name, err)
		}
	}
	return nil
}

// file is an open journal file.
type file struct {
	host.File
	header   record.FileHeader
	recycled bool // old groups lie behind what is written: see recycle
}

// listFiles returns the ids of the journal files in dir, ascending: names sort like ids.
func listFiles(dir host.Dir) ([]uint64, error) {
	infos, err := dir.List()
	if err != nil {
		return nil, err
	}
	var ids []uint64
	for _, info := range infos {
		if id, ok := ParseFileName(info.Name); ok && !info.Dir {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// create makes a file that is ready for its first group: header and zeros written and synced, name durable. It gets its
// name only when it is filled, so that a file with a journal's name always has a good header. A spare file is taken
// rather than a new one.
func (j *Journal) create(id uint64) (*file, error) {
	if name, ok := j.takeSpare(); ok {
		made, err := j.recycle(id, name)
		if made != nil || err != nil {
			return made, err
		}
	}
	fresh := FileName(id) + host.UnfinishedSuffix
	f, err := host.CreateFresh(j.dir, fresh)
	if err != nil {
		return nil, fmt.Errorf("create journal file %s: %w", FileName(id), err)
	}
	made := &file{File: f, header: record.FileHeader{Kind: Kind(), ID: id, Identity: j.identity(id)}}
	return j.finish(made, fresh, j.fill(made))
}

// finish gives a filled file its name.
func (j *Journal) finish(made *file, fresh string, err error) (*file, error) {
	name := FileName(made.header.ID)
	if err == nil {
		if err = j.dir.Rename(fresh, name); err == nil {
			err = j.dir.SyncDir()
		}
	}
	if err != nil {
		_ = made.Close()
		_ = j.dir.Remove(fresh) // it may hold all the space that was left
		return nil, fmt.Errorf("prepare journal file %s: %w", name, err)
	}
	return made, nil
}

// identity draws a file's identity. The id and the clock keep a repeated stream from repeating it.
func (j *Journal) identity(id uint64) uint64 {
	return j.rand.Uint64() ^ (id * 0x9e3779b97f4a7c15) ^ uint64(j.h.Now())
}

func (j *Journal) fill(f *file) error {
	if err := host.WriteFullAt(f, f.header.Encode(), 0); err != nil {
		return err
	}
	zeros := slices.Repeat([][]byte{j.zeros}, int(min(fillPages, j.config.FileBytes/record.Align)))
	for at := int64(record.FileHeaderBytes); at < j.config.FileBytes; {
		pages := min((j.config.FileBytes-at)/record.Align, fillPages) // Validate wants whole pages
		written, err := host.WriteFull(f, zeros[:pages], at)
		if err != nil {
			return err
		}
		at += written
	}
	return f.Sync()
}

// prepare keeps one file ahead of the current one. A failure is retried: until it succeeds, appends wait. It is told at ever
// longer distances, so that a full disk does not fill the log's too.
func (j *Journal) prepare() {
	for failures := 0; ; {
		id, ok := j.wanted()
		if !ok {
			return
		}
		f, err := j.create(id)
		j.mutex.Lock()
		j.next, j.refused = f, err
		j.changed.Broadcast()
		j.mutex.Unlock()
		if err == nil {
			j.h.Probe().Mark(host.Event{Name: PointPrepared, B: int64(id)})
			failures = 0
			continue
		}
		if failures++; failures&(failures-1) == 0 {
			j.h.Log(host.Warn, "cannot prepare a journal file; appends wait for it", host.F("attempts", failures), host.F("error", err))
		}
		if !j.tasks.Sleep(retryPause) {
			return
		}
	}
}

// wanted waits until a file has to be prepared, and returns its id.
func (j *Journal) wanted() (uint64, bool) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for j.next != nil {
		if !j.changed.Wait() {
			return 0, false
		}
	}
	return j.lastID() + 1, !j.tasks.Stopping() // while closing, the last groups may still need one
}

// roll goes on in the next file. It waits until there is one; while closing it takes a failure to make one as final.
func (j *Journal) roll(first uint64) error {
	if j.unsynced && j.config.Sync == SyncInterval {
		if err := j.sync(first - 1); err != nil {
			return err
		}
	}
	j.gap = j.gap || j.unsynced
	next, err := j.awaitNext()
	if err != nil {
		return err
	}
	if err := j.current.Close(); err != nil {
		return fmt.Errorf("close journal file %s: %w", FileName(j.current.header.ID), err)
	}
	j.take(next, first)
	j.h.Probe().Mark(host.Event{Name: PointRolled, A: int64(first), B: int64(next.header.ID)})
	return nil
}

func (j *Journal) awaitNext() (*file, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for j.next == nil {
		if j.closing && j.refused != nil {
			return nil, j.refused
		}
		if !j.changed.Wait() {
			return nil, host.ErrStopping
		}
	}
	return j.next, nil
}

// take makes f the current file, first the sequence of its first group.
func (j *Journal) take(f *file, first uint64) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if n := len(j.files); n > 0 && j.files[n-1].last == 0 {
		j.files[n-1].last = first - 1
	}
	j.files = append(j.files, fileInfo{id: f.header.ID, first: first})
	j.current, j.offset = f, record.FileHeaderBytes
	if j.next == f {
		j.next = nil
		j.changed.Broadcast()
	}
}

// MarkAt returns the mark for a sequence that the caller has stored elsewhere.
func (j *Journal) MarkAt(sequence uint64) Mark {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	for i, info := range j.files {
		if i == len(j.files)-1 || info.last > sequence {
			return Mark{Sequence: sequence, File: info.id, First: info.first}
		}
	}
	return Mark{Sequence: sequence}
}

// forget drops the files before the mark's from the list. A file that then cannot be removed is left over, and goes
// at the next start.
func (j *Journal) forget(m Mark) []uint64 {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var ids []uint64
	for len(j.files) > 1 && j.files[0].id < m.File {
		ids = append(ids, j.files[0].id)
		j.files = j.files[1:]
	}
	return ids
}

// syncCurrent syncs the file that is being written. Syncs exclude each other: one that succeeds after another has failed
// proves nothing, since the pages count as clean.
func (j *Journal) syncCurrent() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.syncFailed != nil {
		return j.syncFailed
	}
	j.mutex.Lock()
	f := j.current
	j.mutex.Unlock()
	err := f.Sync()
	if errors.Is(err, host.ErrClosed) {
		return nil // it was left meanwhile, and synced before
	}
	j.syncFailed = err
	return err
}

// syncAtIntervals is the task of mode interval. It syncs the current file; a file is synced before it is left.
func (j *Journal) syncAtIntervals() {
	for j.tasks.Sleep(j.config.SyncInterval) {
		if err := j.syncCurrent(); err != nil {
			err = fmt.Errorf("%w: sync at interval: %w", ErrFailed, err)
			j.commits.Fail(err)
			if j.onFailure != nil {
				j.onFailure(err)
			}
			return
		}
	}
}
