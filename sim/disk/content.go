package disk

import (
	"slices"

	"lakebed/internal/invariant"
)

// content is the bytes of a file: as readers see them and as the media holds them. Behind the end of either, its pages
// hold zeros, so that a file that grows shows none of its past.
type content struct {
	pool   *pool
	leaves []*leaf
	dirty  []int64 // the pages with unsynced writes, each once
	flaws  []flaw  // where the media fails, in order

	size      int64 // as readers see it
	mediaSize int64
	modified  int64 // when it was last written, as its users say
	cutAt     int64 // the smallest size since the last sync, if below mediaSize; else mediaSize
}

func newContent(p *pool) *content { return &content{pool: p} }

// free returns all pages. The content must not be used any more.
func (c *content) free() {
	c.each(0, func(_ int64, s *slot) {
		c.pool.put(s.media)
		c.pool.put(s.cache)
		c.pool.put(s.older)
	})
	*c = content{pool: c.pool}
}

// at returns the slot of a page, nil if there never was anything.
func (c *content) at(i int64) *slot {
	index := i / leafSlots
	if index >= int64(len(c.leaves)) || c.leaves[index] == nil {
		return nil
	}
	return &c.leaves[index][i%leafSlots]
}

func (c *content) make(i int64) *slot {
	index := i / leafSlots
	if index >= int64(len(c.leaves)) {
		c.leaves = append(c.leaves, make([]*leaf, index+1-int64(len(c.leaves)))...)
	}
	if c.leaves[index] == nil {
		c.leaves[index] = new(leaf)
	}
	return &c.leaves[index][i%leafSlots]
}

// each visits the slots from a page on, in order.
func (c *content) each(first int64, visit func(i int64, s *slot)) {
	for index := first / leafSlots; index < int64(len(c.leaves)); index++ {
		if c.leaves[index] == nil {
			continue
		}
		for j := range c.leaves[index] {
			if i := index*leafSlots + int64(j); i >= first {
				visit(i, &c.leaves[index][j])
			}
		}
	}
}

// readAt fills p, which must lie within the file.
func (c *content) readAt(p []byte, off int64) {
	for len(p) > 0 {
		i, from := off/PageSize, int(off%PageSize)
		count := min(len(p), PageSize-from)
		if s := c.at(i); s != nil {
			copy(p[:count], s.view()[from:])
		} else {
			clear(p[:count])
		}
		p, off = p[count:], off+int64(count)
	}
}

// write takes the first limit bytes of b, and returns how many it could: it stops where it would need the rest of an
// unreadable sector.
func (c *content) write(b [][]byte, off, limit int64, met *Damage) int64 {
	var done int64
	started := int64(-1) // the last page that this call began a new version of
	for _, p := range b {
		p = p[:min(int64(len(p)), limit-done)]
		for len(p) > 0 {
			i, from := (off+done)/PageSize, int((off+done)%PageSize)
			chunk := p[:min(len(p), PageSize-from)]
			if len(c.flaws) > 0 && !c.overwrite(off+done, off+done+int64(len(chunk)), met) {
				return done
			}
			s := c.make(i)
			if i != started {
				c.begin(i, s)
				started = i
			}
			c.put(s, from, chunk)
			p, done = p[len(chunk):], done+int64(len(chunk))
			c.size = max(c.size, off+done)
		}
	}
	return done
}

// begin starts a new version of a page. Keeping every unsynced version would cost a copy for each write, so the first
// is kept and then each whose number is a power of two: any of them could be what the kernel happened to write back.
func (c *content) begin(i int64, s *slot) {
	if s.dirty == 0 {
		c.dirty = append(c.dirty, i)
		s.versions = 1
		return
	}
	// On a flawed page an older version may lack the bytes that cover the flaw; it is not worth the book-keeping.
	if s.versions&(s.versions-1) == 0 && !c.flawed(i*PageSize, (i+1)*PageSize) {
		c.keepOlder(s)
	}
	if s.versions < 1<<15 {
		s.versions++
	}
}

func (c *content) keepOlder(s *slot) {
	c.pool.put(s.older)
	s.older = s.cache
	if s.cache != &zeroPage {
		s.older = c.pool.get()
		*s.older = *s.cache
	}
}

// put copies a chunk into the cached page and marks its sectors.
func (c *content) put(s *slot, from int, chunk []byte) {
	whole := len(chunk) == PageSize
	if (whole || s.view() == &zeroPage) && isZero(chunk) {
		c.pool.put(s.cache)
		s.cache = &zeroPage
	} else {
		copy(c.own(s, whole)[from:], chunk)
	}
	s.dirty |= sectorMask(from, from+len(chunk))
}

// own returns the cached page for writing. Its content is arbitrary if the caller says it overwrites the whole.
func (c *content) own(s *slot, whole bool) *page {
	if s.cache != nil && s.cache != &zeroPage {
		return s.cache
	}
	p := c.pool.get()
	if !whole {
		*p = *s.view()
	}
	s.cache = p
	return p
}

// truncate cuts the file as readers see it. False: it would need the rest of an unreadable sector.
func (c *content) truncate(size int64, met *Damage) bool {
	invariant.Check(size < c.size, "a truncate shrinks")
	i, from := size/PageSize, size%PageSize
	if s := c.at(i); s != nil && from > 0 && s.view() != &zeroPage {
		tail := min(PageSize-from, c.size-size)
		if len(c.flaws) > 0 && !c.overwrite(size, size+tail, met) {
			return false
		}
		c.begin(i, s)
		c.put(s, int(from), zeroPage[:tail])
	}
	c.cutAt = min(c.cutAt, size)
	c.size = size
	c.cutSlots(pagesOf(size))
	return true
}

// cutSlots hides all from a page on.
func (c *content) cutSlots(first int64) {
	c.each(first, func(_ int64, s *slot) {
		c.discard(s)
		s.cut = s.media != nil
	})
	c.dirty = slices.DeleteFunc(c.dirty, func(i int64) bool { return i >= first })
	c.uncover(first*PageSize, c.end())
}

// discard forgets what is cached of a page, dirty or not.
func (c *content) discard(s *slot) {
	c.pool.put(s.cache)
	c.clean(s)
	s.cache = nil
}

// clean ends the unsynced versions of a page; what is cached stays.
func (c *content) clean(s *slot) {
	c.pool.put(s.older)
	s.older, s.versions, s.dirty = nil, 0, 0
}

// end is an offset behind all that was ever there.
func (c *content) end() int64 { return int64(len(c.leaves)) * leafSlots * PageSize }

// evictClean drops clean cached pages in a range of pages, so that readers see the media.
func (c *content) evictClean(first, last int64) {
	c.each(first, func(i int64, s *slot) {
		if i > last || s.cache == nil || s.dirty != 0 || c.pinned(i) {
			return
		}
		c.discard(s)
		c.uncover(i*PageSize, (i+1)*PageSize)
	})
}

// pinned reports whether the cached page must stay although it is clean: the media still has bytes behind an unsynced
// truncate that cuts through this page, and readers must not see them again.
func (c *content) pinned(i int64) bool {
	return c.cutAt < c.mediaSize && c.cutAt%PageSize != 0 && i == c.cutAt/PageSize
}
