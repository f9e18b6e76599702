package memory

import (
	"slices"
	"sort"

	"lakebed/engine/bookkeeper/metadata"
)

// history keeps the last changes, so that a state from before them can be worked out backwards.
type history struct {
	changesMax int
	bytesMax   int64
	changes    []Change // ascending index
	bytes      int64    // of what they replaced
	lost       Index    // the newest index of which a change is gone
}

func (h *history) add(c Change) {
	h.changes = append(h.changes, c)
	h.bytes += c.Before.bytes()
	drop := 0
	for len(h.changes)-drop > h.changesMax || drop < len(h.changes) && h.bytes > h.bytesMax {
		h.bytes -= h.changes[drop].Before.bytes()
		h.lost = h.changes[drop].Index
		drop++
	}
	// The array is left behind when it is used up, which append does; until then dropped changes keep nothing alive.
	clear(h.changes[:drop])
	h.changes = h.changes[drop:]
}

// after returns the changes that came after the state at.
func (h *history) after(at Index) []Change {
	return h.changes[sort.Search(len(h.changes), func(i int) bool { return h.changes[i].Index > at }):]
}

// Oldest is the index of the oldest state that can be read.
func (t *Tree) Oldest() Index { return t.history.lost }

// GetAt returns the state of a key as it was at an index, or nil. Indexes outside Oldest and Index count as the nearest.
func (t *Tree) GetAt(key string, at Index) *Node {
	for _, c := range t.history.after(at) {
		if c.Key == key {
			return c.Before
		}
	}
	return t.Get(key)
}

// ListAt returns the names of the children of a key as they were at an index.
func (t *Tree) ListAt(key string, at Index) []string {
	names := t.List(key)
	changes := t.history.after(at)
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		if metadata.Parent(c.Key) != key || c.Before != nil && c.After != nil {
			continue
		}
		name := metadata.Name(c.Key)
		where, found := slices.BinarySearch(names, name)
		if c.Before == nil && found {
			names = slices.Delete(names, where, where+1)
		} else if c.Before != nil && !found {
			names = slices.Insert(names, where, name)
		}
	}
	return names
}
