package disk

import "slices"

// sync brings data and size to the media, through a device that may lie (nil: one that does not). It returns the pages
// that landed in other files.
func (c *content) sync(device func(page int64) Landing) []abroad {
	var away []abroad
	c.commitTruncate()
	if device == nil {
		for _, i := range c.dirty {
			c.writeBack(i, c.at(i))
		}
	} else {
		away = c.writeThrough(device)
	}
	c.dirty = c.dirty[:0]
	c.mediaSize, c.cutAt = c.size, c.size
	return away
}

// abroad is a page that landed in another file.
type abroad struct {
	bytes page
	Landing
}

// writeBack makes the cached page the media's.
func (c *content) writeBack(i int64, s *slot) {
	c.pool.put(s.media)
	s.media = s.cache
	if s.cache == &zeroPage {
		s.media = nil
	}
	s.cache = nil
	c.clean(s)
	if len(c.flaws) > 0 {
		c.heal(i*PageSize, (i+1)*PageSize)
	}
}

// writeThrough asks the device about each page, but for those whose bytes are on the media already: to lose them would
// damage nothing. Pages that go astray land after all others, so that the damage they do
// is not repaired by the very sync that did it.
func (c *content) writeThrough(device func(page int64) Landing) []abroad {
	slices.Sort(c.dirty)
	type stray struct{ from, to int64 }
	var strays []stray
	var away []abroad
	for _, i := range c.dirty {
		if c.written(i) {
			c.writeBack(i, c.at(i))
			continue
		}
		landing := device(i)
		switch {
		case !landing.Lost && landing.Path != "":
			away = append(away, abroad{*c.at(i).view(), landing})
		case !landing.Lost && landing.Page == i:
			c.writeBack(i, c.at(i))
			continue
		case !landing.Lost && landing.Page >= 0 && landing.Page < pagesOf(c.size):
			strays = append(strays, stray{i, landing.Page})
		}
		c.lose(i, c.at(i))
	}
	for _, s := range strays {
		c.land(s.from, s.to)
	}
	// Only now may readers lose the cached pages: one that landed astray can be the target of another.
	for _, s := range strays {
		c.evictClean(s.to, s.to)
	}
	return away
}

// written reports whether the media has a page as readers see it.
func (c *content) written(i int64) bool {
	s := c.at(i)
	if c.flawed(i*PageSize, (i+1)*PageSize) || s.cut {
		return false
	}
	media := s.media
	if media == nil {
		media = &zeroPage
	}
	return (i+1)*PageSize <= c.mediaSize && *media == *s.view()
}

// lose makes a dirty page clean without writing it. Readers see the cached content until it is evicted.
func (c *content) lose(i int64, s *slot) {
	var lost []flaw
	for sector := range int64(sectorsPerPage) {
		if s.dirty>>sector&1 == 1 {
			lost = append(lost, flaw{offset: i*PageSize + sector*SectorSize, kind: lostSector, covered: true})
		}
	}
	c.addFlaws(lost)
	c.clean(s)
}

// land puts the cached content of a page on the media of another one, on top of what was there.
func (c *content) land(from, to int64) { c.overlay(to, c.at(from).view(), c.size) }

// landAbroad puts a page of another file on the media of a page, where readers see it unless something newer lies over it.
func (c *content) landAbroad(to int64, bytes *page) {
	c.overlay(to, bytes, c.mediaSize)
	c.evictClean(to, to)
}

// overlay damages a page of a file whose media is, or is about to be, of this size.
func (c *content) overlay(to int64, bytes *page, size int64) {
	target := c.make(to)
	if target.media == nil {
		target.media = c.pool.get()
		target.cut = to >= pagesOf(c.cutAt) && c.cutAt < c.mediaSize
	}
	*target.media = *bytes
	// What the file does not reach stays zero, or a file that grows would show it.
	if tail := size - to*PageSize; tail < PageSize {
		clear(target.media[tail:])
	}
	c.dropFlaws(to*PageSize, (to+1)*PageSize)
	var damaged []flaw
	for sector := range int64(sectorsPerPage) {
		at := to*PageSize + sector*SectorSize
		damaged = append(damaged, flaw{offset: at, kind: straySector, covered: target.cache != nil && !target.cut})
	}
	c.addFlaws(damaged)
}

// failSync marks the dirty pages clean without writing them, and leaves the size for the next sync.
func (c *content) failSync() {
	slices.Sort(c.dirty)
	for _, i := range c.dirty {
		c.lose(i, c.at(i))
	}
	c.dirty = c.dirty[:0]
}

// commitTruncate makes an unsynced truncate durable.
func (c *content) commitTruncate() {
	if c.cutAt < c.mediaSize {
		c.cutMedia(c.cutAt)
	}
}

// cutMedia truncates the media. The page that is cut through loses its tail there too, since readers of a longer file
// must never see bytes from before.
func (c *content) cutMedia(size int64) {
	c.mediaSize, c.cutAt = size, size
	if s := c.at(size / PageSize); s != nil && s.media != nil {
		clear(s.media[size%PageSize:])
	}
	c.each(pagesOf(size), func(_ int64, s *slot) {
		c.pool.put(s.media)
		s.media, s.cut = nil, false
	})
	c.dropFlawsBehind(size)
}
