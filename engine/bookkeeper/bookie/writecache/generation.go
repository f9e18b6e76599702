package writecache

import (
	"github.com/google/btree"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/internal/invariant"
)

// treeDegree suits a tree of some thousand ledgers.
const treeDegree = 16

// Generation is everything inserted between two flushes. Each user holds a pin; when the last one is gone the memory
// goes back, and the generation must not be touched any more.
type Generation struct {
	memory     host.Memory
	chunkBytes int
	pins       host.Counter
	chunks     [][]byte
	fill       int // bytes used of the last chunk
	bytes      int64
	entries    int
	byID       map[ledger.ID]*run
	ordered    *btree.BTreeG[*run]
	last       *run // the one inserted into last: writers come in bursts
}

// NewGeneration makes an empty generation, pinned once for its maker.
func NewGeneration(h host.Host, chunkBytes int) *Generation {
	g := &Generation{
		memory: h.Memory(), chunkBytes: chunkBytes, pins: h.NewCounter("generation-pins"),
		byID:    make(map[ledger.ID]*run),
		ordered: btree.NewG(treeDegree, func(a, b *run) bool { return a.id < b.id }),
	}
	g.pins.Store(1)
	return g
}

// Bytes is the memory that the generation takes: chunks, with what is lost at their ends, and the index of what is in them.
// It does not fall when a ledger is dropped.
func (g *Generation) Bytes() int64 { return g.bytes }

// Entries is the number of entries held, counting one that was replaced once.
func (g *Generation) Entries() int { return g.entries }

// Insert stores a copy of body and returns it. An entry that is there already is replaced: recovery may store it again
// with another LAC in its header.
func (g *Generation) Insert(id ledger.ID, entry ledger.EntryID, body []byte) []byte {
	fresh := g.allocate(len(body))
	fresh.entry = entry
	stored := g.body(&fresh)
	copy(stored, body)
	r := g.runOf(id)
	if r.count == 0 || r.last() < entry {
		g.bytes += int64(r.push(fresh))
		g.entries++
		return stored
	}
	place, found := r.search(entry)
	if found {
		*r.at(place) = fresh
		return stored
	}
	g.bytes += int64(r.insert(place, fresh))
	g.entries++
	return stored
}

// body is the bytes of a slot.
func (g *Generation) body(s *slot) []byte {
	end := s.offset + s.length
	return g.chunks[s.chunk][s.offset:end:end]
}

func (g *Generation) runOf(id ledger.ID) *run {
	if g.last != nil && g.last.id == id {
		return g.last
	}
	r := g.byID[id]
	if r == nil {
		r = &run{id: id}
		g.bytes += runBytes
		g.byID[id] = r
		g.ordered.ReplaceOrInsert(r)
	}
	g.last = r
	return r
}

// allocate makes room for n bytes.
func (g *Generation) allocate(n int) slot {
	if len(g.chunks) == 0 || g.fill+n > len(g.chunks[len(g.chunks)-1]) {
		chunk := g.memory.Get(max(n, g.chunkBytes))
		g.chunks = append(g.chunks, chunk)
		g.bytes += int64(cap(chunk)) // more than was asked for, if an entry is longer than a chunk
		g.fill = 0
	}
	s := slot{chunk: uint32(len(g.chunks) - 1), offset: uint32(g.fill), length: uint32(n)}
	g.fill += n
	return s
}

// Get returns an entry's bytes, valid as long as the caller keeps the generation pinned.
func (g *Generation) Get(id ledger.ID, entry ledger.EntryID) ([]byte, bool) {
	r := g.byID[id]
	if r == nil {
		return nil, false
	}
	place, found := r.search(entry)
	if !found {
		return nil, false
	}
	return g.body(r.at(place)), true
}

// Last is the greatest entry held of a ledger; NoEntry if there is none.
func (g *Generation) Last(id ledger.ID) ledger.EntryID {
	r := g.byID[id]
	if r == nil || r.count == 0 {
		return ledger.NoEntry
	}
	return r.last()
}

// Drop forgets a ledger. Its bytes stay until the generation goes, since readers may still hold them.
func (g *Generation) Drop(id ledger.ID) {
	r := g.byID[id]
	if r == nil {
		return
	}
	g.entries -= r.count
	delete(g.byID, id)
	g.ordered.Delete(r)
	g.last = nil
}

// Ledgers calls f for every ledger in ascending order, until it returns false.
func (g *Generation) Ledgers(f func(id ledger.ID) bool) {
	g.ordered.Ascend(func(r *run) bool { return f(r.id) })
}

// Walk calls f for every entry, ascending by ledger and entry, with how many of its ledger follow, and stops at the first error.
func (g *Generation) Walk(f func(id ledger.ID, entry ledger.EntryID, body []byte, follow int) error) (err error) {
	g.ordered.Ascend(func(r *run) bool {
		for i := range r.count {
			s := r.at(i)
			if err = f(r.id, s.entry, g.body(s), r.count-1-i); err != nil {
				return false
			}
		}
		return true
	})
	return err
}

// Pin keeps the memory until Unpin. Only somebody who holds a pin, or the owner's mutex while the owner does, may take
// another.
func (g *Generation) Pin() { g.pins.Add(1) }

// Unpin lets go. The last one gives the memory back; inUse says that others still hold pins.
func (g *Generation) Unpin() (inUse bool) {
	left := g.pins.Add(-1)
	invariant.Check(left >= 0, "a generation is let go once per pin")
	if left > 0 {
		return true
	}
	for _, chunk := range g.chunks {
		g.memory.Put(chunk)
	}
	g.chunks = nil
	return false
}
