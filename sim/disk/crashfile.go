package disk

import (
	"slices"

	"lakebed/internal/invariant"
)

// file settles what the media holds of a file. The size comes before the pages: what lies behind it is lost with it.
func (c *crash) file(f *content, path string) {
	mode := c.mode
	if mode == Mixed {
		c.choose.at(path, drawMode)
		mode = RandomPages + Survival(c.choose.pick(2))
	}
	size, reach := c.size(f, path, mode)
	slices.Sort(f.dirty)
	for _, i := range f.dirty {
		s := f.at(i)
		if i >= pagesOf(reach) || s.dirty == 0 || mode == Drop {
			c.report.PagesLost++
			continue
		}
		c.choose.at(path, i)
		c.page(f, i, s, mode)
	}
	if size < f.size {
		c.report.SizesLost++
	}
	f.forget()
	f.cutMedia(size)
	f.size = size
}

// size decides the size that survives, and how far writes may survive: an undone truncate takes with it all that was
// written behind its cut.
func (c *crash) size(f *content, path string, mode Survival) (size, reach int64) {
	if mode == Drop {
		if f.cutAt < f.mediaSize {
			c.report.TruncatesUndone++
		}
		return f.mediaSize, f.mediaSize
	}
	c.choose.at(path, drawSize)
	if f.cutAt < f.mediaSize {
		if mode != Keep && c.choose.pick(2) == 0 {
			c.report.TruncatesUndone++
			f.undoCut()
			return f.mediaSize, f.cutAt
		}
		f.commitTruncate()
	}
	size = f.size
	if grown := f.size - f.mediaSize; grown > 0 && mode != Keep {
		switch c.choose.pick(3) {
		case 0:
			size = f.mediaSize
		case 1:
			size = f.mediaSize + c.choose.pick(grown)
		}
	}
	return size, size
}

// undoCut takes back what an undone truncate and the writes after it did to the page that it cuts through.
func (c *content) undoCut() {
	i, from := c.cutAt/PageSize, int(c.cutAt%PageSize)
	s := c.at(i)
	if from == 0 || s == nil || s.dirty == 0 {
		return
	}
	durable := &zeroPage
	if s.media != nil {
		durable = s.media
	}
	copy(c.own(s, false)[from:], durable[from:])
	c.pool.put(s.older)
	s.older = nil
	s.dirty &= sectorMask(0, from)
	c.uncover(c.cutAt, (i+1)*PageSize)
}

// page decides what the media holds of a dirty page.
func (c *crash) page(f *content, i int64, s *slot, mode Survival) {
	if mode == Keep {
		c.report.PagesKept++
		f.writeBack(i, s)
		return
	}
	fates := int64(2) // new or old, and torn under Torn
	if mode == Torn {
		fates = 3
	}
	switch c.choose.pick(fates) {
	case 0:
		if s.older != nil && c.choose.pick(2) == 0 {
			s.older, s.cache = s.cache, s.older
			c.report.PagesOlder++
		} else {
			c.report.PagesKept++
		}
		f.writeBack(i, s)
	case 1:
		c.report.PagesLost++
	case 2:
		c.report.PagesTorn++
		c.tear(f, i, s)
	}
}

// tear decides sector by sector: a quarter arrived, a quarter did not, and half are damaged.
func (c *crash) tear(f *content, i int64, s *slot) {
	invariant.Check(s.dirty != 0, "only what was being written can tear")
	if s.media == nil {
		s.media = f.pool.get()
		*s.media = zeroPage
	}
	for sector := range sectorsPerPage {
		if s.dirty>>sector&1 == 0 {
			continue
		}
		from, to := sector*SectorSize, (sector+1)*SectorSize
		switch c.choose.pick(4) {
		case 0:
			c.arrive(f, i, s, from, to)
		case 1:
		default:
			c.damage(f, i, s, from, to)
		}
	}
}

// arrive writes a range of the cached page to the media.
func (c *crash) arrive(f *content, i int64, s *slot, from, to int) {
	copy(s.media[from:to], s.cache[from:to])
	f.heal(i*PageSize+int64(from), i*PageSize+int64(to))
}

// damage spoils a sector: all of it is garbage, or one end of it is garbage or old while the other arrived.
func (c *crash) damage(f *content, i int64, s *slot, from, to int) {
	middle := from + int(c.choose.pick(SectorSize))
	spoiltFrom, spoiltTo := from, to
	switch c.choose.pick(3) {
	case 0:
		c.arrive(f, i, s, middle, to)
		spoiltTo = middle
	case 1:
		c.arrive(f, i, s, from, middle)
		spoiltFrom = middle
	default:
		c.garble(f, i, s, from, to)
		return
	}
	if c.choose.pick(2) == 0 {
		c.garble(f, i, s, spoiltFrom, spoiltTo)
	}
}

func (c *crash) garble(f *content, i int64, s *slot, from, to int) {
	var garbage [SectorSize]byte
	c.choose.fill(garbage[:to-from])
	for k := from; k < to; k++ {
		if !c.disk.spares || s.media[k] != s.cache[k] {
			s.media[k] = garbage[k-from]
		}
	}
	f.heal(i*PageSize+int64(from), i*PageSize+int64(to))
}

// forget drops all that is cached: from here on only the media counts.
func (c *content) forget() {
	c.each(0, func(_ int64, s *slot) {
		c.discard(s)
		s.cut = false
	})
	c.dirty = c.dirty[:0]
	c.uncover(0, c.end())
}
