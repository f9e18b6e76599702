// Package lastmark keeps the mark: how much of the journal is stored elsewhere, and what the ledger table had reached.
//
// # What it promises
//
//   - After a crash at any point Read returns the mark of the last Write that succeeded, or a later one that did not.
//   - A mark never moves back: Write refuses to (bookkeeper#4105: an older checkpoint that completed after a newer one
//     moved the mark back to a journal that was gone).
//
// # File
//
// "mark" in the ledger directory: two slots, one at the start of each of two pages, written in turn, so that the one
// which is not being written stays good. Opening replaces the file by one that has the newest mark in both. Slot,
// big-endian:
//
//	 0  4  magic "LMRK"
//	 4  4  CRC32C of bytes 8..63
//	 8  8  counter, rising with each write
//	16  8  journal: sequence
//	24  8  journal: first file that is needed
//	32  8  journal: sequence of that file's first group
//	40  8  ledger table: file
//	48  8  ledger table: group
//	56  8  zero
package lastmark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/ledgertable"
	"lakebed/engine/host"
	"lakebed/engine/record"
	"lakebed/internal/invariant"
)

// FileName is the name of the mark's file.
const FileName = "mark"

const (
	slotBytes = 64
	slotMagic = 0x4c4d524b // "LMRK"
)

// PointWritten is visited when a mark is durable. A is the journal's sequence.
const PointWritten host.Point = "lastmark.written"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Mark says what a restart can rely on.
type Mark struct {
	Journal journal.Mark
	Table   ledgertable.Position
}

// Slots is the open file.
type Slots struct {
	h       host.Host
	mutex   host.Mutex // a slot is verified or written
	file    host.File
	counter uint64
	slot    int64 // the one to write next
	mark    Mark
	page    []byte // zeros behind a slot
	unsure  bool   // the last write failed: nobody knows what is in the slot to write next
}

// Open opens the file in dir, or makes it, and returns the newest mark; the zero Mark if there never was one. A file
// in which both slots are bad is record.ErrCorrupt.
func Open(h host.Host, dir host.Dir) (*Slots, error) {
	file, err := dir.Open(FileName)
	if errors.Is(err, host.ErrNotExist) {
		return create(h, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open mark: %w", err)
	}
	s := &Slots{h: h, file: file, mutex: h.NewMutex("lastmark")}
	if err = s.read(); err == nil {
		err = s.settle(dir)
	}
	if err != nil {
		_ = s.file.Close()
		return nil, fmt.Errorf("read mark: %w", err)
	}
	return s, nil
}

// settle makes sure of the newest slot. It may be in the page cache only, after a sync that failed or a process that was
// killed; the other slot, which is written next, may then be the only one on the media. It is not written in place: it
// may as well be durable, and a crash would tear it. So the file is replaced as a whole.
func (s *Slots) settle(dir host.Dir) error {
	if s.counter == 0 {
		return nil
	}
	content := make([]byte, 2*record.Align) // the mark in both slots, so that one which rots is made up for
	encode(content[s.slot*record.Align:], s.mark, s.counter)
	encode(content[(1-s.slot)*record.Align:], s.mark, s.counter+1)
	if err := host.ReplaceFile(dir, FileName, content); err != nil {
		return err
	}
	s.counter++
	fresh, err := dir.Open(FileName)
	if err != nil {
		return err
	}
	_ = s.file.Close() // only read
	s.file = fresh
	return nil
}

func create(h host.Host, dir host.Dir) (*Slots, error) {
	if err := host.ReplaceFile(dir, FileName, make([]byte, 2*record.Align)); err != nil {
		return nil, fmt.Errorf("create mark: %w", err)
	}
	file, err := dir.Open(FileName)
	if err != nil {
		return nil, fmt.Errorf("open mark: %w", err)
	}
	return &Slots{h: h, file: file, mutex: h.NewMutex("lastmark")}, nil
}

func (s *Slots) read() error {
	page := make([]byte, slotBytes)
	bad := 0
	for slot := range int64(2) {
		_, err := host.ReadFull(s.file, page, slot*record.Align)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			continue // never written
		}
		if err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
		m, counter, ok := Decode(page)
		if ok && counter > s.counter {
			s.mark, s.counter, s.slot = m, counter, 1-slot
		}
		if !ok && binary.BigEndian.Uint32(page) != 0 {
			bad++
		}
	}
	if bad == 2 { // a crash tears one slot at most: the other is good, or was never written
		return fmt.Errorf("both slots are bad: %w", record.ErrCorrupt)
	}
	return nil
}

// Last is the newest mark.
func (s *Slots) Last() Mark { return s.mark }

// Write makes a mark durable. After a failure the same slot is written again, so that the other one stays good.
func (s *Slots) Write(m Mark) error {
	invariant.Check(m.Journal.Sequence >= s.mark.Journal.Sequence, "the mark does not move back")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.page == nil {
		s.page = make([]byte, record.Align)
	}
	s.unsure = true
	encode(s.page, m, s.counter+1)
	if err := host.WriteFullAt(s.file, s.page, s.slot*record.Align); err != nil {
		return fmt.Errorf("write mark at group %d: %w", m.Journal.Sequence, err)
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync mark at group %d: %w", m.Journal.Sequence, err)
	}
	s.unsure = false
	s.counter++
	s.slot = 1 - s.slot
	s.mark = m
	s.h.Probe().Mark(host.Event{Name: PointWritten, A: int64(m.Journal.Sequence)})
	return nil
}

// Verify reads both slots past the page cache, and tells bad of each that is not what was written there. It may be called from
// any task, and keeps a Write waiting for two pages.
func (s *Slots) Verify(bad func(slot int64, err error)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.counter == 0 {
		return // never written
	}
	page := make([]byte, slotBytes)
	for slot := range int64(2) {
		if s.unsure && slot == s.slot {
			continue
		}
		n, err := host.ReadPastCache(s.file, page, slot*record.Align)
		_, counter, ok := Decode(page[:n])
		switch {
		case n < slotBytes && err == nil: // a short read says nothing
		case n < slotBytes:
			bad(slot, fmt.Errorf("read slot %d of the mark: %w", slot, err))
		case !ok && (binary.BigEndian.Uint32(page) != 0 || slot != s.slot):
			bad(slot, fmt.Errorf("slot %d of the mark fails its checksum: %w", slot, record.ErrCorrupt))
		case ok && slot != s.slot && counter != s.counter:
			bad(slot, fmt.Errorf("slot %d of the mark counts %d writes, %d were made: %w", slot, counter, s.counter, record.ErrCorrupt))
		}
	}
}

// Close closes the file.
func (s *Slots) Close() error { return s.file.Close() }

func encode(p []byte, m Mark, counter uint64) {
	binary.BigEndian.PutUint32(p[0:], slotMagic)
	binary.BigEndian.PutUint64(p[8:], counter)
	binary.BigEndian.PutUint64(p[16:], m.Journal.Sequence)
	binary.BigEndian.PutUint64(p[24:], m.Journal.File)
	binary.BigEndian.PutUint64(p[32:], m.Journal.First)
	binary.BigEndian.PutUint64(p[40:], m.Table.File)
	binary.BigEndian.PutUint64(p[48:], m.Table.Sequence)
	binary.BigEndian.PutUint32(p[4:], crc32.Checksum(p[8:slotBytes], castagnoli))
}

// Decode reads a slot that its checksum confirms.
func Decode(p []byte) (m Mark, counter uint64, ok bool) {
	if len(p) < slotBytes || binary.BigEndian.Uint32(p) != slotMagic ||
		crc32.Checksum(p[8:slotBytes], castagnoli) != binary.BigEndian.Uint32(p[4:]) {
		return Mark{}, 0, false
	}
	m.Journal = journal.Mark{
		Sequence: binary.BigEndian.Uint64(p[16:]), File: binary.BigEndian.Uint64(p[24:]), First: binary.BigEndian.Uint64(p[32:]),
	}
	m.Table = ledgertable.Position{File: binary.BigEndian.Uint64(p[40:]), Sequence: binary.BigEndian.Uint64(p[48:])}
	return m, binary.BigEndian.Uint64(p[8:]), true
}
