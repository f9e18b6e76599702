package disk

import (
	"cmp"
	"slices"
	"sort"
)

// flawKind says in which way the media fails.
type flawKind uint8

const (
	rotBit flawKind = iota
	latentSector
	lostSector  // the latest write-back never arrived
	straySector // overwritten by a write that belonged elsewhere
)

// flaw is a place where the media does not hold what it should.
type flaw struct {
	offset  int64 // of the byte for rot, else of the sector
	kind    flawKind
	bit     uint8
	again   int64 // of rot: how often its place rots anew when it is rewritten
	covered bool  // newer bytes lie over it in the cache; writing them back heals it, losing them uncovers it
}

func (f flaw) end() int64 {
	if f.kind == rotBit {
		return f.offset + 1
	}
	return f.offset + SectorSize
}

func (f flaw) compare(g flaw) int {
	return cmp.Or(cmp.Compare(f.offset, g.offset), cmp.Compare(f.kind, g.kind), cmp.Compare(f.bit, g.bit))
}

// addFlaws merges new flaws in. A flaw that is there already is replaced.
func (c *content) addFlaws(added []flaw) {
	c.flaws = append(added, c.flaws...)
	slices.SortStableFunc(c.flaws, flaw.compare)
	c.flaws = slices.CompactFunc(c.flaws, func(f, g flaw) bool { return f.compare(g) == 0 })
}

// near returns the index of the first flaw that can touch a range from there on.
func (c *content) near(from int64) int {
	return sort.Search(len(c.flaws), func(k int) bool { return c.flaws[k].offset > from-SectorSize })
}

func (c *content) flawed(from, to int64) bool {
	for _, f := range c.flaws[c.near(from):] {
		if f.offset >= to {
			return false
		}
		if f.end() > from {
			return true
		}
	}
	return false
}

// seen reports whether readers meet the flaw: there is nothing over it.
func (c *content) seen(f flaw) bool {
	s := c.at(f.offset / PageSize)
	return !f.covered && (s == nil || !s.cut)
}

// meet counts the flaws that a read of a range meets, and returns the offset of the first byte it cannot read.
func (c *content) meet(from, to int64, met *Damage) int64 {
	for _, f := range c.flaws[c.near(from):] {
		if f.offset >= to {
			break
		}
		if f.end() <= from || !c.seen(f) {
			continue
		}
		switch f.kind {
		case rotBit:
			met.RotBits++
		case lostSector:
			met.LostSectors++
		case straySector:
			met.StraySectors++
		case latentSector:
			met.LatentSectors++
			return max(f.offset, from)
		}
	}
	return to
}

// overwrite covers the flaws that a write of a range lies over. False, and nothing changed: the range needs the rest of
// an unreadable sector.
func (c *content) overwrite(from, to int64, met *Damage) bool {
	flaws := c.flaws[c.near(from):]
	for _, f := range flaws {
		if f.offset < to && f.end() > from && !f.within(from, to) && f.kind == latentSector && c.seen(f) {
			met.LatentSectors++
			return false
		}
	}
	for k := range flaws {
		if flaws[k].within(from, to) && c.seen(flaws[k]) {
			flaws[k].covered = true
		}
	}
	return true
}

func (f flaw) within(from, to int64) bool { return f.offset >= from && f.end() <= to }

// heal removes the covered flaws in a range whose cover has reached the media. A worn place does not keep what it got.
func (c *content) heal(from, to int64) {
	var worn []flaw
	c.flaws = slices.DeleteFunc(c.flaws, func(f flaw) bool {
		over := f.covered && f.within(from, to)
		if over && f.again > 0 {
			worn = append(worn, f)
		}
		return over
	})
	for _, f := range worn {
		c.rotAgain(f)
	}
}

// rotAgain rots a worn place that was just rewritten. The bit is a matter of the place and of how often it was rewritten,
// so that nothing else that happens to the disk can change it.
func (c *content) rotAgain(old flaw) {
	if old.offset >= c.size {
		return // nobody may find it there when the file grows
	}
	f := flaw{offset: old.offset, kind: rotBit, again: old.again - 1}
	f.bit = uint8(mix(uint64(old.offset), uint64(f.again)<<3|uint64(old.bit)) % 8)
	s := c.make(f.offset / PageSize)
	if s.media == nil {
		s.media = c.pool.get()
		*s.media = zeroPage
	}
	s.media[f.offset%PageSize] ^= 1 << f.bit
	c.addFlaws([]flaw{f})
}

// uncover shows the flaws in a range again: what lay over them was not written.
func (c *content) uncover(from, to int64) {
	for k := c.near(from); k < len(c.flaws) && c.flaws[k].offset < to; k++ {
		if c.flaws[k].within(from, to) {
			c.flaws[k].covered = false
		}
	}
}

// dropFlaws forgets the flaws in a range that was rewritten on the media.
func (c *content) dropFlaws(from, to int64) {
	c.flaws = slices.DeleteFunc(c.flaws, func(f flaw) bool { return f.within(from, to) })
}

// dropFlawsBehind forgets the flaws behind a cut of the media. A write that was lost there after the cut is still
// missing, though its cache lives on.
func (c *content) dropFlawsBehind(size int64) {
	c.flaws = slices.DeleteFunc(c.flaws, func(f flaw) bool {
		return f.offset >= size && !(f.kind == lostSector && f.covered)
	})
}

// rot flips a bit of the media, and of what is written there later so many times again.
func (c *content) rot(offset int64, bit uint8, again int64) {
	f := flaw{offset: offset, kind: rotBit, bit: bit, again: again}
	if slices.ContainsFunc(c.flaws, func(g flaw) bool { return g.compare(f) == 0 }) {
		return
	}
	i := offset / PageSize
	s := c.make(i)
	if s.media == nil {
		s.media = c.pool.get()
		*s.media = zeroPage
		s.cut = i >= pagesOf(c.cutAt)
	}
	s.media[offset%PageSize] ^= 1 << bit
	c.evictClean(i, i)
	f.covered = s.cache != nil && !s.cut
	c.addFlaws([]flaw{f})
}

// latent makes the sectors of a range unreadable.
func (c *content) latent(from, to int64) {
	c.evictClean(from/PageSize, (to-1)/PageSize)
	var added []flaw
	for offset := from - from%SectorSize; offset < to; offset += SectorSize {
		s := c.at(offset / PageSize)
		covered := s != nil && s.cache != nil && !s.cut
		added = append(added, flaw{offset: offset, kind: latentSector, covered: covered})
	}
	c.addFlaws(added)
}
