package disk

import (
	"bytes"
	"sync"
)

// Sizes of the device. A sector is the most that can be written whole when the power goes.
const (
	SectorSize = 512
	PageSize   = 4096

	sectorsPerPage = PageSize / SectorSize
)

type page [PageSize]byte

// zeroPage stands for every cached page that is known to hold only zeros. It is never written, and never reaches the
// media, where no page at all means zeros.
var zeroPage page

func isZero(p []byte) bool { return bytes.Equal(p, zeroPage[:len(p)]) }

// slot is the place of one page in a file.
type slot struct {
	media    *page  // what a crash leaves; nil: zeros
	cache    *page  // what readers see instead; nil: the media
	older    *page  // an earlier unsynced version, which may have been written back on its own; nil: none kept
	versions uint16 // unsynced versions so far
	dirty    uint8  // sectors written since the last sync, a bit each; none: the page is clean
	cut      bool   // the media's content lies behind an unsynced truncate: readers see zeros instead
}

// view is what readers see.
func (s *slot) view() *page {
	switch {
	case s.cache != nil:
		return s.cache
	case s.media == nil || s.cut:
		return &zeroPage
	}
	return s.media
}

// sectorMask has a bit for each sector that the range from..to of a page touches.
func sectorMask(from, to int) uint8 {
	first, end := from/SectorSize, (to+SectorSize-1)/SectorSize
	return uint8(1<<end - 1<<first)
}

// Slots come in leaves, so that a hole of any size costs a pointer for each quarter of a megabyte.
const leafSlots = 64

type leaf [leafSlots]slot

// pool keeps the pages that a disk does not use.
type pool struct {
	free []*page
}

const (
	slabPages    = 16      // allocated at a time
	idlePagesMax = 1 << 14 // that a released disk leaves behind
)

// idle holds the pools of released disks for new ones: a campaign makes two disks every few milliseconds, and their pages
// were a quarter of all that it allocated. Nobody can tell a used page from a fresh one, since get promises nothing about
// its content.
var idle sync.Pool // of *pool

func newPool() *pool {
	if p, ok := idle.Get().(*pool); ok {
		return p
	}
	return new(pool)
}

// release leaves the pages to new disks.
func (p *pool) release() {
	if len(p.free) <= idlePagesMax {
		idle.Put(p)
	}
}

// get returns a page of arbitrary content.
func (p *pool) get() *page {
	if len(p.free) == 0 {
		slab := make([]page, slabPages)
		for i := range slab {
			p.free = append(p.free, &slab[i])
		}
	}
	last := len(p.free) - 1
	taken := p.free[last]
	p.free = p.free[:last]
	return taken
}

// put takes a page back. It accepts what stands for zeros, so that callers need not ask.
func (p *pool) put(unused *page) {
	if unused != nil && unused != &zeroPage {
		p.free = append(p.free, unused)
	}
}
