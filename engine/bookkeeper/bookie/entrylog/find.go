package entrylog

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// Read returns a copy of the newest version of an entry in a buffer from host.Memory. ErrAbsent if no log has it;
// record.ErrCorrupt or a read error if it cannot be told, or if what is there is not what was written.
func (l *Logs) Read(id ledger.ID, entry ledger.EntryID) ([]byte, error) {
	var found []byte
	if !l.h.Probe().Perhaps(PointReadPastAhead) &&
		l.ahead.view(entryKey{id, entry}, func(value []byte) { found = l.copyOf(value) }) {
		return found, nil
	}
	var few [4]*run // most entries are looked for in fewer
	runs, damaged := l.candidates(id, entry, few[:0])
	defer l.release(runs)
	for _, r := range runs {
		items, err := l.search(r, entry, l.window())
		if err != nil {
			return nil, fmt.Errorf("look up entry %d of ledger %d in entry log %s: %w", entry, id, FileName(r.log.id), err)
		}
		if len(items) > 0 {
			return l.readItems(id, r, items[:l.readTogether(r, items)])
		}
	}
	if damaged != nil {
		return nil, damaged
	}
	return nil, ErrAbsent
}

func (l *Logs) copyOf(value []byte) []byte {
	body := l.h.Memory().Get(len(value))
	copy(body, value)
	return body
}

// candidates appends to runs those that may hold an entry, newest first, with their logs pinned.
func (l *Logs) candidates(id ledger.ID, entry ledger.EntryID, runs []*run) ([]*run, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, r := range l.index[id] {
		if r.first <= entry && entry <= r.last {
			r.log.pins++
			runs = append(runs, r)
		}
	}
	return runs, l.damaged
}

func (l *Logs) release(runs []*run) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, r := range runs {
		if r.log.pins--; r.log.pins == 0 && r.log.gone {
			_ = r.log.file.Close() // only ever read, and already removed
		}
	}
}

// search returns the items of a run from entry on, at most so many and as far as they are at hand, or none if the run does
// not have it.
func (l *Logs) search(r *run, entry ledger.EntryID, most int) ([]item, error) {
	if r.items != nil {
		at, found := slices.BinarySearchFunc(r.items, entry, compareItem)
		if !found {
			return nil, nil
		}
		return r.items[at:min(len(r.items), at+most)], nil
	}
	return l.searchClosed(r, entry, most)
}

func compareItem(it item, e ledger.EntryID) int {
	switch {
	case it.entry < e:
		return -1
	case it.entry > e:
		return 1
	default:
		return 0
	}
}

// window is how many items one lookup collects: the entry and what may be read ahead.
func (l *Logs) window() int { return 1 + l.config.ReadAheadEntries }

// searchClosed searches the blocks of a closed log's index. Most ledgers are dense, so the first guess is where the
// entry would be if no id was missing.
func (l *Logs) searchClosed(r *run, entry ledger.EntryID, most int) ([]item, error) {
	low, high := r.firstItem, r.firstItem+r.count-1
	guess := low
	if d := int64(entry - r.first); d < int64(r.count) {
		guess = low + uint32(d)
	}
	for block := guess / itemsPerBlock; ; {
		part, err := l.searchBlock(r, block, entry, most)
		if err != nil {
			return nil, err
		}
		switch {
		case entry < part.first && block > low/itemsPerBlock:
			high = block*itemsPerBlock - 1
		case entry > part.last && block < high/itemsPerBlock:
			low = (block + 1) * itemsPerBlock
		default:
			return part.items, nil
		}
		block = (low/itemsPerBlock + high/itemsPerBlock) / 2
	}
}

// blockPart is what one index block says of a run.
type blockPart struct {
	first, last ledger.EntryID
	items       []item // from the wanted entry on, as many as a lookup collects; none if it is not there
}

// searchBlock looks for an entry among the items of one block that belong to the run.
func (l *Logs) searchBlock(r *run, block uint32, entry ledger.EntryID, most int) (part blockPart, err error) {
	from, to := block*itemsPerBlock, (block+1)*itemsPerBlock
	from, to = max(from, r.firstItem), min(to, r.firstItem+r.count)
	from, to = from-block*itemsPerBlock, to-block*itemsPerBlock
	search := func(p []byte) { part = searchItems(p, int(from), int(to), entry, most) }
	if !l.h.Probe().Perhaps(PointReadPastBlocks) && l.blocks.view(blockKey{r.log.id, block}, search) {
		return part, nil
	}
	p := l.h.Memory().Get(blockBytes)
	defer l.h.Memory().Put(p)
	if _, err := host.ReadFull(r.log.file, p, r.log.durable+int64(block)*blockBytes); err != nil {
		return part, fmt.Errorf("read index block %d: %w", block, err)
	}
	count, err := openBlock(p, r.log.header.Identity, block, blockItems)
	if err != nil {
		return part, err
	}
	if uint32(count) < to {
		return part, fmt.Errorf("index block %d holds %d items, the directory wants more: %w", block, count, record.ErrCorrupt)
	}
	for i := from + 1; i < to; i++ {
		if itemAt(p, int(i)).entry < itemAt(p, int(i-1)).entry {
			return part, fmt.Errorf("index block %d is not sorted: %w", block, record.ErrCorrupt)
		}
	}
	l.blocks.put(blockKey{r.log.id, block}, p)
	search(p)
	return part, nil
}

// searchItems looks for an entry among the items from..to of an item block, and copies most items at most.
func searchItems(block []byte, from, to int, entry ledger.EntryID, most int) blockPart {
	part := blockPart{first: itemAt(block, from).entry, last: itemAt(block, to-1).entry}
	at := from + sort.Search(to-from, func(i int) bool { return itemAt(block, from+i).entry >= entry })
	if at == to || itemAt(block, at).entry != entry {
		return part
	}
	part.items = make([]item, min(to-at, most))
	for i := range part.items {
		part.items[i] = itemAt(block, at+i)
	}
	return part
}

// readItems reads the first item, and in the same call those of the following entries that lie close behind it, which
// go to the read-ahead cache.
func (l *Logs) readItems(id ledger.ID, r *run, items []item) ([]byte, error) {
	n := len(items)
	start := int64(items[0].offset)
	end := int64(items[n-1].offset) + record.HeaderSize + int64(items[n-1].size)
	p := l.h.Memory().Get(int(end - start))
	defer l.h.Memory().Put(p)
	if _, err := host.ReadFull(r.log.file, p, start); err != nil {
		return nil, fmt.Errorf("read entry %d of ledger %d at %d of entry log %s: %w",
			items[0].entry, id, start, FileName(r.log.id), err)
	}
	body, err := recordAt(p, id, items[0])
	if err != nil {
		return nil, fmt.Errorf("entry log %s: %w", FileName(r.log.id), err)
	}
	l.cacheAhead(id, r, items[1:n], p, start)
	return l.copyOf(body), nil
}

// readTogether says how many of the items are read in one call: consecutive entries within the bound on bytes, if the
// reader goes through the run in order. Somebody who reads here and there would pay for what he does not want.
func (l *Logs) readTogether(r *run, items []item) int {
	l.mutex.Lock()
	inOrder := items[0].entry == r.first || items[0].entry == r.expected
	r.expected = items[0].entry + 1
	l.mutex.Unlock()
	if !inOrder {
		return 1
	}
	n := 1
	for n < len(items) && items[n].entry == items[n-1].entry+1 && items[n].offset > items[n-1].offset {
		end := int64(items[n].offset) + record.HeaderSize + int64(items[n].size)
		if end-int64(items[0].offset) > int64(l.config.ReadAheadBytesMax) {
			break
		}
		n++
	}
	if n > 1 && l.h.Probe().Perhaps(PointReadAheadLess) {
		n /= 2
	}
	return n
}

// cacheAhead stores the entries that were read besides. A bad one ends it: whoever asks for that entry will see why.
// If a newer run has come that may hold these entries as well, they may be stale and nothing is stored.
func (l *Logs) cacheAhead(id ledger.ID, r *run, items []item, p []byte, start int64) {
	if len(items) == 0 || l.config.ReadCacheBytesMax == 0 {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.newest(id, r, items[0].entry, items[len(items)-1].entry) {
		return
	}
	r.expected = items[len(items)-1].entry + 1
	for _, it := range items {
		body, err := recordAt(p[int64(it.offset)-start:], id, it)
		if err != nil {
			return
		}
		l.ahead.put(entryKey{id, it.entry}, body)
	}
	l.h.Probe().Mark(host.Event{Name: PointReadAhead, A: int64(r.log.id), B: int64(len(items))})
}

// newest reports whether a run is still known and no newer one has any of these entries.
func (l *Logs) newest(id ledger.ID, r *run, first, last ledger.EntryID) bool {
	for _, other := range l.index[id] {
		if other == r {
			return true
		}
		if other.first <= last && other.last >= first {
			return false
		}
	}
	return false
}

// recordAt checks that p starts with the record of an item of the ledger, and returns its body.
func recordAt(p []byte, id ledger.ID, it item) ([]byte, error) {
	if len(p) < record.HeaderSize+int(it.size) {
		return nil, fmt.Errorf("record of entry %d of ledger %d is cut short: %w", it.entry, id, record.ErrCorrupt)
	}
	h := (*record.Header)(p)
	body := p[record.HeaderSize : record.HeaderSize+int(it.size)]
	if h.Kind() != kindEntry || !h.Matches(body) {
		return nil, fmt.Errorf("record of entry %d of ledger %d at %d fails its checksum: %w", it.entry, id, it.offset, record.ErrCorrupt)
	}
	gotLedger, gotEntry, err := ledger.Key(body)
	if err != nil || gotLedger != id || gotEntry != it.entry {
		return nil, fmt.Errorf("record at %d is entry %d of ledger %d, want entry %d of ledger %d: %w",
			it.offset, gotEntry, gotLedger, it.entry, id, record.ErrCorrupt)
	}
	return body, nil
}

// IsDamage reports whether an error of Read means that stored bytes are bad, as opposed to a failure to read them.
func IsDamage(err error) bool { return errors.Is(err, record.ErrCorrupt) }
