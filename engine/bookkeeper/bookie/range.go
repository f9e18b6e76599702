package bookie

import (
	"math"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/writecache"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
)

// lookedUpTogether is how many entries of a range are looked up in one hold of the store's mutex. Looking up a hundred
// one by one costs more than sending them; but adds wait meanwhile, some nanoseconds for each.
const lookedUpTogether = 256

// Limits bounds a range. Zero or less: no bound of that kind.
type Limits struct {
	Entries int
	Bytes   int64
	// PerEntryBytes is what an entry counts for besides its body.
	PerEntryBytes int64
}

// Range is consecutive entries as ReadInto found them. What lies in the write cache is lent, not copied: its memory is
// kept until Release. A Range may be used again and again, by one task at a time; its zero value is ready.
type Range struct {
	Bodies [][]byte // the stored entries, until Release

	ledger ledger.ID
	next   ledger.EntryID // the first that is not in
	limits Limits
	bytes  int64
	full   bool
	pinned []*writecache.Generation
	copies [][]byte // what bodies from logs lie in
	found  [][]byte // room for them
	memory host.Memory
}

// Release lets go of everything. The bodies must not be used afterwards.
func (r *Range) Release() {
	for i, g := range r.pinned {
		g.Unpin()
		r.pinned[i] = nil
	}
	for i, b := range r.copies {
		r.memory.Put(b)
		r.copies[i] = nil
	}
	clear(r.Bodies)
	r.Bodies, r.pinned, r.copies = r.Bodies[:0], r.pinned[:0], r.copies[:0]
}

// Bytes is what the bodies have together.
func (r *Range) Bytes() int64 { return r.bytes - int64(len(r.Bodies))*r.limits.PerEntryBytes }

func (r *Range) begin(h host.Host, id ledger.ID, first ledger.EntryID, limits Limits) {
	r.Release()
	r.ledger, r.next, r.limits, r.bytes, r.full, r.memory = id, first, limits, 0, false, h.Memory()
}

// add takes the next entry in, unless that passes a limit: false then, and the range is full. The first entry always
// comes in, or a reader with small limits would never get past a long one.
func (r *Range) add(body []byte) bool {
	bytes := r.bytes + int64(len(body)) + r.limits.PerEntryBytes
	if len(r.Bodies) > 0 && r.limits.Bytes > 0 && bytes > r.limits.Bytes {
		r.full = true
		return false
	}
	r.Bodies = append(r.Bodies, body)
	r.bytes = bytes
	r.next++
	r.full = len(r.Bodies) == r.limits.Entries
	return true
}

// lend takes an entry in that lies in a generation, which is pinned once however many lie there. The store's mutex is
// held.
func (r *Range) lend(g *writecache.Generation, body []byte) {
	if !r.add(body) {
		return
	}
	if n := len(r.pinned); n == 0 || r.pinned[n-1] != g {
		g.Pin()
		r.pinned = append(r.pinned, g)
	}
}

// ReadInto finds consecutive entries from first on: as many as there are without a hole, within the limits. The first
// entry comes even if it alone passes the limit on bytes. The errors are those of Read for the first entry; a failure
// further on ends the range. Whatever r held before is released.
func (s *Store) ReadInto(r *Range, id ledger.ID, first ledger.EntryID, limits Limits) error {
	r.begin(s.h, id, first, limits)
	if err := s.beginRead(id); err != nil {
		return err
	}
	defer s.endRead()
	if err := s.extend(r); err != nil {
		return err
	}
	for !r.full {
		err := s.extend(r)
		if err != nil {
			s.markHole(id, r.next)
			break
		}
	}
	return nil
}

// extend adds what lies together in one place: entries of the write cache, or entries of one log.
func (s *Store) extend(r *Range) error {
	before := len(r.Bodies)
	until, limbo, err := s.lendCached(r)
	if err != nil || len(r.Bodies) > before || r.full {
		return err
	}
	last := r.next + lookedUpTogether - 1
	if r.limits.Entries > 0 {
		last = min(last, r.next+ledger.EntryID(r.limits.Entries-before)-1)
	}
	wanted := entrylog.Wanted{Ledger: r.ledger, First: r.next, Last: min(last, until-1)}
	if r.limits.Bytes > 0 {
		wanted.Bytes = max(r.limits.Bytes-r.bytes, 1)
	}
	found, buffer, err := s.logs.ReadMany(wanted, r.found[:0])
	if err != nil {
		return s.notInLogs(r.ledger, r.next, limbo, err)
	}
	r.copies = append(r.copies, buffer)
	for _, body := range found {
		if !r.add(body) {
			break
		}
	}
	clear(found)
	r.found = found
	return nil
}

// lendCached adds the following entries that are in the write cache, newest version first. If none is, until is the first
// one behind them that is: from there on the logs have no say.
func (s *Store) lendCached(r *Range) (until ledger.EntryID, limbo bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	l, err := s.readable(r.ledger)
	if err != nil {
		return 0, false, err
	}
	active, flushing := s.active.From(r.ledger, r.next), s.flushing.From(r.ledger, r.next)
	most := lookedUpTogether
	if s.h.Probe().Perhaps(PointLookUpFew) {
		most = 1
	}
	for n := 0; n < most && !r.full; n++ {
		g := s.active
		body, ok := active.Take(r.next)
		if !ok {
			g = s.flushing
			body, ok = flushing.Take(r.next)
		}
		if !ok {
			break
		}
		r.lend(g, body)
	}
	return min(active.Next(math.MaxInt64), flushing.Next(math.MaxInt64)), l.Limbo, nil
}

// ReadRange is ReadInto for those who keep entries one by one: each is a copy of its own.
func (s *Store) ReadRange(id ledger.ID, first ledger.EntryID, limits Limits) ([]Entry, error) {
	var r Range
	defer r.Release()
	if err := s.ReadInto(&r, id, first, limits); err != nil {
		return nil, err
	}
	entries := make([]Entry, len(r.Bodies))
	for i, body := range r.Bodies {
		entries[i] = s.copyOf(id, first+ledger.EntryID(i), body)
	}
	return entries, nil
}
