package entrylog

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"encoding/binary"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Open opens the logs that the ledger table names, and builds what is kept in memory. A log that
// was not closed, or whose index is bad, is scanned, cut to its durable length and closed. Ledgers that live does not
// want are left out.
//
// A log that is missing is an error; one with bad groups makes the set Damaged: what it still has is served.
func Open(h host.Host, dir host.Dir, config Config, states []LogState, live func(ledger.ID) bool) (*Logs, error) {
	l := &Logs{
		h: h, dir: dir, config: config, mutex: h.NewMutex("entrylog"),
		logs: make(map[LogID]*logFile), index: make(map[ledger.ID][]*run), nextID: 1,
		blocks: newCache[blockKey](h, "index-cache", config.IndexCacheBytesMax),
		ahead:  newCache[entryKey](h, "read-cache", config.ReadCacheBytesMax),
	}
	slices.SortFunc(states, func(a, b LogState) int { return int(int64(a.ID) - int64(b.ID)) })
	for _, state := range states {
		if err := l.openLog(state, live); err != nil {
			l.Release()
			return nil, fmt.Errorf("open entry log %s: %w", FileName(state.ID), err)
		}
		l.nextID = max(l.nextID, state.ID+1)
	}
	if err := l.noteOrphans(); err != nil {
		l.Release()
		return nil, err
	}
	return l, nil
}

func (l *Logs) openLog(state LogState, live func(ledger.ID) bool) error {
	file, err := l.dir.Open(FileName(state.ID))
	if errors.Is(err, host.ErrNotExist) {
		return fmt.Errorf("the ledger table names it: %w: %w", record.ErrCorrupt, err)
	}
	if err != nil {
		return err
	}
	f := &logFile{id: state.ID, file: file, durable: state.Durable, end: state.Durable, named: true}
	l.logs[state.ID] = f
	if f.header, err = record.ReadFileHeader(file, Kind()); err != nil {
		return err
	}
	if f.header.ID != uint64(state.ID) {
		return fmt.Errorf("header says log %d: %w", f.header.ID, record.ErrCorrupt)
	}
	if state.Closed {
		directory, sequence, err := readIndex(f)
		if err == nil {
			l.sequence = max(l.sequence, sequence)
			l.attachClosed(f, directory, live)
			return nil
		}
		if !errors.Is(err, record.ErrCorrupt) {
			return err
		}
		l.h.Log(host.Warn, "entry log has a bad index and is scanned", host.F("log", FileName(f.id)), host.F("error", err))
	}
	return l.rescan(f, live)
}

// readIndex reads the trailer and the directory of a closed log.
func readIndex(f *logFile) ([]directoryItem, uint64, error) {
	size, err := f.file.Size()
	if err != nil {
		return nil, 0, err
	}
	block := make([]byte, blockBytes)
	number := (size-f.durable)/blockBytes - 1
	if number < 0 {
		return nil, 0, fmt.Errorf("file of %d bytes has no index: %w", size, record.ErrCorrupt)
	}
	if err := readBlock(f, block, uint32(number), blockTrailer); err != nil {
		return nil, 0, err
	}
	t := getTrailer(block[blockHeaderBytes:])
	if !t.fits(size) || t.dataEnd != f.durable {
		return nil, 0, fmt.Errorf("trailer does not fit a file of %d bytes: %w", size, record.ErrCorrupt)
	}
	var directory []directoryItem
	for b := t.itemBlocks; b < t.itemBlocks+t.directoryBlocks; b++ {
		if err := readBlock(f, block, b, blockDirectory); err != nil {
			return nil, 0, err
		}
		count := int(binary.BigEndian.Uint32(block[24:]))
		for i := range count {
			directory = append(directory, getDirectoryItem(block[blockHeaderBytes+i*directoryBytes:]))
		}
	}
	return directory, t.sequence, checkDirectory(directory, t)
}

func readBlock(f *logFile, block []byte, number uint32, kind blockKind) error {
	_, err := host.ReadFull(f.file, block, f.durable+int64(number)*blockBytes)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("index block %d is behind the end: %w", number, record.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("read index block %d: %w", number, err)
	}
	_, err = openBlock(block, f.header.Identity, number, kind)
	return err
}

func checkDirectory(directory []directoryItem, t trailer) error {
	if len(directory) != int(t.ledgers) {
		return fmt.Errorf("directory has %d ledgers, the trailer says %d: %w", len(directory), t.ledgers, record.ErrCorrupt)
	}
	next := uint32(0)
	for i, d := range directory {
		if d.firstItem != next || d.count == 0 || d.count > t.items-next || d.first > d.last ||
			(i > 0 && d.ledger <= directory[i-1].ledger) {
			return fmt.Errorf("directory of ledger %d contradicts itself: %w", d.ledger, record.ErrCorrupt)
		}
		next += d.count
	}
	return nil
}

// rescan rebuilds the runs of a log from its groups and closes it.
func (l *Logs) rescan(f *logFile, live func(ledger.ID) bool) error {
	l.h.Probe().Mark(host.Event{Name: PointRescanned, A: int64(f.id), B: f.durable})
	runs, err := l.scanRuns(f, live)
	if err != nil {
		return err
	}
	parts := mergeItems(runs)
	if f.damaged {
		for _, part := range parts { // keep the bytes as they are: only the memory knows what they hold
			l.attach(part.ledger, &run{
				log: f, sequence: part.sequence, items: part.items,
				first: part.items[0].entry, last: part.items[len(part.items)-1].entry,
			})
		}
		return nil
	}
	if len(parts) == 0 {
		f.closed = true // nothing lives here; it goes with the next checkpoint
		return nil
	}
	blocks, directory := encodeIndex(f.header.Identity, f.durable, parts)
	if err := f.file.Truncate(f.durable); err != nil {
		return fmt.Errorf("cut to its durable length %d: %w", f.durable, err)
	}
	if err := host.WriteFullAt(f.file, blocks, f.durable); err != nil {
		return fmt.Errorf("write index at %d: %w", f.durable, err)
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("sync index: %w", err)
	}
	l.attachClosed(f, directory, live)
	return nil
}

// scanRuns reads the durable groups of a log. Groups that are bad make the set damaged.
func (l *Logs) scanRuns(f *logFile, live func(ledger.ID) bool) ([]ledgerRun, error) {
	s := record.NewScanner(f.file, f.header, f.durable)
	s.Expect(1)
	var runs []ledgerRun
	var sequence uint64
	for {
		view, err := s.Next()
		if err != nil {
			return runs, l.scanEnded(f, s, err)
		}
		err = view.Each(func(kind record.Kind, offset int64, body []byte) error {
			if kind == kindFlush && len(body) == 8 {
				sequence = binary.BigEndian.Uint64(body)
				l.sequence = max(l.sequence, sequence)
				return nil
			}
			id, entry, err := ledger.Key(body)
			if err != nil || kind != kindEntry {
				return fmt.Errorf("record of kind %d at %d: %w", kind, offset, record.ErrCorrupt)
			}
			if live(id) {
				runs = appendItem(runs, f, id, sequence, item{entry: entry, offset: uint32(offset), size: uint32(len(body))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
}

func appendItem(runs []ledgerRun, f *logFile, id ledger.ID, sequence uint64, it item) []ledgerRun {
	if n := len(runs); n == 0 || runs[n-1].ledger != id || runs[n-1].run.sequence != sequence {
		runs = append(runs, ledgerRun{id, &run{log: f, sequence: sequence, first: it.entry}})
	}
	r := runs[len(runs)-1].run
	r.items = append(r.items, it)
	r.last = it.entry
	return runs
}

// scanEnded says whether a scan ended where the durable bytes do.
func (l *Logs) scanEnded(f *logFile, s *record.Scanner, err error) error {
	bad := errors.Is(err, record.ErrTornTail) || errors.Is(err, record.ErrCorrupt) || errors.Is(err, io.EOF)
	if !bad {
		return err
	}
	if s.Offset() == f.durable {
		return nil
	}
	f.damaged = true
	l.damaged = fmt.Errorf("entry log %s is bad from %d on, %d bytes were durable: %w",
		FileName(f.id), s.Offset(), f.durable, record.ErrCorrupt)
	l.h.Log(host.Error, "entry log is damaged: what is not found counts as unknown", host.F("error", l.damaged))
	return nil
}

// noteOrphans finds logs that the table does not name: flushes that were not finished, or removed logs whose removal was
// not. They stay for now: the table that was read may itself not be durable yet.
func (l *Logs) noteOrphans() error {
	infos, err := l.dir.List()
	if err != nil {
		return fmt.Errorf("list entry logs: %w", err)
	}
	for _, info := range infos {
		if id, ok := ParseFileName(info.Name); ok && l.logs[id] == nil {
			l.orphans = append(l.orphans, id)
			l.nextID = max(l.nextID, id+1)
		}
	}
	return nil
}

// RemoveOrphans deletes the logs that no table named when the set was opened. A table that is durable must not name
// them either, so a checkpoint comes first. What cannot be removed stays until the next start.
func (l *Logs) RemoveOrphans() {
	for _, id := range l.orphans {
		if err := l.dir.Remove(FileName(id)); err != nil {
			l.h.Log(host.Warn, "cannot remove an entry log that the ledger table does not name",
				host.F("log", FileName(id)), host.F("error", err))
			continue
		}
		l.h.Probe().Mark(host.Event{Name: PointOrphan, A: int64(id)})
	}
	if len(l.orphans) == 0 {
		return
	}
	l.orphans = nil
	if err := l.dir.SyncDir(); err != nil {
		l.h.Log(host.Warn, "cannot sync the directory after removing entry logs", host.F("error", err))
	}
}
