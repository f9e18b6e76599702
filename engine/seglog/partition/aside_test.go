package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
)

// names lists the files that have something in their name.
func names(dir host.Dir, part string) (found []string, err error) {
	infos, err := dir.List()
	for _, i := range infos {
		if strings.Contains(i.Name, part) {
			found = append(found, i.Name)
		}
	}
	return found, err
}

// rottenIndex puts an index file there that says nothing, of a segment that there is no log of.
func rottenIndex(dir host.Dir, base int) error {
	f, err := dir.Create(fmt.Sprintf("%d.index", base))
	if err != nil {
		return err
	}
	return errors.Join(host.WriteFullAt(f, []byte("this was an index"), 0), f.Sync(), f.Close(), dir.SyncDir())
}

// TestFilesThatSayNothingAreSetAsideAndNotRemoved: index files without a log, which have rotted, do not count as a segment, and
// yet are there after each start, as they were, also when the same name rots twice, and when the segments before it are gone.
// They are bounded in number.
func TestFilesThatSayNothingAreSetAsideAndNotRemoved(t *testing.T) {
	const aside = 64 // asideFilesMax
	config := smallConfig()
	l := newLog()
	appends := func(p *partition.Partition) (err error) {
		for range 20 {
			err = errors.Join(err, l.append(p, 1))
		}
		return err
	}
	counted := func(dir host.Dir, want int) error {
		found, err := names(dir, ".aside")
		if err == nil && (len(found) != want || !slices.Contains(found, "9000.index.aside")) {
			err = fmt.Errorf("%d files are set aside, want %d: %v", len(found), want, found)
		}
		return err
	}
	c := spoilt{config: config, closed: true}
	c.run(t, []func(h host.Host, life *life) error{
		func(h host.Host, life *life) error {
			err := appends(life.p)
			h.Root().Sleep(time.Second)
			return err
		},
		func(_ host.Host, life *life) error { return rottenIndex(life.dir, 9000) },
		func(_ host.Host, life *life) error { // append compares cursors with those that were given
			return errors.Join(counted(life.dir, 1), appends(life.p), l.check(life.p), rottenIndex(life.dir, 9000))
		},
		func(_ host.Host, life *life) error {
			err := errors.Join(counted(life.dir, 2), appends(life.p), l.check(life.p))
			for base := range 2 * aside {
				err = errors.Join(err, rottenIndex(life.dir, 10000+base))
			}
			return err
		},
		func(_ host.Host, life *life) error {
			left, err := names(life.dir, ".index")
			for _, name := range left {
				if strings.HasPrefix(name, "10") && strings.HasSuffix(name, ".index") && len(name) > len("1000.index") {
					err = errors.Join(err, fmt.Errorf("%s is there as if it were of a segment", name))
				}
			}
			err = errors.Join(err, counted(life.dir, aside), appends(life.p), l.check(life.p))
			if err == nil { // what is left of a segment that is gone, and was set aside before
				err = removeAll(life.dir, "0.log")
			}
			f, failed := life.dir.Create("0.index.aside")
			if failed == nil {
				failed = errors.Join(f.Close(), life.dir.SyncDir())
			}
			return errors.Join(err, failed)
		},
		func(_ host.Host, life *life) error {
			if left, err := names(life.dir, "0.index.aside"); err != nil || !slices.Contains(left, "0.index.aside") {
				return fmt.Errorf("left are %v: %w", left, err)
			}
			return nil
		},
	})
}
