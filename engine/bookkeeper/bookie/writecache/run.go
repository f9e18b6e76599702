package writecache

import (
	"sort"

	"lakebed/engine/bookkeeper/ledger"
)

// slot is one entry of a run: its id, and where its bytes are. It has no pointer, so that the collector passes by a cache
// of millions of entries.
type slot struct {
	entry  ledger.EntryID
	chunk  uint32
	offset uint32
	length uint32
}

// pageSlots is how many slots lie together.
const pageSlots = 512

// What the index takes besides the bodies. With short entries it is a good part of a generation: 24 bytes an entry.
const (
	slotBytes = 24  // of a slot, as it lies in a page
	pageBytes = 48  // of a page's place in its run, which grows by doubling
	runBytes  = 112 // of a ledger: the run, its place in map and tree
)

// run is what a generation holds of one ledger, ascending by entry. The slots are in pages that are full but for the last,
// since one slice would be copied whenever it grows: that took 7 % of all that an add costs. The first page
// grows as slices do, because most ledgers have few entries between two flushes.
type run struct {
	id    ledger.ID
	pages [][]slot
	count int
}

func (r *run) at(i int) *slot { return &r.pages[i/pageSlots][i%pageSlots] }

// push adds a slot behind the last, and returns by how many bytes the run has grown.
func (r *run) push(s slot) (grown int) {
	last := len(r.pages) - 1
	switch {
	case last < 0:
		r.pages = append(r.pages, []slot{s})
		grown = pageBytes + slotBytes
	case len(r.pages[last]) == pageSlots:
		page := make([]slot, 1, pageSlots)
		page[0] = s
		r.pages = append(r.pages, page)
		grown = pageBytes + pageSlots*slotBytes
	default:
		before := cap(r.pages[last])
		r.pages[last] = append(r.pages[last], s)
		grown = (cap(r.pages[last]) - before) * slotBytes
	}
	r.count++
	return grown
}

// insert puts a slot in front of the one at a place. Those behind move: entries that come late are seldom far behind.
func (r *run) insert(place int, s slot) (grown int) {
	grown = r.push(s)
	for i := r.count - 1; i > place; i-- {
		*r.at(i) = *r.at(i - 1)
	}
	*r.at(place) = s
	return grown
}

// search finds the place of the first entry that is not below this one, and whether it is this one.
func (r *run) search(entry ledger.EntryID) (place int, found bool) {
	place = sort.Search(r.count, func(i int) bool { return r.at(i).entry >= entry })
	return place, place < r.count && r.at(place).entry == entry
}

// last is the greatest entry, of a run that has one.
func (r *run) last() ledger.EntryID { return r.at(r.count - 1).entry }
