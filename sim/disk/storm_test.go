package disk

import (
	"errors"
	"math/rand/v2"
	"testing"

	"lakebed/engine/host"
)

// storm does anything to a small disk, with every fault there is.
type storm struct {
	t     *testing.T
	rng   *rand.Rand
	disk  *Disk
	files []*File
}

// expect accepts the errors that a full disk, unreadable sectors and names in the way explain.
func (s *storm) expect(err error) {
	for _, class := range []error{nil, host.ErrNoSpace, host.ErrIO, host.ErrExist, host.ErrNotExist} {
		if errors.Is(err, class) {
			return
		}
	}
	s.t.Fatalf("unexpected error: %v", err)
}

func (s *storm) dir() *Dir {
	r := s.disk.Root()
	if s.rng.IntN(2) == 0 {
		if d, err := r.Sub(s.name()); err == nil {
			return d
		}
	}
	return r
}

func (s *storm) name() string { return string(rune('a' + s.rng.IntN(4))) }

func (s *storm) step() {
	switch kind := s.rng.IntN(20); {
	case kind < 4:
		f, err := s.dir().Create(s.name())
		if s.expect(err); err == nil {
			s.files = append(s.files, f)
		}
	case kind == 4:
		s.expect(s.dir().Remove(s.name()))
	case kind < 7:
		s.expect(s.dir().Rename(s.name(), s.name()))
	case kind == 7:
		must(s.t, s.dir().SyncDir())
	case kind == 8:
		s.damage()
	case kind == 9:
		s.disk.DropCaches()
	case len(s.files) > 0:
		s.useFile(s.files[s.rng.IntN(len(s.files))])
	}
}

func (s *storm) useFile(f *File) {
	off := s.rng.Int64N(4 * PageSize)
	switch kind := s.rng.IntN(12); {
	case kind < 6:
		p := filled(byte('a'+s.rng.IntN(26)), s.rng.IntN(2*PageSize))
		if s.rng.IntN(4) == 0 {
			clear(p)
		}
		_, err := f.WriteBuffersAt([][]byte{p}, off)
		s.expect(err)
	case kind < 8:
		s.expect(f.Truncate(off))
	case kind == 8:
		must(s.t, f.Sync())
	case kind == 9:
		f.FailSync()
	case kind == 10:
		must(s.t, f.SyncThrough(func(page int64) Landing {
			landing := Landing{Lost: s.rng.IntN(3) == 0, Page: page - s.rng.Int64N(2)}
			if paths := s.disk.Paths(); len(paths) > 0 && s.rng.IntN(3) == 0 {
				landing.Path = paths[s.rng.IntN(len(paths))].Path
			}
			return landing
		}))
	default:
		size, err := f.Size()
		must(s.t, err)
		_, err = f.ReadAt(make([]byte, size), 0)
		s.expect(err)
	}
}

func (s *storm) damage() {
	paths := s.disk.Paths()
	if len(paths) == 0 {
		return
	}
	at := paths[s.rng.IntN(len(paths))]
	if at.Size == 0 {
		return
	}
	if s.rng.IntN(2) == 0 {
		must(s.t, s.disk.RotWorn(at.Path, s.rng.Int64N(at.Size), uint(s.rng.IntN(8)), s.rng.Int64N(3)))
	} else {
		must(s.t, s.disk.Latent(at.Path, 0, 1+s.rng.Int64N(at.Size)))
	}
}

// checkTails looks for bytes behind the end of a file, which would show when it grows.
func (s *storm) checkTails() {
	for _, n := range s.disk.files {
		c := n.content
		c.each(0, func(i int64, sl *slot) {
			for _, end := range []struct {
				size int64
				page *page
			}{{c.size, sl.view()}, {c.mediaSize, sl.media}} {
				from := min(max(end.size-i*PageSize, 0), PageSize)
				if end.page != nil && !isZero(end.page[from:]) {
					s.t.Fatalf("page %d holds bytes behind the size %d", i, end.size)
				}
			}
		})
	}
}

func (s *storm) run() (images []uint64) {
	for range 8 {
		for range 60 {
			s.step()
			checkBooks(s.t, s.disk)
			s.checkTails()
		}
		s.disk.Crash(Survival(s.rng.IntN(5)), s.rng)
		s.files = nil
		checkBooks(s.t, s.disk)
		s.checkTails()
		images = append(images, s.disk.ImageHash())
		s.disk.DropCaches()
		if s.disk.ImageHash() != images[len(images)-1] {
			s.t.Fatal("after a crash the cache differs from the media")
		}
	}
	return images
}

// No page is lost or shared, no byte hides behind an end, the volume never holds more than it can, and all of it is a
// function of the seed.
func TestTheBooksBalanceThroughEveryFaultAndCrash(t *testing.T) {
	for seed := range uint64(30) {
		var first []uint64
		for range 2 {
			s := &storm{t: t, rng: random(seed), disk: New(Config{Capacity: 24 * PageSize})}
			images := s.run()
			if first == nil {
				first = images
			}
			for i := range images {
				if images[i] != first[i] {
					t.Fatalf("seed %d: crash %d left another image the second time", seed, i)
				}
			}
		}
	}
}
