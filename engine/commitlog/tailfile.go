package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// tailName is the name of the file in which a start keeps a copy of the end of the log while it writes that again in its
// place: a power cut in the midst of that may spoil sectors that were good.
const tailName = "tail"

// Its bytes, big-endian, followed by those of the log:
//
//	0  4  magic "LCTL"
//	4  4  CRC32C of the rest of the head and of all that follows
//	8  8  offset in the log of the first byte
//	16 8  offset behind the last
const (
	tailMagic     = 0x4c43544c
	tailHeadBytes = 24
	copyBytes     = 1 << 20 // read and written at once
)

// eachPart calls f with the parts of a range of the log, none of which reaches over the end of a file.
func eachPart(log *series.Series, from, to int64, f func(at int64, p []byte) error) error {
	buffer := make([]byte, min(copyBytes, max(to-from, 0)))
	for at := from; at < to; {
		n := min(int64(len(buffer)), to-at, log.FileEnd(at)-at)
		if err := f(at, buffer[:n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// saveTail copies a range of the log into the tail file, durably.
func (s *Store) saveTail(from, to int64) error {
	f, err := host.CreateFresh(s.dir, tailName+host.UnfinishedSuffix)
	if err != nil {
		return fmt.Errorf("create %s: %w", tailName, err)
	}
	head := binary.BigEndian.AppendUint32(nil, tailMagic)
	head = binary.BigEndian.AppendUint32(head, 0)
	head = binary.BigEndian.AppendUint64(head, uint64(from))
	head = binary.BigEndian.AppendUint64(head, uint64(to))
	sum := crc32.Checksum(head[8:], castagnoli)
	err = eachPart(s.log, from, to, func(at int64, p []byte) error {
		if err := s.log.ReadAt(p, at); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, p)
		return host.WriteFullAt(f, p, tailHeadBytes+at-from)
	})
	if err == nil {
		binary.BigEndian.PutUint32(head[4:], sum)
		err = host.WriteFullAt(f, head, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.dir.Rename(tailName+host.UnfinishedSuffix, tailName)
	}
	if err == nil {
		err = s.dir.SyncDir()
	}
	if err != nil {
		return fmt.Errorf("save the end of the log from %d to %d: %w", from, to, err)
	}
	return nil
}

// restoreTail writes what a start that was cut off has saved back into the log, and returns where that ended. Not ok: no start
// was cut off there. It must be known to be whole: it got its name when it was synced. It may begin behind synced, if that start has gone by a
// checkpoint that is damaged now.
func (s *Store) restoreTail(synced int64) (end int64, ok bool, err error) {
	f, err := s.dir.Open(tailName)
	if errors.Is(err, host.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("open %s: %w", tailName, err)
	}
	defer f.Close()
	head := make([]byte, tailHeadBytes)
	if _, err := host.ReadFull(f, head, 0); err != nil {
		return 0, false, fmt.Errorf("read %s: %w", tailName, err)
	}
	from, to := int64(binary.BigEndian.Uint64(head[8:])), int64(binary.BigEndian.Uint64(head[16:]))
	if to <= synced {
		return 0, false, nil // the start that saved it came to its end
	}
	if to > s.log.Present() || binary.BigEndian.Uint32(head) != tailMagic {
		return 0, false, fmt.Errorf("%s is of the log from %d to %d: %w", tailName, from, to, ErrCorrupt)
	}
	sum := crc32.Checksum(head[8:], castagnoli)
	err = eachPart(s.log, from, to, func(at int64, p []byte) error {
		if _, err := host.ReadFull(f, p, tailHeadBytes+at-from); err != nil {
			return err
		}
		sum = crc32.Update(sum, castagnoli, p)
		return s.log.WriteAt(p, at)
	})
	if err != nil {
		return 0, false, fmt.Errorf("restore the end of the log from %d to %d: %w", from, to, err)
	}
	if sum != binary.BigEndian.Uint32(head[4:]) {
		return 0, false, fmt.Errorf("%s has a bad checksum: %w", tailName, ErrCorrupt)
	}
	return to, true, nil
}

// removeTail removes the tail file, durably, before anything is appended: a start that goes by the older of two checkpoints would take what
// the file ends with for the end of the log.
func (s *Store) removeTail() error {
	removed := false
	for _, name := range []string{tailName, tailName + host.UnfinishedSuffix} {
		err := s.dir.Remove(name)
		if err != nil && !errors.Is(err, host.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
		removed = removed || err == nil
	}
	if !removed {
		return nil
	}
	if err := s.dir.SyncDir(); err != nil {
		return fmt.Errorf("remove %s: %w", tailName, err)
	}
	return nil
}
