package hosttest

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
)

// onDir gives boot the root directory of the volume.
func onDir(boot func(h host.Host, d host.Dir) error) Boot {
	return func(h host.Host) error {
		d, err := h.Disk(Volume)
		if err != nil {
			return must("open the volume", err)
		}
		return boot(h, d)
	}
}

// put makes a file that holds text.
func put(d host.Dir, name, text string) error {
	f, err := d.Create(name)
	if err != nil {
		return must("create", err)
	}
	return errors.Join(host.WriteFullAt(f, []byte(text), 0), f.Close())
}

// says that the file of that name must hold exactly text.
func says(d host.Dir, name, text string) error {
	f, err := d.Open(name)
	if err != nil {
		return must("open", err)
	}
	return errors.Join(hasSize(f, int64(len(text))), holds(f, 0, []byte(text)), f.Close())
}

// lists says that the directory must have exactly these entries, in this order.
func lists(d host.Dir, want ...host.Info) error {
	got, err := d.List()
	return errors.Join(must("list", err), equal("entries", fmt.Sprint(got), fmt.Sprint(want)))
}

func directories() []Contract {
	return []Contract{
		alone("AVolumeIsEmptyAtFirst", onDir(func(h host.Host, d host.Dir) error { return lists(d) })),
		alone("ListIsSortedByName", onDir(listSorted)),
		alone("RenameReplacesTheTarget", onDir(renameReplaces)),
		alone("RenameOfAMissingNameFails", onDir(func(h host.Host, d host.Dir) error {
			return fails("rename", d.Rename("missing", "target"), host.ErrNotExist)
		})),
		alone("RemoveTakesTheName", onDir(remove)),
		alone("RemoveOfAFullDirectoryFails", onDir(removeFull)),
		alone("AnOpenFileOutlivesItsName", onDir(outliveName)),
		alone("SubMakesADirectoryOnce", onDir(sub)),
		alone("SubOfAFileFails", onDir(subOfFile)),
		alone("NamesThatAreNotPlainAreRefused", onDir(plainNames)),
		alone("SyncDirIsAccepted", onDir(func(h host.Host, d host.Dir) error {
			return errors.Join(d.SyncDir(), put(d, "file", "text"), d.SyncDir(), d.Remove("file"), d.SyncDir())
		})),
		alone("UsageIsSane", onDir(usage)),
		alone("AFileIsAsOldAsItsLastWrite", onDir(modified)),
		inLives("SyncedNamesAreThereInTheNextLife", onDir(makeNames), onDir(findNames)),
	}
}

func listSorted(h host.Host, d host.Dir) error {
	var failures []error
	for _, name := range []string{"b", "10", "a", "B", "9", "c.log"} {
		failures = append(failures, put(d, name, name+name))
	}
	_, err := d.Sub("bb")
	failures = append(failures, must("make a directory", err), lists(d,
		host.Info{Name: "10", Size: 4}, host.Info{Name: "9", Size: 2}, host.Info{Name: "B", Size: 2},
		host.Info{Name: "a", Size: 2}, host.Info{Name: "b", Size: 2}, host.Info{Name: "bb", Dir: true},
		host.Info{Name: "c.log", Size: 10}))
	return errors.Join(failures...)
}

// modified: clocks of file systems tick coarsely, so the moments are compared with some slack.
func modified(h host.Host, d host.Dir) error {
	const slack = 100 * time.Millisecond
	before := h.Now()
	failure := put(d, "file", "text")
	first, err := host.Modified(d, "file")
	h.Root().Sleep(3 * slack)
	again, second := host.Modified(d, "file")
	failure = errors.Join(failure, err, second,
		that(first >= before-host.Wall(slack) && first <= h.Now(), "a file that was written between %d and %d is of %d", before, h.Now(), first),
		equal("its time after a pause", again, first))
	f, err := d.Open("file")
	if err != nil {
		return errors.Join(failure, err)
	}
	failure = errors.Join(failure, host.WriteFullAt(f, []byte("x"), 0), f.Close(), d.Rename("file", "moved"))
	later, err := host.Modified(d, "moved")
	_, absent := host.Modified(d, "file")
	return errors.Join(failure, err, that(later > first, "a file that was written again is of %d, as before", later),
		fails("ask when a file was written that is not there", absent, host.ErrNotExist))
}

func renameReplaces(h host.Host, d host.Dir) error {
	return errors.Join(
		put(d, "old", "the old text"), put(d, "new", "new"),
		d.Rename("new", "old"), says(d, "old", "new"), lists(d, host.Info{Name: "old", Size: 3}),
		d.Rename("old", "moved"), says(d, "moved", "new"), lists(d, host.Info{Name: "moved", Size: 3}),
	)
}

func remove(h host.Host, d host.Dir) error {
	failure := errors.Join(put(d, "file", "text"), d.Remove("file"), lists(d))
	_, err := d.Open("file")
	if _, subErr := d.Sub("empty"); subErr != nil {
		return must("make a directory", subErr)
	}
	return errors.Join(
		failure,
		fails("open", err, host.ErrNotExist),
		fails("remove again", d.Remove("file"), host.ErrNotExist),
		must("remove an empty directory", d.Remove("empty")),
		lists(d),
		must("take the name again", put(d, "file", "other")),
		says(d, "file", "other"),
	)
}

func removeFull(h host.Host, d host.Dir) error {
	below, err := d.Sub("sub")
	if err != nil {
		return must("make a directory", err)
	}
	return errors.Join(
		put(below, "file", "text"),
		refused("remove a directory that holds a file", d.Remove("sub")),
		says(below, "file", "text"),
	)
}

// outliveName is what compaction relies on: a reader finishes with a file that has been replaced or removed.
func outliveName(h host.Host, d host.Dir) error {
	if err := errors.Join(put(d, "removed", "one"), put(d, "replaced", "two"), put(d, "by", "three")); err != nil {
		return err
	}
	removed, err := d.Open("removed")
	if err != nil {
		return must("open", err)
	}
	replaced, err := d.Open("replaced")
	if err != nil {
		return errors.Join(must("open", err), removed.Close())
	}
	return errors.Join(
		d.Remove("removed"), d.Rename("by", "replaced"),
		holds(removed, 0, []byte("one")), holds(replaced, 0, []byte("two")), says(d, "replaced", "three"),
		removed.Close(), replaced.Close(),
	)
}

func sub(h host.Host, d host.Dir) error {
	first, err := d.Sub("sub")
	if err != nil {
		return must("make a directory", err)
	}
	if err := put(first, "file", "below"); err != nil {
		return err
	}
	again, err := d.Sub("sub")
	if err != nil {
		return must("open the directory", err)
	}
	return errors.Join(
		says(again, "file", "below"),
		lists(d, host.Info{Name: "sub", Dir: true}),
		put(d, "file", "above"), // the same name in two directories is two files
		says(first, "file", "below"),
	)
}

func subOfFile(h host.Host, d host.Dir) error {
	if err := put(d, "file", "text"); err != nil {
		return err
	}
	_, err := d.Sub("file")
	return errors.Join(refused("open a file as a directory", err), says(d, "file", "text"))
}

func plainNames(h host.Host, d host.Dir) error {
	var failures []error
	for _, name := range []string{"", ".", "..", "a/b", "/a", "../a"} {
		_, createErr := d.Create(name)
		_, openErr := d.Open(name)
		_, subErr := d.Sub(name)
		failures = append(failures,
			refused(fmt.Sprintf("create %q", name), createErr),
			refused(fmt.Sprintf("open %q", name), openErr),
			refused(fmt.Sprintf("make directory %q", name), subErr),
			refused(fmt.Sprintf("remove %q", name), d.Remove(name)),
		)
	}
	return errors.Join(append(failures, lists(d))...)
}

func usage(h host.Host, d host.Dir) error {
	free, total, err := d.Usage()
	return errors.Join(
		must("usage", err),
		that(total > 0 && free >= 0 && free <= total, "free %d of total %d bytes", free, total),
	)
}

func makeNames(h host.Host, d host.Dir) error {
	below, err := d.Sub("sub")
	if err != nil {
		return must("make a directory", err)
	}
	return errors.Join(
		put(d, "gone", ""), put(d, "first", "text"), d.SyncDir(),
		d.Remove("gone"), d.Rename("first", "second"), d.SyncDir(),
		put(below, "file", "below"), below.SyncDir(),
	)
}

func findNames(h host.Host, d host.Dir) error {
	below, err := d.Sub("sub")
	if err != nil {
		return must("open the directory", err)
	}
	return errors.Join(
		lists(d, host.Info{Name: "second", Size: 4}, host.Info{Name: "sub", Dir: true}),
		lists(below, host.Info{Name: "file", Size: 5}),
	)
}

func locks() []Contract {
	return []Contract{
		alone("ASecondLockOfADirectoryFails", onDir(secondLock)),
		alone("ReleasingALockFreesTheDirectory", onDir(releaseLock)),
		alone("LocksOfTwoDirectoriesAreApart", onDir(twoLocks)),
		alone("ALockDoesNotShowInTheDirectory", onDir(lockedList)),
		inLives("TheLockOfAStoppedNodeIsFree", onDir(lockAndForget), onDir(lockAndForget)),
	}
}

func secondLock(h host.Host, d host.Dir) error {
	release, err := d.Lock()
	if err != nil {
		return must("lock", err)
	}
	defer release()
	_, err = d.Lock()
	return fails("lock again", err, host.ErrLocked)
}

func releaseLock(h host.Host, d host.Dir) error {
	first, err := d.Lock()
	if err != nil {
		return must("lock", err)
	}
	first()
	second, err := d.Lock()
	if err != nil {
		return must("lock after the release", err)
	}
	defer second()
	first() // a release that comes twice must not free somebody else's lock
	_, err = d.Lock()
	return fails("lock what the second holds", err, host.ErrLocked)
}

func twoLocks(h host.Host, d host.Dir) error {
	below, err := d.Sub("sub")
	if err != nil {
		return must("make a directory", err)
	}
	first, err := d.Lock()
	if err != nil {
		return must("lock", err)
	}
	defer first()
	second, err := below.Lock()
	if err != nil {
		return must("lock the directory below", err)
	}
	second()
	return nil
}

func lockedList(h host.Host, d host.Dir) error {
	below, err := d.Sub("sub")
	if err != nil {
		return must("make a directory", err)
	}
	release, err := below.Lock()
	if err != nil {
		return must("lock", err)
	}
	failure := lists(below)
	release()
	return errors.Join(failure, must("remove a directory that was locked once", d.Remove("sub")))
}

// lockAndForget leaves its lock to the end of the node's life.
func lockAndForget(h host.Host, d host.Dir) error {
	_, err := d.Lock()
	return must("lock", err)
}
