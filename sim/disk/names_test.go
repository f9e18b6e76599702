package disk

import (
	"fmt"
	"testing"

	"lakebed/engine/host"
)

// Each case is a directory in which a, b and c may exist durably, some unsynced changes, and the exact set of states
// that a crash may leave.
func TestNamesAfterCrashAreEveryLegalStateAndNoOther(t *testing.T) {
	for _, c := range []struct {
		name    string
		durable string
		change  func(t *testing.T, r *Dir)
		want    []string
	}{
		{"create", "", func(t *testing.T, r *Dir) { create(t, r, "n") }, []string{"", "n="}},
		{"remove", "a", func(t *testing.T, r *Dir) { must(t, r.Remove("a")) }, []string{"a=a", ""}},
		{"make directory", "", func(t *testing.T, r *Dir) { sub(t, r, "s") }, []string{"", "s/"}},
		{"rename", "a", func(t *testing.T, r *Dir) { must(t, r.Rename("a", "x")) }, []string{"a=a", "a=a x=a", "x=a"}},
		{"rename over", "ab", func(t *testing.T, r *Dir) { must(t, r.Rename("a", "b")) },
			[]string{"a=a b=b", "a=a b=a", "b=a"}},
		{"create and rename over", "a", func(t *testing.T, r *Dir) {
			f := create(t, r, "n")
			write(t, f, 0, []byte("n"))
			must(t, f.Sync())
			must(t, r.Rename("n", "a"))
		}, []string{"a=a", "a=a n=n", "a=n", "a=n n=n"}},
		{"create and remove", "", func(t *testing.T, r *Dir) {
			create(t, r, "n")
			must(t, r.Remove("n"))
		}, []string{"", "n="}},
		{"remove and create anew", "a", func(t *testing.T, r *Dir) {
			must(t, r.Remove("a"))
			create(t, r, "a")
		}, []string{"a=a", "", "a="}},
		{"rotate: never lose the renamed file to its successor", "a", func(t *testing.T, r *Dir) {
			must(t, r.Rename("a", "x"))
			create(t, r, "a")
		}, []string{"a=a", "a=a x=a", "x=a", "a= x=a"}},
		{"swap loses neither", "ab", func(t *testing.T, r *Dir) {
			must(t, r.Rename("a", "t"))
			must(t, r.Rename("b", "a"))
			must(t, r.Rename("t", "b"))
		}, []string{
			"a=a b=b", "a=a b=b t=a", "b=b t=a", "a=b b=b t=a", "a=b t=a", "a=b b=a t=a", "a=b b=a",
		}},
		{"rename directory is whole", "", func(t *testing.T, r *Dir) {
			sub(t, r, "d")
			must(t, r.SyncDir())
			must(t, r.Rename("d", "e"))
		}, []string{"d/", "e/"}},
		{"directory renamed back and forth has one name", "", func(t *testing.T, r *Dir) {
			sub(t, r, "d")
			must(t, r.SyncDir())
			must(t, r.Rename("d", "e"))
			must(t, r.Rename("e", "d"))
			must(t, r.Rename("d", "f"))
		}, []string{"d/", "e/", "f/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := everyCrash(t, RandomPages, func(d *Disk) {
				for _, letter := range c.durable {
					durableFile(t, d, string(letter), []byte(string(letter)))
				}
				c.change(t, d.Root())
			})
			wantStates(t, got, c.want...)
		})
	}
}

func TestSyncedNamesSurviveEveryModeAndOthersAreLostWhenDropped(t *testing.T) {
	for mode := Keep; mode <= Mixed; mode++ {
		for seed := range uint64(200) {
			d := New(Config{Capacity: testCapacity})
			r := d.Root()
			s := sub(t, r, "s")
			must(t, create(t, s, "f").Close())
			create(t, r, "old")
			must(t, s.SyncDir())
			must(t, r.SyncDir())
			must(t, r.Rename("old", "new"))
			must(t, r.SyncDir())
			create(t, s, "loose")
			d.Crash(mode, random(seed))

			got := describe(t, d.Root())
			without, with := "new= s/ (f=)", "new= s/ (f= loose=)"
			if got != without && got != with {
				t.Fatalf("mode %v seed %d: got %q", mode, seed, got)
			}
			if mode == Keep && got != with || mode == Drop && got != without {
				t.Fatalf("mode %v: got %q", mode, got)
			}
		}
	}
}

func TestFileSyncDoesNotImplyTheNameNorSyncDirTheDirectoryAbove(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	f := create(t, d.Root(), "f")
	write(t, f, 0, filled('x', 100))
	must(t, f.Sync())
	s := sub(t, d.Root(), "s")
	must(t, create(t, s, "g").Sync())
	must(t, s.SyncDir())
	report := d.Crash(Drop, nil)
	if got := describe(t, d.Root()); got != "" {
		t.Errorf("unsynced names survived: %q", got)
	}
	if report.NamesLost != 2 {
		t.Errorf("report counts %d names lost, want f and s", report.NamesLost)
	}
	if d.used != 0 {
		t.Errorf("%d pages are still charged to files that are gone", d.used)
	}
}

func TestRemovedFileReappearsWithItsSyncedContent(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	durableFile(t, d, "f", []byte("data"))
	must(t, d.Root().Remove("f"))
	report := d.Crash(Drop, nil)
	if got := describe(t, d.Root()); got != "f=d,a,t,a" || report.NamesResurrected != 1 {
		t.Errorf("got %q, report %+v", got, report)
	}
}

func TestBothNamesAfterACrashInRenameAreOneFile(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	durableFile(t, d, "a", []byte("1"))
	must(t, d.Root().Rename("a", "b"))
	d.crash(RandomPages, &odometer{digits: []int64{0, 1}, limits: []int64{2, 2}}) // the link survives, the unlink does not
	r := d.Root()
	write(t, open(t, r, "a"), 0, []byte("2"))
	if got := readAll(t, open(t, r, "b")); string(got) != "2" {
		t.Errorf("a write through one name reads %q through the other", got)
	}
	must(t, r.Rename("a", "b"))
	if got := describe(t, r); got != "a=2 b=2" {
		t.Errorf("a rename of one link onto the other changed something: %q", got)
	}
	must(t, r.Remove("a"))
	if got := describe(t, r); got != "b=2" {
		t.Errorf("after the removal of one link: %q", got)
	}
	if d.used != 1 {
		t.Errorf("one file of a page is charged %d pages", d.used)
	}
}

func TestUnsyncedChangesOfADirectoryAreBounded(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	r := d.Root()
	for i := range pendingMax - 1 {
		must(t, create(t, r, fmt.Sprint(i)).Close())
	}
	if got := len(d.root.folder.pending); got != pendingMax-1 {
		t.Fatalf("%d changes are pending below the bound, want all %d", got, pendingMax-1)
	}
	must(t, r.Rename("0", "zero"))
	if got := len(d.root.folder.pending); got != 2 {
		t.Errorf("%d changes are pending after the bound, want those of the rename", got)
	}
	d.Crash(Drop, nil)
	if entries, _ := d.Root().List(); len(entries) != pendingMax-1 {
		t.Errorf("%d names after the crash, want those that the bound committed", len(entries))
	}
}

func TestCrashEndsHandlesAndLocks(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	r := d.Root()
	f := durableFile(t, d, "f", []byte("x"))
	release, err := r.Lock()
	must(t, err)
	_, err = d.Root().Lock()
	mustBe(t, err, host.ErrLocked)
	d.Crash(Keep, nil)

	_, err = f.ReadAt(make([]byte, 1), 0)
	mustBe(t, err, host.ErrClosed)
	_, err = f.WriteBuffersAt([][]byte{{1}}, 0)
	mustBe(t, err, host.ErrClosed)
	mustBe(t, f.Sync(), host.ErrClosed)
	mustBe(t, f.Truncate(0), host.ErrClosed)
	mustBe(t, f.Close(), host.ErrClosed)
	_, err = r.Create("g")
	mustBe(t, err, host.ErrClosed)
	_, err = r.List()
	mustBe(t, err, host.ErrClosed)
	mustBe(t, r.SyncDir(), host.ErrClosed)

	_, err = d.Root().Lock()
	must(t, err)
	release() // late, and of the dead owner
	_, err = d.Root().Lock()
	mustBe(t, err, host.ErrLocked)
}

func TestWrongUseOfNamesIsRefusedAndChangesNothing(t *testing.T) {
	d := New(Config{Capacity: testCapacity})
	r := d.Root()
	create(t, r, "f")
	create(t, sub(t, r, "full"), "inner")
	gone := sub(t, r, "gone")
	must(t, r.Remove("gone"))
	second := func(_ any, err error) error { return err }
	for name, c := range map[string]struct{ got, want error }{
		"create twice":            {second(r.Create("f")), host.ErrExist},
		"create over a directory": {second(r.Create("full")), host.ErrExist},
		"create a path":           {second(r.Create("x/y")), host.ErrNotExist},
		"create nothing":          {second(r.Create("")), host.ErrNotExist},
		"open what is missing":    {second(r.Open("x")), host.ErrNotExist},
		"open a directory":        {second(r.Open("full")), host.ErrNotExist},
		"enter a file":            {second(r.Sub("f")), host.ErrExist},
		"enter the parent":        {second(r.Sub("..")), host.ErrNotExist},
		"rename what is missing":  {r.Rename("x", "y"), host.ErrNotExist},
		"rename over a directory": {r.Rename("f", "full"), host.ErrExist},
		"rename over a file":      {r.Rename("full", "f"), host.ErrExist},
		"remove what is missing":  {r.Remove("x"), host.ErrNotExist},
		"remove a full directory": {r.Remove("full"), host.ErrExist},
		"create in a removed one": {second(gone.Create("x")), host.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) { mustBe(t, c.got, c.want) })
	}
	if got := describe(t, r); got != "f= full/ (inner=)" {
		t.Errorf("the directory became %q", got)
	}
}
