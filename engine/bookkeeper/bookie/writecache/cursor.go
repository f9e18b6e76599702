package writecache

import "lakebed/engine/bookkeeper/ledger"

// Cursor goes through the entries that a generation holds of one ledger, ascending. Inserts move entries about, so it
// is good only under the mutex under which it was made; the bytes that it returns live as long as a pin.
type Cursor struct {
	generation *Generation
	run        *run // nil: nothing is left
	place      int
}

// From makes a cursor that stands before the first entry which is not below this one. Of a nil generation it is empty.
func (g *Generation) From(id ledger.ID, first ledger.EntryID) Cursor {
	if g == nil {
		return Cursor{}
	}
	r := g.byID[id]
	if r == nil {
		return Cursor{}
	}
	place, _ := r.search(first)
	return Cursor{generation: g, run: r, place: place}
}

func (c *Cursor) over() bool { return c.run == nil || c.place == c.run.count }

// Take returns an entry's bytes if it is here. Whoever takes asks for ascending entries; those left out are passed.
func (c *Cursor) Take(entry ledger.EntryID) ([]byte, bool) {
	for !c.over() && c.run.at(c.place).entry < entry {
		c.place++
	}
	if c.over() || c.run.at(c.place).entry != entry {
		return nil, false
	}
	body := c.generation.body(c.run.at(c.place))
	c.place++
	return body, true
}

// Next is the first entry that is left, and beyond if none is.
func (c *Cursor) Next(beyond ledger.EntryID) ledger.EntryID {
	if c.over() {
		return beyond
	}
	return c.run.at(c.place).entry
}
