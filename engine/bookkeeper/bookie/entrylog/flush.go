package entrylog

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Source is what is flushed: entries ascending by ledger and entry, each with how many of its ledger follow.
type Source interface {
	Walk(f func(id ledger.ID, entry ledger.EntryID, body []byte, follow int) error) error
}

// Flushed is a flush whose bytes are durable and which no reader knows yet.
type Flushed struct {
	log     *logFile
	runs    []ledgerRun
	durable int64
	index   []directoryItem // not nil: the log was closed
	bytes   int64
}

// Bytes is what the flush added to its log.
func (f *Flushed) Bytes() int64 { return f.bytes }

// ledgerRun is a run with its ledger.
type ledgerRun struct {
	ledger ledger.ID
	run    *run
}

// Flush writes what source holds of the ledgers to keep, makes it durable, and closes the log if it is full. It
// returns nil if there was nothing. On an error nothing of it counts; the caller tries again with the same source, and
// the next attempt writes a new file: the pages of a file whose sync failed may count as clean without being so.
func (l *Logs) Flush(source Source, keep func(ledger.ID) bool) (*Flushed, error) {
	f, err := l.writable()
	if err != nil {
		return nil, err
	}
	w := writer{logs: l, log: f, offset: f.end, synced: f.groups, sequence: l.sequence + 1}
	flushed, err := w.flush(source, keep)
	if err != nil {
		l.abandon(f)
		return nil, fmt.Errorf("flush into entry log %s: %w", FileName(f.id), err)
	}
	if flushed == nil {
		return nil, nil
	}
	l.sequence++
	f.end, f.groups = w.offset, w.groups
	f.named = true
	f.pending = append(f.pending, flushed.runs...)
	if flushed.index != nil {
		l.open = nil
	}
	return flushed, nil
}

// writable returns the open log, or makes the next one. Its name becomes durable with the first flush.
func (l *Logs) writable() (*logFile, error) {
	if l.open != nil {
		return l.open, nil
	}
	l.mutex.Lock()
	id := l.nextID
	l.nextID++
	l.mutex.Unlock()
	file, err := l.dir.Create(FileName(id))
	if err != nil {
		return nil, fmt.Errorf("create entry log %s: %w", FileName(id), err)
	}
	identity := l.h.Rand("entrylog").Uint64() ^ uint64(id)<<32 ^ uint64(l.h.Now())
	f := &logFile{id: id, file: file, header: record.FileHeader{Kind: Kind(), ID: uint64(id), Identity: identity}}
	if err := host.WriteFullAt(file, f.header.Encode(), 0); err != nil {
		_ = file.Close()
		_ = l.dir.Remove(FileName(id))
		return nil, fmt.Errorf("write header of entry log %s: %w", FileName(id), err)
	}
	if l.config.PastCache {
		host.WritePastCache(file)
	}
	f.end = record.FileHeaderBytes
	l.open = f
	return f, nil
}

// abandon gives up writing to a log. What was flushed into it before stays readable; a log without any goes at once.
func (l *Logs) abandon(f *logFile) {
	l.open = nil
	l.h.Probe().Mark(host.Event{Name: PointAbandoned, A: int64(f.id)})
	if f.named {
		return
	}
	_ = f.file.Close()
	if err := l.dir.Remove(FileName(f.id)); err != nil && !errors.Is(err, host.ErrNotExist) {
		l.h.Log(host.Warn, "an abandoned entry log stays until the next start",
			host.F("log", FileName(f.id)), host.F("error", err))
	}
}

// writer is one flush.
type writer struct {
	logs     *Logs
	log      *logFile
	offset   int64  // of the open group
	groups   uint64 // last group's sequence in this file
	synced   uint64 // and the last one that is durable
	sequence uint64 // of the flush
	parts    []ledgerRun
}

func (w *writer) flush(source Source, keep func(ledger.ID) bool) (*Flushed, error) {
	start := w.offset
	w.groups = w.synced
	w.logs.group.Reset()
	if err := w.entries(source, keep); err != nil {
		return nil, err
	}
	if len(w.parts) == 0 {
		return nil, nil
	}
	if err := w.endGroup(); err != nil {
		return nil, err
	}
	probe := w.logs.h.Probe()
	probe.Mark(host.Event{Name: PointBytesWritten, A: int64(w.log.id)})
	flushed := &Flushed{log: w.log, runs: w.parts, durable: w.offset, bytes: w.offset - start}
	if w.full() {
		index, err := w.writeIndex()
		if err != nil {
			return nil, err
		}
		flushed.index = index
	}
	if err := w.sync(); err != nil {
		return nil, err
	}
	probe.Mark(host.Event{Name: PointBytesSynced, A: int64(w.log.id)})
	return flushed, nil
}

// sync makes the bytes durable and, for a new file, the name.
func (w *writer) sync() error {
	if err := w.log.file.Sync(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if w.log.named {
		return nil
	}
	if err := w.logs.dir.SyncDir(); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}

func (w *writer) entries(source Source, keep func(ledger.ID) bool) error {
	skipped := ledger.ID(-1)
	return source.Walk(func(id ledger.ID, entry ledger.EntryID, body []byte, follow int) error {
		if id == skipped {
			return nil
		}
		part := w.part(id)
		if part == nil {
			if !keep(id) {
				skipped = id
				return nil
			}
			part = w.begin(id, 1+follow)
		}
		return w.entry(part, entry, body)
	})
}

// part returns the run of the ledger at hand, nil if the source has moved on to another.
func (w *writer) part(id ledger.ID) *run {
	if n := len(w.parts); n > 0 && w.parts[n-1].ledger == id {
		return w.parts[n-1].run
	}
	return nil
}

// begin starts the run of a ledger. A list of items that grows would be copied again and again, which took a fifth of a flush.
func (w *writer) begin(id ledger.ID, entries int) *run {
	if len(w.parts) == 0 {
		var body [8]byte
		binary.BigEndian.PutUint64(body[:], w.sequence)
		h := record.MakeHeader(kindFlush, body[:])
		w.logs.group.Append(&h, body[:])
	}
	r := &run{log: w.log, sequence: w.sequence, items: make([]item, 0, entries)}
	w.parts = append(w.parts, ledgerRun{id, r})
	return r
}

func (w *writer) entry(r *run, entry ledger.EntryID, body []byte) error {
	h := record.MakeHeader(kindEntry, body)
	at := w.logs.group.Append(&h, body)
	if len(r.items) == 0 {
		r.first = entry
	}
	r.last = entry
	r.items = append(r.items, item{entry: entry, offset: uint32(w.offset + int64(at)), size: uint32(len(body))})
	if w.logs.group.Bytes() < w.logs.config.GroupBytes && !w.logs.h.Probe().Perhaps(PointGroupNow) {
		return nil
	}
	start := w.offset
	if err := w.endGroup(); err != nil {
		return err
	}
	// More groups follow before the sync. Left to itself the kernel would keep them all for it, and the device would
	// stand idle while they are copied.
	host.StartWriteback(w.log.file, start, w.offset-start)
	return nil
}

// endGroup writes the open group.
func (w *writer) endGroup() error {
	g := &w.logs.group
	if g.Count() == 0 {
		return nil
	}
	size := record.EncodedBytes(g.Bytes())
	vectors := g.Seal(record.Seal{
		Identity: w.log.header.Identity, Sequence: w.groups + 1, DurableThrough: w.synced, Offset: w.offset,
	})
	if _, err := host.WriteFull(w.log.file, vectors, w.offset); err != nil {
		return fmt.Errorf("write group at %d: %w", w.offset, err)
	}
	w.groups++
	w.offset += size
	g.Reset()
	return nil
}

func (w *writer) full() bool {
	items := w.log.items
	for _, part := range w.parts {
		items += len(part.run.items)
	}
	return w.offset >= w.logs.config.LogBytesMax || items >= w.logs.config.ItemsMax || w.logs.h.Probe().Perhaps(PointCloseNow)
}

// writeIndex closes the log behind the groups of this flush.
func (w *writer) writeIndex() ([]directoryItem, error) {
	parts := mergeItems(append(slices.Clone(w.log.pending), w.parts...))
	blocks, directory := encodeIndex(w.log.header.Identity, w.offset, parts)
	if err := host.WriteFullAt(w.log.file, blocks, w.offset); err != nil {
		return nil, fmt.Errorf("write index at %d: %w", w.offset, err)
	}
	return directory, nil
}

// mergeItems joins the runs of one log by ledger. Of several versions of an entry the one flushed last stays. runs are
// in the order of their flushes.
func mergeItems(runs []ledgerRun) []ledgerItems {
	slices.SortStableFunc(runs, func(a, b ledgerRun) int { return cmp.Compare(a.ledger, b.ledger) })
	var parts []ledgerItems
	for _, lr := range runs {
		if n := len(parts); n > 0 && parts[n-1].ledger == lr.ledger {
			parts[n-1].items = mergeNewer(parts[n-1].items, lr.run.items)
			parts[n-1].sequence = max(parts[n-1].sequence, lr.run.sequence)
			continue
		}
		parts = append(parts, ledgerItems{ledger: lr.ledger, items: slices.Clone(lr.run.items), sequence: lr.run.sequence})
	}
	return parts
}

// mergeNewer merges two ascending lists; where both have an entry, newer wins.
func mergeNewer(older, newer []item) []item {
	if len(older) == 0 || len(newer) == 0 || older[len(older)-1].entry < newer[0].entry {
		return append(older, newer...)
	}
	merged := make([]item, 0, len(older)+len(newer))
	for len(older) > 0 && len(newer) > 0 {
		switch {
		case older[0].entry < newer[0].entry:
			merged, older = append(merged, older[0]), older[1:]
		case older[0].entry == newer[0].entry:
			older = older[1:]
		default:
			merged, newer = append(merged, newer[0]), newer[1:]
		}
	}
	return append(append(merged, older...), newer...)
}

// Publish lets readers find a flush, and returns the state of its log for the ledger table. Ledgers that were deleted
// meanwhile are left out.
func (l *Logs) Publish(f *Flushed, keep func(ledger.ID) bool) LogState {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.logs[f.log.id] = f.log
	f.log.durable = f.durable
	if f.index == nil {
		for _, lr := range f.runs {
			if keep(lr.ledger) {
				l.attach(lr.ledger, lr.run)
			}
			f.log.items += len(lr.run.items)
		}
		return LogState{ID: f.log.id, Durable: f.durable}
	}
	for _, lr := range f.runs {
		l.forgetStale(lr.ledger, lr.run)
	}
	l.attachClosed(f.log, f.index, keep)
	l.h.Probe().Mark(host.Event{Name: PointClosed, A: int64(f.log.id)})
	return LogState{ID: f.log.id, Durable: f.durable, Closed: true}
}

// attachClosed replaces what the index knows of a log by the log's own directory.
func (l *Logs) attachClosed(f *logFile, directory []directoryItem, keep func(ledger.ID) bool) {
	f.closed, f.items, f.pending = true, 0, nil
	for _, d := range directory {
		l.detach(d.ledger, f)
		if keep(d.ledger) {
			l.attach(d.ledger, &run{
				log: f, sequence: d.sequence, first: d.first, last: d.last, firstItem: d.firstItem, count: d.count,
			})
		}
	}
}

// attach adds a run to a ledger, newest first.
func (l *Logs) attach(id ledger.ID, r *run) {
	runs := l.index[id]
	lives := slices.ContainsFunc(runs, func(other *run) bool { return other.log == r.log })
	if !lives {
		r.log.ledgers++
	}
	l.forgetStale(id, r)
	at, _ := slices.BinarySearchFunc(runs, r, func(a, b *run) int { return cmp.Compare(b.sequence, a.sequence) })
	l.index[id] = slices.Insert(runs, at, r)
}

// forgetStale drops cached copies of entries of which r brings newer versions.
func (l *Logs) forgetStale(id ledger.ID, r *run) {
	overlaps := slices.ContainsFunc(l.index[id], func(o *run) bool { return o.log != nil && o.last >= r.first && o.first <= r.last })
	if !overlaps || r.items == nil {
		return
	}
	l.h.Probe().Mark(host.Event{Name: PointOverlap, A: int64(id)})
	for _, it := range r.items {
		l.ahead.drop(entryKey{id, it.entry})
	}
}

// detach removes the runs that a ledger has in a log.
func (l *Logs) detach(id ledger.ID, f *logFile) {
	runs := l.index[id]
	kept := slices.DeleteFunc(runs, func(r *run) bool { return r.log == f })
	if len(kept) < len(runs) {
		f.ledgers--
	}
	if len(kept) == 0 {
		delete(l.index, id)
		return
	}
	l.index[id] = kept
}
