package inspect

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/inspection"
)

// The layout of the key index, as package keyindex documents it.
const (
	indexHeaderBytes = 40
	slotBytes        = 4
	entryBytes       = 20
	entriesAtOnce    = 4096
)

// entries goes through the entries of the complete files, which ascend with the log.
type entries struct {
	dir   host.Dir
	files []indexFile
	file  int   // the one that is being read
	next  int32 // number of the next entry in it

	window []byte
	from   int32 // number of the first entry in the window
}

// indexFile is a complete file.
type indexFile struct {
	IndexFile
	entriesFrom int64 // position of entry 0, which there is none of
	used        int32 // slots in use
	before      link
}

// openIndex reads the headers of the key index. State says which file is being filled.
func (v *look) openIndex(state []byte) {
	if len(state) < indexHeaderBytes {
		return // nothing was added yet, or the index is switched off
	}
	current := int64(binary.BigEndian.Uint64(state[16:]))
	dir, err := v.root.Sub(indexDir)
	var infos []host.Info
	if err == nil {
		infos, err = dir.List()
	}
	if err != nil {
		v.Found(inspection.Damage, Unreadable, indexDir, 0, "%v", err)
		return
	}
	v.entries = &entries{dir: dir, next: 1}
	for _, info := range infos {
		offset, ok := parseName(info.Name)
		if strings.HasPrefix(info.Name, "slots-") {
			continue // a start that cannot use it reads entries instead
		}
		if !ok {
			v.Found(inspection.Note, Orphan, indexDir+"/"+info.Name, 0, "nothing of a key index's")
			continue
		}
		x := indexFile{IndexFile: IndexFile{Name: info.Name, First: offset, Complete: offset < current}}
		if x.Complete && !v.header(dir, info, &x) {
			continue
		}
		v.Indexes = append(v.Indexes, x.IndexFile)
		if x.Complete {
			v.followed(x.Name, x.before)
			v.entries.files = append(v.entries.files, x)
			v.chains(&x)
		}
	}
	v.filling(dir, state)
}

// header reads the header of a complete file.
func (v *look) header(dir host.Dir, info host.Info, x *indexFile) bool {
	file := path.Join(indexDir, info.Name)
	f, err := dir.Open(info.Name)
	if err != nil {
		v.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	p := make([]byte, indexHeaderBytes)
	if _, err = host.ReadFull(f, p, 0); err != nil {
		v.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		return false
	}
	order := binary.BigEndian
	x.used = int32(order.Uint32(p[32:]))
	first, next := int64(order.Uint64(p[16:])), int32(order.Uint32(p[36:]))
	x.Last, x.Entries = int64(order.Uint64(p[24:])), next-1
	x.entriesFrom = info.Size - int64(next)*entryBytes
	if first != x.First || x.Last < first || next < 2 || x.entriesFrom < indexHeaderBytes+slotBytes || (x.entriesFrom-indexHeaderBytes)%slotBytes != 0 {
		v.Found(inspection.Damage, BadIndex, file, 0, "header of messages at %d to %d with %d entries in %d bytes", first, x.Last, next-1, info.Size)
		return false
	}
	if x.before, err = zeroEntry(f, p, x.entriesFrom); err != nil {
		v.Found(inspection.Damage, BadIndex, file, 0, "%v", err)
		return false
	}
	return true
}

// entry is the next entry: the hash of a key, and where its message lies. Not ok: there is none.
func (e *entries) entry() (hash int32, physical int64, ok bool, err error) {
	if e == nil || e.file >= len(e.files) {
		return 0, 0, false, nil
	}
	x := &e.files[e.file]
	if at := int(e.next-e.from) * entryBytes; e.from == 0 || at >= len(e.window) {
		f, err := e.dir.Open(x.Name)
		if err != nil {
			return 0, 0, false, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		e.window, e.from = make([]byte, min(x.Entries+1-e.next, entriesAtOnce)*entryBytes), e.next
		if _, err := host.ReadFull(f, e.window, x.entriesFrom+int64(e.next)*entryBytes); err != nil {
			return 0, 0, false, fmt.Errorf("entry %d: %w", e.next, err)
		}
	}
	p := e.window[int(e.next-e.from)*entryBytes:]
	return int32(binary.BigEndian.Uint32(p)), int64(binary.BigEndian.Uint64(p[4:])), true, nil
}

// advance goes to the next entry.
func (e *entries) advance() {
	if e.next++; e.next > e.files[e.file].Entries {
		e.skipFile()
	}
}

func (e *entries) skipFile() { e.file, e.next, e.from = e.file+1, 1, 0 }

// compareEntries compares the entries that lead to this message with its keys.
func (v *look) compareEntries(m *message.Message) {
	var hashes []int32
	for {
		hash, physical, ok, err := v.entries.entry()
		if err != nil {
			v.Found(inspection.Damage, Unreadable, path.Join(indexDir, v.entries.files[v.entries.file].Name), 0, "%v", err)
			v.entries.skipFile()
			continue
		}
		if !ok || physical > m.PhysicalOffset {
			return
		}
		if hashes == nil {
			m.Keys(func(key []byte) { hashes = append(hashes, message.KeyHash(m.Topic, key)) })
		}
		x := &v.entries.files[v.entries.file]
		file := path.Join(indexDir, x.Name)
		switch {
		case v.entries.next == x.Entries && physical != x.Last:
			v.Found(inspection.Damage, BadIndex, file, 0, "its last entry leads to %d, and its header says %d", physical, x.Last)
		case physical >= v.skippedFrom && physical < v.skippedTo:
			// its message was not read, which is told
		case physical < m.PhysicalOffset && physical >= v.Files[0].Base:
			v.Found(inspection.Damage, BadIndex, file, 0, "entry %d leads to %d, where no message begins", v.entries.next, physical)
		case physical == m.PhysicalOffset && !slices.Contains(hashes, hash):
			v.Found(inspection.Damage, BadIndex, file, 0, "entry %d leads to the message at %d, which has no key with the hash %d", v.entries.next, physical, hash)
		}
		v.entries.advance()
	}
}

// endIndex tells of entries that lead behind the log.
func (v *look) endIndex() {
	if _, physical, ok, err := v.entries.entry(); ok && err == nil && physical >= v.End {
		v.Found(inspection.Damage, BadIndex, path.Join(indexDir, v.entries.files[v.entries.file].Name), 0, "entry %d leads to %d, behind the end of the log at %d",
			v.entries.next, physical, v.End)
	}
}
