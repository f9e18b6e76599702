package disk

import (
	"testing"

	"lakebed/engine/host"
)

const smallPages = 8

func small() *Disk { return New(Config{Capacity: smallPages * PageSize}) }

func TestWriteTakesWhatFitsAndSaysThatSpaceIsOut(t *testing.T) {
	d := small()
	f := create(t, d.Root(), "f")
	write(t, f, 0, filled('a', 6*PageSize))
	g := create(t, d.Root(), "g")
	n, err := g.WriteBuffersAt([][]byte{filled('b', PageSize), filled('c', 2*PageSize)}, 100)
	mustBe(t, err, host.ErrNoSpace)
	if n != 2*PageSize-100 {
		t.Errorf("wrote %d bytes into the last two pages from 100, want %d", n, 2*PageSize-100)
	}
	if got := runs(readAll(t, g)); got != "0*100,b*4096,c*3996" {
		t.Errorf("a short write left %s", got)
	}
	n, err = g.WriteBuffersAt([][]byte{{1}}, 2*PageSize)
	mustBe(t, err, host.ErrNoSpace)
	if n != 0 {
		t.Errorf("wrote %d bytes on a full volume", n)
	}
	mustBe(t, g.Allocate(0, 3*PageSize), host.ErrNoSpace)
	mustBe(t, g.Truncate(3*PageSize), host.ErrNoSpace)
	if size, _ := g.Size(); size != 2*PageSize {
		t.Errorf("refused growth changed the size to %d", size)
	}
	write(t, g, 0, filled('d', 2*PageSize)) // what is there can be overwritten
}

func TestSpaceComesBackByRemoveTruncateAndLastClose(t *testing.T) {
	d := small()
	free := func() int64 {
		free, total, err := d.Root().Usage()
		must(t, err)
		if total != smallPages*PageSize {
			t.Fatalf("the volume has %d bytes", total)
		}
		return free / PageSize
	}
	f := create(t, d.Root(), "f")
	write(t, f, 0, filled('a', smallPages*PageSize))
	if free() != 0 {
		t.Fatalf("%d pages free on a full volume", free())
	}
	must(t, f.Truncate(5*PageSize+1))
	if free() != 2 {
		t.Errorf("%d pages free after a truncate to six of eight", free())
	}
	must(t, d.Root().Remove("f"))
	if free() != 2 {
		t.Errorf("%d pages free while a removed file is still open, want 2", free())
	}
	must(t, f.Close())
	if free() != smallPages {
		t.Errorf("%d pages free at the end, want all %d", free(), smallPages)
	}
	write(t, create(t, d.Root(), "g"), 0, filled('b', smallPages*PageSize))
}

// Space that a crash could still hand back to a removed file is reused only once the removal is durable.
func TestReusedSpaceIsNeverClaimedTwiceAfterACrash(t *testing.T) {
	for mode := Keep; mode <= Mixed; mode++ {
		for seed := range uint64(50) {
			d := small()
			s := sub(t, d.Root(), "s")
			must(t, durableFile(t, d, "old", filled('a', 5*PageSize)).Close())
			cut := durableFile(t, d, "cut", filled('c', 3*PageSize))
			must(t, d.Root().Remove("old"))
			must(t, cut.Truncate(SectorSize))
			if d.held != 7 {
				t.Fatalf("%d pages are held for a crash to bring back, want 5 removed and 2 cut", d.held)
			}
			f := create(t, s, "new")
			write(t, f, 0, filled('b', 7*PageSize))
			must(t, f.Sync())
			must(t, s.SyncDir())
			d.Crash(mode, random(seed))
			if got, want := describe(t, d.Root()), "cut=c*512 s/ (new=b*28672)"; got != want {
				t.Fatalf("mode %v seed %d: %s, want %s", mode, seed, got, want)
			}
			checkBooks(t, d)
		}
	}
}

func TestARemovedDirectoryGivesUpAllThatItCouldBringBack(t *testing.T) {
	d := small()
	s := sub(t, d.Root(), "s")
	must(t, d.Root().SyncDir())
	for _, synced := range []bool{true, false} {
		f := create(t, s, "f")
		write(t, f, 0, filled('a', 2*PageSize))
		must(t, f.Close())
		if synced {
			must(t, s.SyncDir())
		}
		must(t, s.Remove("f"))
	}
	must(t, d.Root().Remove("s"))
	if d.used != 0 || d.held != 4 {
		t.Errorf("%d pages used and %d held, want the 4 of two removed files held", d.used, d.held)
	}
	must(t, d.Root().SyncDir())
	if d.held != 0 || len(d.files) != 0 {
		t.Errorf("%d pages are held and %d files known after all is gone for good", d.held, len(d.files))
	}
	checkBooks(t, d)
}

func TestAnOffsetFarAwayIsRefusedBeforeItCostsMemory(t *testing.T) {
	f := create(t, small().Root(), "f")
	_, err := f.WriteBuffersAt([][]byte{{1}}, 1<<62)
	mustBe(t, err, host.ErrNoSpace)
	_, err = f.WriteBuffersAt([][]byte{{1}}, -1)
	mustBe(t, err, host.ErrIO)
	mustBe(t, f.Allocate(1<<62, 1<<62), host.ErrIO)
	mustBe(t, f.Truncate(-1), host.ErrIO)
	_, err = f.ReadAt(make([]byte, 1), -1)
	mustBe(t, err, host.ErrIO)
	if f.node.content.leaves != nil {
		t.Error("a refused write made room for itself")
	}
}

func TestReadsAndOverwritesAllocateNothing(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := durableFile(t, d, "f", filled('a', 8*PageSize))
	p, b := make([]byte, 100), [][]byte{filled('b', 100), filled('c', 3*PageSize)}
	step := func() {
		if _, err := f.ReadAt(p, 4000); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteBuffersAt(b, 4050); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteBuffersAt(b, 4050); err != nil {
			t.Fatal(err)
		}
		must(t, f.Sync())
	}
	step()
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("a read, two overwrites and a sync allocate %v times", n)
	}
}

func BenchmarkJournalAppend(b *testing.B) {
	d := New(Config{Capacity: 64 << 20})
	f := create(b, d.Root(), "journal")
	write(b, f, 0, make([]byte, 16<<20))
	must(b, f.Sync())
	group := [][]byte{filled('h', 64), filled('r', 960)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := f.WriteBuffersAt(group, int64(i)*1024%(16<<20)); err != nil {
			b.Fatal(err)
		}
		must(b, f.Sync())
	}
}
