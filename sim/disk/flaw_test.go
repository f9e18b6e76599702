package disk

import (
	"testing"

	"lakebed/engine/host"
)

// look reads a range and says what came, what damage it met, and whether it failed.
func look(t *testing.T, f *File, off int64, n int) (string, Damage, error) {
	t.Helper()
	p := make([]byte, n)
	count, err := f.ReadAt(p, off)
	return runs(p[:count]), f.LastDamage(), err
}

func wantLook(t *testing.T, f *File, off int64, n int, want string, damage Damage) {
	t.Helper()
	got, met, err := look(t, f, off, n)
	if got != want || met != damage || (err != nil) != (damage.LatentSectors > 0) {
		t.Fatalf("read of %d at %d gives %s with %+v and error %v, want %s with %+v", n, off, got, met, err, want, damage)
	}
	if err != nil {
		mustBe(t, err, host.ErrIO)
	}
}

func TestAfterAFailedSyncALaterSyncWritesNothingOfIt(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	write(t, f, 0, filled('b', 2*PageSize))
	if f.DirtyPages() != 2 {
		t.Fatalf("%d pages are dirty, want 2", f.DirtyPages())
	}
	f.FailSync()
	if f.DirtyPages() != 0 {
		t.Fatalf("%d pages are dirty after a failed sync", f.DirtyPages())
	}
	wantLook(t, f, 0, twoPages, "b*8192", Damage{})
	must(t, f.Sync())
	wantLook(t, f, 0, twoPages, "b*8192", Damage{})
	if paths := d.Paths(); paths[0].Size != twoPages {
		t.Errorf("the later sync made the size %d durable, want %d", paths[0].Size, twoPages)
	}
	d.DropCaches()
	wantLook(t, f, 0, twoPages, "a*4096,0*4096", Damage{LostSectors: 16})
}

func TestAFailedSyncIsLostInACrashOfEveryMode(t *testing.T) {
	for mode := Keep; mode <= Mixed; mode++ {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", filled('a', onePage))
		write(t, f, SectorSize, filled('b', SectorSize))
		f.FailSync()
		d.Crash(mode, random(1))
		wantLook(t, open(t, d.Root(), "f"), 0, onePage, "a*4096", Damage{LostSectors: 1})
	}
}

func TestAWriteAfterAFailedSyncBringsTheWholePageBack(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', twoPages))
	write(t, f, 0, filled('b', twoPages))
	f.FailSync()
	write(t, f, 10, []byte("c"))
	must(t, f.Sync())
	d.DropCaches()
	wantLook(t, f, 0, onePage, "b*10,c,b*4085", Damage{})
	wantLook(t, f, onePage, onePage, "a*4096", Damage{LostSectors: 8})
}

// A kernel that lets readers see bytes from behind a truncate would have a hole in its security.
func TestEvictionAfterAFailedSyncNeverShowsBytesBehindATruncate(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', twoPages))
	must(t, f.Truncate(100))
	f.FailSync()
	must(t, f.Allocate(0, twoPages))
	d.DropCaches()
	wantLook(t, f, 0, twoPages, "a*100,0*8092", Damage{})
	must(t, f.Sync())
	d.DropCaches()
	wantLook(t, f, 0, twoPages, "a*100,0*8092", Damage{LostSectors: 8}) // the zeros came by the truncate alone
}

func TestRotIsStickyUntilItsByteIsRewrittenOnTheMedia(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	rotten := Damage{RotBits: 1}
	must(t, d.Rot("f", 1, 1)) // a becomes c
	must(t, d.Rot("f", 1, 1)) // no further
	wantLook(t, f, 0, 4, "a,c,a*2", rotten)
	wantLook(t, f, 2, 4, "a*4", Damage{})

	write(t, f, 2, []byte("x")) // carries the rotten byte along
	must(t, f.Sync())
	wantLook(t, f, 0, 4, "a,c,x,a", rotten)

	write(t, f, 1, []byte("y"))
	wantLook(t, f, 0, 4, "a,y,x,a", Damage{})
	d.Crash(Drop, nil)
	f = open(t, d.Root(), "f")
	wantLook(t, f, 0, 4, "a,c,x,a", rotten)

	write(t, f, 1, []byte("y"))
	must(t, f.Sync())
	d.Crash(Drop, nil)
	wantLook(t, open(t, d.Root(), "f"), 0, 4, "a,y,x,a", Damage{})
}

func TestRotUnderADirtyPageIsSeenOnlyIfThePageIsLost(t *testing.T) {
	for _, mode := range []Survival{Keep, Drop} {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", filled('a', onePage))
		write(t, f, 100, []byte("b"))
		must(t, d.Rot("f", 1, 1))
		wantLook(t, f, 0, 2, "a*2", Damage{})
		d.Crash(mode, nil)
		f = open(t, d.Root(), "f")
		if mode == Keep {
			wantLook(t, f, 0, 2, "a*2", Damage{})
		} else {
			wantLook(t, f, 0, 2, "a,c", Damage{RotBits: 1})
		}
	}
}

func TestRotEvictsACleanPageFirst(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	write(t, f, 0, filled('b', 10))
	f.FailSync()
	must(t, d.Rot("f", 1, 1))
	wantLook(t, f, 0, 4, "a,c,a*2", Damage{RotBits: 1, LostSectors: 1})
}

// An earlier version of a page may have carried the rotten byte along, and may be the one that survives.
func TestRottenBytesAreReportedWhicheverVersionSurvives(t *testing.T) {
	rotten := 0
	for seed := range uint64(100) {
		d := New(Config{Capacity: testCapacity})
		f := durableFile(t, d, "f", filled('a', onePage))
		must(t, d.Rot("f", 1, 1))
		write(t, f, 100, []byte("x"))
		write(t, f, 1, []byte("y"))
		d.Crash(RandomPages, random(seed))
		got, met, _ := look(t, open(t, d.Root(), "f"), 1, 1)
		if (got == "c") != (met.RotBits == 1) {
			t.Fatalf("seed %d: byte %s is reported with %+v", seed, got, met)
		}
		rotten += met.RotBits
	}
	if rotten == 0 || rotten == 100 {
		t.Errorf("the rot survived %d of 100 crashes", rotten)
	}
}

func TestALostWriteBehindATruncateIsForgotten(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	write(t, f, 0, filled('b', onePage))
	f.FailSync()
	must(t, f.Truncate(0))
	must(t, f.Allocate(0, onePage))
	must(t, f.Sync())
	d.Crash(Drop, nil)
	wantLook(t, open(t, d.Root(), "f"), 0, onePage, "0*4096", Damage{})
}

func TestAStrayPageLeavesNothingBehindTheEndOfTheFile(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage+10))
	write(t, f, 0, filled('b', onePage))
	must(t, f.SyncThrough(func(int64) Landing { return Landing{Page: 1} }))
	must(t, f.Allocate(0, twoPages))
	wantLook(t, f, onePage, onePage, "b*10,0*4086", Damage{StraySectors: 8})
}

func TestRotInAHoleAndUnderATruncate(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", make([]byte, twoPages))
	must(t, d.Rot("f", 5000, 0))
	wantLook(t, f, 5000, 1, "\x01", Damage{RotBits: 1})
	must(t, f.Truncate(0))
	must(t, d.Rot("f", 10, 0))
	must(t, f.Allocate(0, twoPages))
	wantLook(t, f, 0, twoPages, "0*8192", Damage{})
	must(t, f.Sync())
	d.DropCaches()
	wantLook(t, f, 0, twoPages, "0*8192", Damage{})
}

func TestLatentSectorIsUnreadableUntilRewrittenWhole(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	must(t, d.Latent("f", 1000, 100)) // touches the sectors from 512 and from 1024
	wantLook(t, f, 0, 2000, "a*512", Damage{LatentSectors: 1})
	wantLook(t, f, 600, 10, "", Damage{LatentSectors: 1})
	wantLook(t, f, 1536, 100, "a*100", Damage{})

	n, err := f.WriteBuffersAt([][]byte{filled('b', 500), filled('b', 100)}, 0)
	mustBe(t, err, host.ErrIO)
	if n != 500 || f.LastDamage().LatentSectors != 1 {
		t.Errorf("a write into half a latent sector took %d bytes, damage %+v", n, f.LastDamage())
	}
	mustBe(t, f.Truncate(600), host.ErrIO)
	write(t, f, 512, filled('c', 512))
	wantLook(t, f, 512, 512, "c*512", Damage{})
	wantLook(t, f, 512, 513, "c*512", Damage{LatentSectors: 1})
	must(t, f.Sync())
	wantLook(t, f, 0, 1025, "b*500,a*12,c*512", Damage{LatentSectors: 1})
	write(t, f, 1024, filled('d', 512))
	must(t, f.Sync())
	wantLook(t, f, 1000, 100, "c*24,d*76", Damage{})
}

func TestLostAndMisdirectedWritesShowWhenTheCacheIsGone(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', 4*PageSize))
	write(t, f, 0, filled('b', 3*PageSize))
	must(t, f.SyncThrough(func(page int64) Landing {
		switch page {
		case 0:
			return Landing{Lost: true}
		case 1:
			return Landing{Page: 3}
		}
		return Landing{Page: page}
	}))
	wantLook(t, f, 0, 3*PageSize, "b*12288", Damage{})
	wantLook(t, f, 3*PageSize, onePage, "b*4096", Damage{StraySectors: 8})
	d.DropCaches()
	wantLook(t, f, 0, onePage, "a*4096", Damage{LostSectors: 8})
	wantLook(t, f, onePage, onePage, "a*4096", Damage{LostSectors: 8})
	wantLook(t, f, twoPages, onePage, "b*4096", Damage{})

	write(t, f, 0, filled('c', 4*PageSize))
	must(t, f.Sync())
	d.DropCaches()
	wantLook(t, f, 0, 4*PageSize, "c*16384", Damage{})
	checkBooks(t, d)
}

func TestTwoPagesThatSwapPlacesBothArrive(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', twoPages))
	write(t, f, 0, filled('b', onePage))
	write(t, f, onePage, filled('c', onePage))
	must(t, f.SyncThrough(func(page int64) Landing { return Landing{Page: 1 - page} }))
	wantLook(t, f, 0, twoPages, "c*4096,b*4096", Damage{StraySectors: 16})
}

func TestOnlyDurableFilesCanBeDamaged(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	s := sub(t, d.Root(), "s")
	f := create(t, s, "f")
	write(t, f, 0, filled('a', 10))
	durableFile(t, d, "s.x", filled('a', 10))
	mustBe(t, d.Rot("s/f", 0, 0), host.ErrNotExist)
	must(t, s.SyncDir())
	mustBe(t, d.Rot("s/f", 0, 0), host.ErrNotExist) // no durable bytes yet
	must(t, f.Sync())
	must(t, d.Rot("s/f", 9, 0))
	mustBe(t, d.Rot("s/f", 10, 0), host.ErrNotExist)
	mustBe(t, d.Latent("s/f", 5, 6), host.ErrNotExist)
	mustBe(t, d.Rot("s", 0, 0), host.ErrNotExist)
	mustBe(t, d.Rot("s/f/g", 0, 0), host.ErrNotExist)
	paths := d.Paths()
	if len(paths) != 2 || paths[0] != (PathInfo{"s.x", 10}) || paths[1] != (PathInfo{"s/f", 10}) {
		t.Errorf("durable files are %v", paths)
	}
}

// TestAWornPlaceRotsAgainWhenItIsRewritten, as often as it was told to, and then keeps what it gets.
func TestAWornPlaceRotsAgainWhenItIsRewritten(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	must(t, d.RotWorn("f", 7, 0, 2))
	for round := range 4 {
		p := make([]byte, onePage)
		if _, err := f.ReadAt(p, 0); err != nil {
			t.Fatal(err)
		}
		rotten := 0
		for i, b := range p {
			if b != 'a' {
				rotten++
				if i != 7 {
					t.Errorf("round %d: byte %d is %q", round, i, b)
				}
			}
		}
		want, met := 1, f.LastDamage().RotBits
		if round == 3 {
			want = 0
		}
		if rotten != want || met != want {
			t.Errorf("round %d: %d bytes are rotten and %d flaws were met, want %d", round, rotten, met, want)
		}
		write(t, f, 0, filled('a', onePage))
		must(t, f.Sync())
	}
	checkBooks(t, d)
}

// TestAWornPlaceBehindTheEndOfAFileDoesNotShowWhenItGrows.
func TestAWornPlaceBehindTheEndOfAFileDoesNotShowWhenItGrows(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	must(t, d.RotWorn("f", 3000, 0, 9))
	write(t, f, 0, filled('b', onePage))
	must(t, f.Truncate(100))
	must(t, f.Sync())
	must(t, f.Allocate(0, onePage))
	must(t, f.Sync())
	d.DropCaches()
	wantLook(t, f, 0, onePage, "b*100,0*3996", Damage{})
}

// TestAPageMayLandInAnotherFile: that file shows it at once unless something newer lies over it, and keeps its size.
func TestAPageMayLandInAnotherFile(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', onePage))
	g := durableFile(t, d, "g", filled('g', onePage+10))
	astray := func(page int64) func(int64) Landing {
		return func(int64) Landing { return Landing{Path: "g", Page: page} }
	}
	write(t, f, 0, filled('b', onePage))
	must(t, f.SyncThrough(astray(1)))
	wantLook(t, f, 0, onePage, "b*4096", Damage{})
	wantLook(t, g, 0, onePage+10, "g*4096,b*10", Damage{StraySectors: 1})
	d.DropCaches()
	wantLook(t, f, 0, onePage, "a*4096", Damage{LostSectors: 8})

	write(t, g, 0, filled('h', 10))
	write(t, f, 0, filled('c', onePage))
	must(t, f.SyncThrough(astray(0)))
	wantLook(t, g, 0, onePage, "h*10,g*4086", Damage{})
	d.Crash(Drop, nil)
	wantLook(t, open(t, d.Root(), "g"), 0, onePage, "c*4096", Damage{StraySectors: 8})
	checkBooks(t, d)

	f = open(t, d.Root(), "f")
	write(t, f, 0, filled('d', onePage))
	must(t, f.SyncThrough(astray(5)))
	d.DropCaches()
	wantLook(t, f, 0, onePage, "a*4096", Damage{LostSectors: 8})
}
