package disk

import (
	"bytes"
	"fmt"
	"testing"
)

const (
	onePage  = PageSize
	twoPages = 2 * PageSize
)

// The exact sets of states after small histories of one durable file "f".
func TestPagesAndSizesAfterCrashAreEveryLegalStateAndNoOther(t *testing.T) {
	old := filled('a', twoPages)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, f *File)
		want   []string
	}{
		{"nothing", func(*testing.T, *File) {}, []string{"a*8192"}},
		{"pages are independent", func(t *testing.T, f *File) { write(t, f, 0, filled('b', twoPages)) },
			[]string{"a*8192", "a*4096,b*4096", "b*4096,a*4096", "b*8192"}},
		{"of several versions the first may stay", func(t *testing.T, f *File) {
			write(t, f, 0, filled('b', 1))
			write(t, f, 1, filled('c', 1))
		}, []string{"a*8192", "b,a*8191", "b,c,a*8190"}},
		{"synced is synced", func(t *testing.T, f *File) {
			write(t, f, 0, filled('b', onePage))
			must(t, f.Sync())
			write(t, f, onePage, filled('c', onePage))
		}, []string{"b*4096,a*4096", "b*4096,c*4096"}},
		{"growth without the data, data without the growth", func(t *testing.T, f *File) {
			write(t, f, twoPages, filled('b', 2))
		}, []string{"a*8192", "a*8192,0", "a*8192,b", "a*8192,0*2", "a*8192,b*2"}},
		{"truncate may be undone", func(t *testing.T, f *File) { must(t, f.Truncate(onePage)) },
			[]string{"a*8192", "a*4096"}},
		{"an undone truncate undoes the pages written behind it", func(t *testing.T, f *File) {
			must(t, f.Truncate(onePage))
			write(t, f, onePage, []byte("bb"))
		}, []string{"a*8192", "a*4096", "a*4096,0", "a*4096,b", "a*4096,0*2", "a*4096,b*2"}},
		{"of several truncates the deepest counts", func(t *testing.T, f *File) {
			must(t, f.Truncate(0))
			must(t, f.Allocate(0, twoPages))
			must(t, f.Truncate(onePage))
			must(t, f.Sync())
		}, []string{"0*4096"}},
		{"an undone truncate undoes what was written behind it", func(t *testing.T, f *File) {
			must(t, f.Truncate(1))
			write(t, f, 0, []byte("bc"))
		}, []string{
			"a*8192", "b,a*8191", // undone, with the page old or new
			"a", "b", "a,0", "b,c", // done
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := everyCrash(t, RandomPages, func(d *Disk) { c.change(t, durableFile(t, d, "f", old)) })
			for i := range got {
				got[i] = got[i][len("f="):]
			}
			wantStates(t, got, c.want...)
		})
	}
}

func TestTornPageIsPerSectorNewOldOrGarbageAndNeverTouchesACleanSector(t *testing.T) {
	kinds := map[string]bool{}
	for _, state := range everyCrash(t, Torn, func(d *Disk) {
		f := durableFile(t, d, "f", filled('a', onePage))
		write(t, f, SectorSize, filled('b', SectorSize))
	}) {
		kinds[state] = true
	}
	for _, want := range []string{
		"f=a*4096",               // dropped
		"f=a*512,b*512,a*3072",   // written
		"f=a*512,#*512,a*3072",   // garbage
		"f=a*512,#*511,b,a*3072", // garbage on the left
		"f=a*1023,b,a*3072",      // old on the left
		"f=a*512,b*511,#,a*3072", // garbage on the right
		"f=a*512,b*511,a*3073",   // old on the right
	} {
		if !kinds[want] {
			t.Errorf("no crash leaves %s", want)
		}
		delete(kinds, want)
	}
	if len(kinds) > 0 {
		t.Errorf("crashes also leave %v", kinds)
	}
}

func TestTornAppendHarmsSyncedNeighboursInItsSectorOnlyIfTheDeviceDoes(t *testing.T) {
	for _, spares := range []bool{false, true} {
		harmed := 0
		for seed := range uint64(200) {
			d := New(Config{Capacity: testCapacity, SparesSynced: spares})
			f := durableFile(t, d, "f", filled('a', 300))
			write(t, f, 300, filled('b', 300))
			d.Crash(Torn, random(seed))
			got := readAll(t, open(t, d.Root(), "f"))
			if !bytes.Equal(got[:300], filled('a', 300)) {
				harmed++
			}
		}
		if (harmed > 0) == spares {
			t.Errorf("SparesSynced %v: %d of 200 crashes harmed synced bytes", spares, harmed)
		}
	}
}

// byteHistory is all that a byte may be after a crash: its synced value, and every value written since.
type byteHistory struct {
	synced  []byte
	written []uint32       // by offset, a bit for each letter
	dirty   map[int64]bool // sectors
}

func newByteHistory(size int) *byteHistory {
	return &byteHistory{synced: make([]byte, size), written: make([]uint32, size), dirty: map[int64]bool{}}
}

func (h *byteHistory) write(off int64, p []byte) {
	for i, b := range p {
		at := off + int64(i)
		h.written[at] |= 1 << (b - 'a')
		h.dirty[at/SectorSize] = true
	}
}

func (h *byteHistory) sync(now []byte) {
	h.synced = now
	clear(h.written)
	clear(h.dirty)
}

func (h *byteHistory) check(t *testing.T, got []byte, torn bool) {
	t.Helper()
	if len(got) != len(h.synced) {
		t.Fatalf("the synced size %d became %d", len(h.synced), len(got))
	}
	for i, b := range got {
		if b == h.synced[i] || h.written[i]>>(b-'a')&1 == 1 || torn && h.dirty[int64(i)/SectorSize] {
			continue
		}
		t.Fatalf("byte %d is %#x: neither synced %#x nor ever written %#x", i, b, h.synced[i], h.written[i])
	}
}

// Random writes and syncs on a file of a fixed size, then a crash: in no mode may a byte be anything else than its
// history allows, and synced bytes without later writes are there.
func TestNoModeInventsOrLosesBytes(t *testing.T) {
	const size = 5 * PageSize
	for mode := Keep; mode <= Mixed; mode++ {
		for seed := range uint64(200) {
			rng := random(seed)
			d := New(Config{Capacity: testCapacity})
			f := durableFile(t, d, "f", make([]byte, size))
			history := newByteHistory(size)
			for step := range 12 + rng.IntN(12) {
				if rng.IntN(6) == 0 {
					must(t, f.Sync())
					history.sync(readAll(t, f))
					continue
				}
				off := rng.Int64N(size)
				p := filled(byte('a'+step), int(min(1+rng.Int64N(3000), size-off)))
				write(t, f, off, p)
				history.write(off, p)
			}
			live := readAll(t, f)
			d.Crash(mode, rng)
			got := readAll(t, open(t, d.Root(), "f"))
			history.check(t, got, mode == Torn || mode == Mixed)
			if mode == Keep && !bytes.Equal(got, live) || mode == Drop && !bytes.Equal(got, history.synced) {
				t.Fatalf("mode %v seed %d: not the state it promises", mode, seed)
			}
		}
	}
}

func TestUnsyncedStateSurvivesInSomeCrashesAndNotInOthers(t *testing.T) {
	for _, mode := range []Survival{RandomPages, Torn, Mixed} {
		var kept, lost, torn, older, undone, sizes int
		for seed := range uint64(200) {
			d := New(Config{Capacity: testCapacity})
			f := durableFile(t, d, "f", filled('a', twoPages))
			g := durableFile(t, d, "g", filled('a', twoPages))
			write(t, f, 0, filled('b', 3*PageSize))
			write(t, f, 0, filled('c', 100))
			must(t, g.Truncate(10))
			r := d.Crash(mode, random(seed))
			kept, lost, torn = kept+r.PagesKept, lost+r.PagesLost, torn+r.PagesTorn
			older, undone, sizes = older+r.PagesOlder, undone+r.TruncatesUndone, sizes+r.SizesLost
		}
		for name, n := range map[string]int{"kept": kept, "lost": lost, "older": older, "undone": undone, "sizes": sizes} {
			if n < 20 {
				t.Errorf("%v: %s only %d times in 200 crashes", mode, name, n)
			}
		}
		if (torn > 20) != (mode != RandomPages) {
			t.Errorf("%v: %d torn pages in 200 crashes", mode, torn)
		}
	}
}

func TestPagesOfOneFileFareIndependently(t *testing.T) {
	var counts [9]int
	for seed := range uint64(200) {
		d := New(Config{Capacity: testCapacity})
		write(t, durableFile(t, d, "f", make([]byte, 8*PageSize)), 0, filled('b', 8*PageSize))
		counts[d.Crash(RandomPages, random(seed)).PagesKept]++
	}
	if counts[0]+counts[8] > 20 || counts[3]+counts[4]+counts[5] < 100 {
		t.Errorf("of 8 pages, 0 to 8 survive in %v of 200 crashes", counts)
	}
}

func TestImageHashTellsASecondNameFromACopy(t *testing.T) {
	copied, linked := New(Config{Capacity: testCapacity}), New(Config{Capacity: testCapacity})
	for _, d := range []*Disk{copied, linked} {
		durableFile(t, d, "a", []byte("x"))
	}
	durableFile(t, copied, "b", []byte("x"))
	must(t, linked.Root().Rename("a", "b"))
	linked.crash(RandomPages, &odometer{digits: []int64{0, 1}, limits: []int64{2, 2}})
	if describe(t, copied.Root()) != describe(t, linked.Root()) {
		t.Fatal("the two disks should look alike")
	}
	if copied.ImageHash() == linked.ImageHash() {
		t.Error("the two disks hash alike")
	}
}

func TestSameSeedSameImageAndOtherSeedsDiffer(t *testing.T) {
	image := func(seed uint64) uint64 {
		d := New(Config{Capacity: testCapacity})
		for i := range 20 {
			f := create(t, sub(t, d.Root(), fmt.Sprint("d", i%3)), fmt.Sprint("f", i))
			write(t, f, int64(i)*1000, filled(byte('a'+i), 9000))
		}
		must(t, d.Root().SyncDir())
		d.Crash(Torn, random(seed))
		return d.ImageHash()
	}
	images := map[uint64]bool{}
	for seed := range uint64(20) {
		first := image(seed)
		if again := image(seed); again != first {
			t.Fatalf("seed %d gave the images %x and %x", seed, first, again)
		}
		images[first] = true
	}
	if len(images) < 20 {
		t.Errorf("20 seeds gave only %d images", len(images))
	}
}

// A shrinker takes single operations out of a history and must see the same crash otherwise.
func TestADecisionDependsOnNothingButItsOwnSubject(t *testing.T) {
	pages := func(seed uint64, without int64) []byte {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", filled('a', 8*PageSize))
		for i := range int64(8) {
			if i != without {
				write(t, f, i*PageSize, filled('b', PageSize))
			}
		}
		if without < 0 {
			write(t, create(t, d.Root(), "another"), 0, filled('c', 100))
		}
		d.Crash(Torn, random(seed))
		return readAll(t, open(t, d.Root(), "f"))
	}
	for seed := range uint64(50) {
		all := pages(seed, -1)
		for without := range int64(8) {
			got := pages(seed, without)
			from, to := without*PageSize, (without+1)*PageSize
			if !bytes.Equal(all[:from], got[:from]) || !bytes.Equal(all[to:], got[to:]) {
				t.Fatalf("seed %d: taking the write of page %d away changed the fate of another", seed, without)
			}
		}
	}
}

func TestImageHashSeesWhatIsDurableAndOnlyThat(t *testing.T) {
	build := func(change func(d *Disk, f *File)) uint64 {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", filled('a', 100))
		change(d, f)
		return d.ImageHash()
	}
	base := build(func(*Disk, *File) {})
	same := map[string]func(d *Disk, f *File){
		"an unsynced write": func(_ *Disk, f *File) { write(t, f, 0, []byte("z")) },
		"an unsynced name":  func(d *Disk, _ *File) { create(t, d.Root(), "g") },
		"an undone change": func(_ *Disk, f *File) {
			write(t, f, 0, []byte("z"))
			write(t, f, 0, []byte("a"))
			must(t, f.Sync())
		},
	}
	for name, change := range same {
		if build(change) != base {
			t.Errorf("%s changed the hash", name)
		}
	}
	seen := map[uint64]string{base: "nothing"}
	for name, change := range map[string]func(d *Disk, f *File){
		"a byte": func(_ *Disk, f *File) { write(t, f, 0, []byte("z")); must(t, f.Sync()) },
		"a size": func(_ *Disk, f *File) { must(t, f.Allocate(0, 101)); must(t, f.Sync()) },
		"a name": func(d *Disk, _ *File) { must(t, d.Root().Rename("f", "g")); must(t, d.Root().SyncDir()) },
		"rot":    func(d *Disk, _ *File) { must(t, d.Rot("f", 1, 1)) },
		"latent": func(d *Disk, _ *File) { must(t, d.Latent("f", 1, 1)) },
		"a dir":  func(d *Disk, _ *File) { sub(t, d.Root(), "g"); must(t, d.Root().SyncDir()) },
	} {
		h := build(change)
		if other, taken := seen[h]; taken {
			t.Errorf("%s hashes like %s", name, other)
		}
		seen[h] = name
	}
}

func TestZerosHashLikeHolesAndCostNoPages(t *testing.T) {
	hole, zeros := New(Config{Capacity: testCapacity}), New(Config{Capacity: testCapacity})
	f := create(t, hole.Root(), "f")
	must(t, f.Allocate(0, 10*PageSize))
	g := create(t, zeros.Root(), "f")
	write(t, g, 0, make([]byte, 10*PageSize))
	for _, d := range []*Disk{hole, zeros} {
		must(t, d.Root().SyncDir())
	}
	must(t, f.Sync())
	must(t, g.Sync())
	if hole.ImageHash() != zeros.ImageHash() {
		t.Error("a file of zeros hashes unlike one of holes")
	}
	if len(zeros.pool.free) != 0 || zeros.files[0].content.at(0).media != nil {
		t.Error("zeros took a page")
	}
	if zeros.used != 10 {
		t.Errorf("10 pages of zeros are charged %d pages", zeros.used)
	}
}
