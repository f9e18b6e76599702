package entrylog

import (
	"errors"
	"fmt"
	"io"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Part says which part of an entry log a flaw is in.
type Part string

// The parts of an entry log.
const (
	PartHeader Part = "header" // the file's first page
	PartGroup  Part = "group"  // a group of records; its entries that are lost come one by one besides
	PartEntry  Part = "entry"  // an entry that a reader would meet
	PartIndex  Part = "index"  // blocks of the index, or what they say of the records
)

// NoLedger stands for the ledger of a flaw that is not of one ledger.
const NoLedger ledger.ID = -1

// Flaw is a place of a log where there is not what was written. A cause without record.ErrCorrupt is a failure to read,
// which may be gone the next time.
type Flaw struct {
	Log    LogID
	Part   Part
	Offset int64
	Bytes  int64
	Ledger ledger.ID      // NoLedger if it is not of one
	Entry  ledger.EntryID // ledger.NoEntry if it is not of one
	Cause  error
}

// Settled lists the logs that are written to no more and still hold something, ascending: the closed ones, and those whose
// damage keeps them from being closed.
func (l *Logs) Settled() []LogID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var ids []LogID
	for _, id := range host.SortedKeys(l.logs) {
		if l.logs[id].settled() {
			ids = append(ids, id)
		}
	}
	return ids
}

func (f *logFile) settled() bool { return !f.gone && (f.damaged || f.closed && f.ledgers > 0) }

// pin keeps a settled log open until unpin. Nil: there is no such log any more.
func (l *Logs) pin(id LogID) *logFile {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	f := l.logs[id]
	if f == nil || !f.settled() {
		return nil
	}
	f.pins++
	return f
}

func (l *Logs) unpin(f *logFile) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if f.pins--; f.pins == 0 && f.gone {
		_ = f.file.Close() // only ever read, and already removed
	}
}

// slowFile reads past the page cache, and asks for leave before each read.
type slowFile struct {
	host.File
	leave   func(bytes int64) error
	refused error // once there was no leave there is none any more
}

func (f *slowFile) ReadAt(p []byte, off int64) (int, error) {
	if f.refused == nil {
		f.refused = f.leave(int64(len(p)))
	}
	if f.refused != nil {
		return 0, f.refused
	}
	return host.ReadPastCache(f.File, p, off)
}

// VerifyRecords reads a record file of another kind up to size, which was durable, and reports its bad groups. It reads
// past caches and asks leave for each read; the error is that of a leave that was refused.
func VerifyRecords(file host.File, header record.FileHeader, size int64, leave func(bytes int64) error, bad func(Flaw)) error {
	slow := &slowFile{File: file, leave: leave}
	var s record.Scanner
	verifyHeader(&s, slow, header, bad)
	s.Reset(slow, header, size)
	s.Expect(1)
	verifyGroups(&s, bad, func(*record.View) {})
	return slow.refused
}

// verifyHeader compares a file's header with the one that it had when it was opened.
func verifyHeader(s *record.Scanner, file host.File, header record.FileHeader, bad func(Flaw)) {
	found, err := s.VerifyFileHeader(file, header.Kind)
	if err == nil && found != header {
		err = fmt.Errorf("file header says file %d of identity %x: %w", found.ID, found.Identity, record.ErrCorrupt)
	}
	if err != nil {
		bad(Flaw{Part: PartHeader, Bytes: record.FileHeaderBytes, Ledger: NoLedger, Entry: ledger.NoEntry, Cause: err})
	}
}

// verifyGroups walks all groups and passes over bad ones.
func verifyGroups(s *record.Scanner, bad func(Flaw), good func(*record.View)) {
	for {
		from := s.Offset()
		view, err := s.NextDurable()
		switch {
		case err == nil:
			good(view)
			if at, err := s.VerifyPadding(view); err != nil {
				bad(Flaw{Part: PartGroup, Offset: at, Bytes: s.Offset() - at, Ledger: NoLedger, Entry: ledger.NoEntry, Cause: err})
			}
		case errors.Is(err, io.EOF):
			return
		default:
			bad(Flaw{
				Part: PartGroup, Offset: from, Bytes: s.Skip() - from, Ledger: NoLedger, Entry: ledger.NoEntry, Cause: err,
			})
		}
	}
}

// IsRot reports whether the bytes are there and wrong, as opposed to bytes that could not be read.
func (f *Flaw) IsRot() bool { return errors.Is(f.Cause, record.ErrCorrupt) }
