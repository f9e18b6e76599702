package journal

import (
	"errors"
	"fmt"
	"strings"

	"lakebed/engine/host"
	"lakebed/engine/record"
)

// spareSuffix marks files that were trimmed and wait to be used again: overwriting written blocks costs a fraction of
// allocating and filling new ones.
const spareSuffix = ".spare"

// IsSpare reports whether a file of this name waits to be used again.
func IsSpare(name string) bool {
	plain, spare := strings.CutSuffix(name, spareSuffix)
	_, ok := ParseFileName(plain)
	return ok && spare
}

// PointRecycled is visited when a spare file lies ready under its new name. B is the file's id.
const PointRecycled host.Point = "journal.recycled"

// Trim takes the files before the mark's away. The mark must be durable: nothing of these files can be replayed again.
// Up to Config.SparesMax of them are kept as spares.
func (j *Journal) Trim(m Mark) error {
	ids := j.forget(m)
	if len(ids) == 0 {
		return nil
	}
	var spares []string
	for _, id := range ids {
		name := FileName(id)
		err := error(nil)
		if j.spareCount()+len(spares) < j.config.SparesMax && !j.h.Probe().Perhaps(PointDropSpare) {
			if err = j.dir.Rename(name, name+spareSuffix); err == nil {
				spares = append(spares, name+spareSuffix)
			}
		} else {
			err = j.dir.Remove(name)
		}
		if err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("trim journal file %s: %w", name, err)
		}
	}
	j.h.Probe().Mark(host.Event{Name: PointTrimmed, A: int64(len(ids))})
	if err := j.dir.SyncDir(); err != nil {
		return fmt.Errorf("sync journal directory after trimming: %w", err)
	}
	j.addSpares(spares) // not before their old names are gone for good
	return nil
}

func (j *Journal) spareCount() int {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return len(j.spares)
}

func (j *Journal) addSpares(names []string) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.spares = append(j.spares, names...)
}

func (j *Journal) takeSpare() (string, bool) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if len(j.spares) == 0 {
		return "", false
	}
	name := j.spares[0]
	j.spares = j.spares[1:]
	return name, true
}

// adoptSpares looks for spares of earlier processes. A file that a crash left under both its names is not one: the other
// name still belongs to the journal.
func (j *Journal) adoptSpares() error {
	infos, err := j.dir.List()
	if err != nil {
		return fmt.Errorf("list journal files: %w", err)
	}
	names := make(map[string]bool, len(infos))
	for _, info := range infos {
		names[info.Name] = true
	}
	for _, info := range infos {
		name, spare := strings.CutSuffix(info.Name, spareSuffix)
		if _, ok := ParseFileName(name); !ok || !spare {
			continue
		}
		if !names[name] && len(j.spares) < j.config.SparesMax && info.Size == j.config.FileBytes {
			j.spares = append(j.spares, info.Name)
			continue
		}
		if err := j.dir.Remove(info.Name); err != nil {
			return fmt.Errorf("remove spare journal file %s: %w", info.Name, err)
		}
	}
	return nil
}

// recycle prepares a spare as the file with this id. Nil without an error: it is of no use.
//
// Only the header and the page behind it are written. What lies behind is old, of another identity. Groups in such a
// file are followed by a page of zeros, which the next group overwrites: where it is still there, no group was begun.
// The old name is gone for good before the new one is made, so that a crash cannot leave the file under both.
func (j *Journal) recycle(id uint64, name string) (*file, error) {
	fresh := FileName(id) + host.UnfinishedSuffix
	if err := j.dir.Rename(name, fresh); err != nil {
		return nil, fmt.Errorf("recycle journal file %s: %w", name, err)
	}
	if err := j.dir.SyncDir(); err != nil {
		return nil, fmt.Errorf("recycle journal file %s: %w", name, err)
	}
	f, err := j.dir.Open(fresh)
	if err != nil {
		return nil, fmt.Errorf("recycle journal file %s: %w", name, err)
	}
	size, err := f.Size()
	if err != nil || size != j.config.FileBytes { // it was made under other settings
		_ = f.Close()
		return nil, errors.Join(err, j.dir.Remove(fresh))
	}
	made := &file{
		File: f, recycled: true,
		header: record.FileHeader{Kind: Kind(), ID: id, Identity: j.identity(id)},
	}
	if _, err = host.WriteFull(f, [][]byte{made.header.Encode(), j.zeros}, 0); err == nil {
		err = f.Sync()
	}
	if made, err = j.finish(made, fresh, err); err == nil {
		j.h.Probe().Mark(host.Event{Name: PointRecycled, B: int64(id)})
	}
	return made, err
}
