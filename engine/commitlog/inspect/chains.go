package inspect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"

	"lakebed/engine/host"
	"lakebed/engine/inspection"
)

// slotsAtOnce bounds the memory for slots: of a file with more of them the entries are read once for each so many.
const slotsAtOnce = 8 << 20

// link names the file of the key index that was filled before another. Not known: an earlier version wrote it.
type link struct {
	first, last int64
	known       bool
}

const linkBytes = 16

// zeroEntry reads what lies in the place of entry 0: a checksum of the header, and the file before.
func zeroEntry(f host.File, header []byte, at int64) (l link, err error) {
	p := make([]byte, entryBytes)
	if _, err := host.ReadFull(f, p, at); err != nil {
		return l, err
	}
	if [entryBytes]byte(p) == [entryBytes]byte{} {
		return l, nil
	}
	l = linkOf(p[entryBytes-linkBytes:])
	table := crc32.MakeTable(crc32.Castagnoli)
	if binary.BigEndian.Uint32(p) != crc32.Update(crc32.Checksum(header, table), table, p[entryBytes-linkBytes:]) {
		return l, fmt.Errorf("the checksum of its header does not fit")
	}
	return l, nil
}

func linkOf(p []byte) link {
	return link{first: int64(binary.BigEndian.Uint64(p)), last: int64(binary.BigEndian.Uint64(p[8:])), known: true}
}

// followed tells of a file that a later one names as the one before it, and that is not there though messages of it are.
func (v *look) followed(file string, before link) {
	if !before.known || before.first < 0 || len(v.Files) > 0 && before.last < v.Files[0].Base {
		return
	}
	if files := v.entries.files; len(files) > 0 {
		if last := files[len(files)-1]; last.First == before.first && last.Last == before.last {
			return
		}
	}
	v.Found(inspection.Damage, Missing, path.Join(indexDir, fmt.Sprintf("%0*d", nameDigits, before.first)), 0, "%s follows on it, with messages up to %d", file, before.last)
}

// filling compares what the checkpoint says of the file that is being filled with the files: state is that of the key index.
func (v *look) filling(dir host.Dir, state []byte) {
	const stateBytes, tailBytes = indexHeaderBytes + 8, linkBytes + 8
	tail := len(state) - tailBytes
	if tail < stateBytes || (tail-stateBytes)%entryBytes != 0 {
		return // of an earlier version
	}
	order := binary.BigEndian
	name := fmt.Sprintf("%0*d", nameDigits, int64(order.Uint64(state[16:])))
	v.followed(name, linkOf(state[tail:]))
	next, written := int64(order.Uint32(state[36:])), int64(order.Uint32(state[indexHeaderBytes:]))
	if int64(tail-stateBytes)/entryBytes >= next-1 {
		return // the checkpoint has all of them
	}
	size := indexHeaderBytes + int64(order.Uint64(state[tail+linkBytes:]))*slotBytes + written*entryBytes
	f, err := dir.Open(name)
	there := int64(0)
	if err == nil {
		there, err = f.Size()
		_ = f.Close() // nothing was written
	}
	switch {
	case err != nil:
		v.Found(inspection.Damage, Missing, path.Join(indexDir, name), 0, "it is being filled: %v", err)
	case there < size:
		v.Found(inspection.Damage, BadIndex, path.Join(indexDir, name), there, "it is being filled, and has %d bytes of %d", there, size)
	}
}

// chains looks whether slots and entries of a complete file make the chains that its entries, added one after the other, make. It tells of
// the first place that does not fit.
func (v *look) chains(x *indexFile) {
	file := path.Join(indexDir, x.Name)
	f, err := v.entries.dir.Open(x.Name)
	if err != nil {
		v.Found(inspection.Damage, Unreadable, file, 0, "%v", err)
		return
	}
	defer f.Close() //nolint:errcheck // it was only read
	all := (x.entriesFrom - indexHeaderBytes) / slotBytes
	used := int64(0)
	for from := int64(0); from < all; from += slotsAtOnce {
		newest := make([]int32, min(slotsAtOnce, all-from))
		at, why, err := chainEntries(f, x, newest, from, all)
		if why == "" && err == nil {
			at, why, err = compareSlots(f, newest, from)
		}
		switch {
		case err != nil:
			v.Found(inspection.Damage, Unreadable, file, at, "%v", err)
			return
		case why != "":
			v.Found(inspection.Damage, BadIndex, file, at, "%s", why)
			return
		}
		for _, number := range newest {
			used += int64(min(number, 1))
		}
	}
	if used != int64(x.used) {
		v.Found(inspection.Damage, BadIndex, file, 0, "its header says that %d slots are in use, and %d are", x.used, used)
	}
}

// chainEntries adds the entries of some slots one after the other, and returns where one does not lead to the one before it.
func chainEntries(f host.File, x *indexFile, newest []int32, from, all int64) (at int64, why string, err error) {
	p := make([]byte, min(int64(x.Entries), entriesAtOnce)*entryBytes)
	for first := int32(1); first <= x.Entries; first += entriesAtOnce {
		part := p[:min(int64(x.Entries-first)+1, entriesAtOnce)*entryBytes]
		if _, err := host.ReadFull(f, part, x.entriesFrom+int64(first)*entryBytes); err != nil {
			return x.entriesFrom, "", err
		}
		for n := first; len(part) > 0; n, part = n+1, part[entryBytes:] {
			hash, before := int32(binary.BigEndian.Uint32(part)), int32(binary.BigEndian.Uint32(part[entryBytes-4:]))
			slot := int64(uint32(hash)&0x7fffffff)%all - from
			if slot < 0 || slot >= int64(len(newest)) {
				continue
			}
			if newest[slot] != before {
				return x.entriesFrom + int64(n)*entryBytes, fmt.Sprintf("entry %d goes on with %d, and the one before it in slot %d is %d", n, before, slot+from, newest[slot]), nil
			}
			newest[slot] = n
		}
	}
	return 0, "", nil
}

// compareSlots compares slots with the newest entries of theirs.
func compareSlots(f host.File, newest []int32, from int64) (at int64, why string, err error) {
	p := make([]byte, min(len(newest), inspection.ChunkBytes/slotBytes)*slotBytes)
	for done := 0; done < len(newest); {
		part := p[:min(len(newest)-done, inspection.ChunkBytes/slotBytes)*slotBytes]
		at = indexHeaderBytes + (from+int64(done))*slotBytes
		if _, err := host.ReadFull(f, part, at); err != nil {
			return at, "", err
		}
		for ; len(part) > 0; done, part, at = done+1, part[slotBytes:], at+slotBytes {
			if number := int32(binary.BigEndian.Uint32(part)); number != newest[done] {
				return at, fmt.Sprintf("slot %d leads to entry %d, and its newest is %d", from+int64(done), number, newest[done]), nil
			}
		}
	}
	return 0, "", nil
}
