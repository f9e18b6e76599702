package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"lakebed/engine/host"
)

// ErrDamaged says that a file of the index is not what was written: an answer cannot be trusted.
var ErrDamaged = errors.New("the key index is damaged")

// errUnknown says that there is no state: the index was switched off, or it was lost with the checkpoint.
var errUnknown = errors.New("nothing says what the key index has")

// Lack is what an index needs before it is whole: all messages of the log from an offset on have to be added, those that were added before
// among them. Files from there on were removed.
type Lack struct {
	From int64 // a message begins there, or the log
	Why  error
}

// Lack is what Open has found missing; nil: the index has what its state says.
func (x *Index) Lack() *Lack { return x.lack }

// lacks notes what is missing. Nothing that was opened counts but the complete files.
func (x *Index) lacks(from int64, why error) {
	x.lack = &Lack{From: from, Why: why}
	x.snapshots, x.newest, x.flushed, x.stored = [len(snapshotNames)]mark{}, 0, mark{}, mark{}
	x.last = from - 1
	if n := len(x.closed); n > 0 {
		x.last = x.closed[n-1].lastOffset
	}
}

// link names the file that was filled before another: else nobody would miss it.
type link struct {
	first, last int64 // offsets of its first and last message; first is linkNone if there is no such file
	known       bool  // earlier versions noted none
}

const (
	linkNone  = -1
	linkBytes = 16
)

// closedFile is a complete file.
type closedFile struct {
	shape
	before link
}

func (l link) appendTo(p []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(p, uint64(l.first)), uint64(l.last))
}

func decodeLink(p []byte) link {
	return link{first: int64(binary.BigEndian.Uint64(p)), last: int64(binary.BigEndian.Uint64(p[8:])), known: true}
}

// lastFile names the newest file that there is. The mutex is held.
func (x *Index) lastFile() link {
	switch {
	case len(x.full) > 0:
		s := x.full[len(x.full)-1].shape
		return link{s.firstOffset, s.lastOffset, true}
	case len(x.closed) > 0:
		s := x.closed[len(x.closed)-1].shape
		return link{s.firstOffset, s.lastOffset, true}
	}
	return link{first: linkNone, known: true}
}

// follows reports whether a file that names this one before it goes on where the complete files end that are known, or nothing of
// what lies between is in the log.
func (x *Index) follows(before link) bool {
	if !before.known || before.first != linkNone && before.last < x.o.LogFirst {
		return true
	}
	if n := len(x.closed); n > 0 {
		s := x.closed[n-1].shape
		return before.first == s.firstOffset && before.last == s.lastOffset
	}
	return before.first == linkNone
}

// behindClosed is from where on messages have to be added if nothing is there but the complete files that are known.
func (x *Index) behindClosed() int64 {
	if n := len(x.closed); n > 0 {
		return x.closed[n-1].lastOffset // which the index has: a message begins there
	}
	return x.o.LogFirst
}

// entryZero fills the place of entry 0, which there is none of: 4 CRC32C of the header and of what follows, 8 and 8 offset of the first and of
// the last message of the file before, -1 for the first if there is none. Earlier versions left it zero.
func entryZero(header []byte, before link) []byte {
	p := before.appendTo(make([]byte, entryBytes-linkBytes, entryBytes))
	binary.BigEndian.PutUint32(p, crc32.Update(crc32.Checksum(header, castagnoli), castagnoli, p[entryBytes-linkBytes:]))
	return p
}

// openClosed reads what a complete file says of itself. If it is damaged, or does not follow on the one before, that is what lacks.
func (x *Index) openClosed(offset int64) error {
	w, err := x.readClosed(offset)
	if err = unusable(err); err != nil && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("key index file %s: %w", FileName(offset), err)
	}
	switch {
	case err == nil && x.follows(w.before):
		x.closed = append(x.closed, w)
	case err == nil:
		x.lacks(x.behindClosed(), fmt.Errorf("file %s does not follow on the one before: %w", FileName(offset), ErrDamaged))
	default:
		x.lacks(x.behindClosed(), fmt.Errorf("file %s: %w", FileName(offset), err))
	}
	return nil
}

func (x *Index) readClosed(offset int64) (w closedFile, err error) {
	f, err := x.use(offset, false)
	if err != nil {
		return w, err
	}
	defer f.Release()
	header, zero := make([]byte, headerBytes), make([]byte, entryBytes)
	if _, err := host.ReadFull(f, header, 0); err != nil {
		return w, err
	}
	if _, err := host.ReadFull(f, zero, x.entryAt(0)); err != nil {
		return w, err
	}
	size, err := f.Size()
	if err != nil {
		return w, err
	}
	w.shape = decodeShape(header)
	if [entryBytes]byte(zero) != [entryBytes]byte{} {
		w.before = decodeLink(zero[entryBytes-linkBytes:])
		if [entryBytes]byte(entryZero(header, w.before)) != [entryBytes]byte(zero) {
			return w, fmt.Errorf("its header has a bad checksum: %w", ErrDamaged)
		}
	}
	if w.firstOffset != offset || w.lastOffset < offset || w.next < 2 || size != x.entryAt(w.next) {
		return w, fmt.Errorf("%d bytes, and its header says %+v: %w", size, w.shape, ErrDamaged)
	}
	return w, nil
}

// unusable makes ErrDamaged of whatever says that a start has to do without a file: a disk that cannot read it, too. The log has it all.
func unusable(err error) error {
	if errors.Is(err, host.ErrIO) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return damaged(err)
}

// damaged makes ErrDamaged of what it means that a file is not there, or too short.
func damaged(err error) error {
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
