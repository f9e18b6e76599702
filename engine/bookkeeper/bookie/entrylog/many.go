package entrylog

import (
	"fmt"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Wanted is following entries of one ledger. ReadMany need not find all of them together.
type Wanted struct {
	Ledger ledger.ID
	First  ledger.EntryID
	Last   ledger.EntryID
	Bytes  int64 // of the bodies; the first comes in any case. Zero: no bound
}

// ReadMany returns the newest versions of some of the entries wanted, from the first on and without a hole: those that
// lie close together in one log, within Config.ReadAheadBytesMax. It appends them to bodies. They lie in buffer, which is
// the caller's, from host.Memory. The errors are those of Read for the first entry; damage further on ends what is
// returned.
//
// It goes past the read-ahead cache. Somebody who reads many at a time needs nobody to read ahead for him, and one call to
// the kernel, which has cached what was read lately, costs less than to find each of a hundred entries in ours.
func (l *Logs) ReadMany(w Wanted, bodies [][]byte) (found [][]byte, buffer []byte, err error) {
	var few [4]*run // most entries are looked for in fewer
	runs, damaged := l.candidates(w.Ledger, w.First, few[:0])
	defer l.release(runs)
	for _, r := range runs {
		items, err := l.search(r, w.First, int(w.Last-w.First)+1)
		if err != nil {
			return nil, nil, fmt.Errorf("look up entry %d of ledger %d in entry log %s: %w",
				w.First, w.Ledger, FileName(r.log.id), err)
		}
		if len(items) > 0 {
			w.Last = l.horizon(w, r)
			return l.readMany(w, r, items[:l.together(w, items)], bodies)
		}
	}
	if damaged != nil {
		return nil, nil, damaged
	}
	return nil, nil, ErrAbsent
}

// horizon is the last of the entries wanted that a run has the newest version of, if it has that of the first: a newer
// run may begin behind it.
func (l *Logs) horizon(w Wanted, r *run) ledger.EntryID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	last := w.Last
	for _, newer := range l.index[w.Ledger] {
		switch {
		case newer == r:
			return last
		case newer.first > w.First:
			last = min(last, newer.first-1)
		case newer.last > w.First:
			last = w.First // it has a hole there
		}
	}
	return w.First // the run was replaced meanwhile
}

// together is how many of the items are read in one call.
func (l *Logs) together(w Wanted, items []item) int {
	n, bytes := 1, int64(items[0].size)
	for n < len(items) && items[n].entry == items[n-1].entry+1 && items[n].offset > items[n-1].offset && items[n].entry <= w.Last {
		bytes += int64(items[n].size)
		end := int64(items[n].offset) + record.HeaderSize + int64(items[n].size)
		if w.Bytes > 0 && bytes > w.Bytes || end-int64(items[0].offset) > int64(l.config.ReadAheadBytesMax) {
			break
		}
		n++
	}
	if n > 1 && l.h.Probe().Perhaps(PointReadLess) {
		n /= 2
	}
	return n
}

// readMany reads items with one call, and returns the bodies where they lie between their headers.
func (l *Logs) readMany(w Wanted, r *run, items []item, bodies [][]byte) (found [][]byte, buffer []byte, err error) {
	start, last := int64(items[0].offset), items[len(items)-1]
	buffer = l.h.Memory().Get(int(int64(last.offset)-start) + record.HeaderSize + int(last.size))
	if _, err := host.ReadFull(r.log.file, buffer, start); err != nil {
		l.h.Memory().Put(buffer)
		return nil, nil, fmt.Errorf("read entry %d of ledger %d at %d of entry log %s: %w",
			w.First, w.Ledger, start, FileName(r.log.id), err)
	}
	for i, it := range items {
		body, err := recordAt(buffer[int64(it.offset)-start:], w.Ledger, it)
		if err != nil && i == 0 {
			l.h.Memory().Put(buffer)
			return nil, nil, fmt.Errorf("entry log %s: %w", FileName(r.log.id), err)
		}
		if err != nil {
			break // whoever asks for that entry will see why
		}
		bodies = append(bodies, body)
	}
	return bodies, buffer, nil
}
