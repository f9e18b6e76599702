package commitlog_test

import (
	"errors"
	"fmt"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/sim"
)

// indexedConfig has files of the key index that hold two dozen entries behind their slots, so that some are complete, and all but those of the
// newest sector lie in them.
func indexedConfig() commitlog.Config {
	config := smallConfig(commitlog.FlushGroup)
	config.IndexSlots, config.IndexEntries, config.IndexSnapshotEntries = 113, 150, 60 // the entries begin where a sector does
	return config
}

// ownKeyed appends the next message, which has a key of its own.
func (b *book) ownKeyed() error { return b.add("orders", 0) }

// mustFind looks up each key, and compares what comes with all messages that have it. told: an answer may be ErrCorrupt instead. It returns
// how often it was.
func (b *book) mustFind(told bool) (damaged int, err error) {
	if err := b.settled(); err != nil {
		return 0, err
	}
	for key := range 7 {
		found, err := b.store.Query("orders", keyOf(key), 0, 1<<62, 1000)
		if told && errors.Is(err, commitlog.ErrCorrupt) {
			damaged++
			continue
		}
		if err != nil {
			return damaged, err
		}
		want := 0
		for n := range b.sent["orders/0"] {
			if keyOf(n) == keyOf(key) {
				want++
			}
		}
		if len(found) != want {
			return damaged, fmt.Errorf("%s leads to %d messages of %d", keyOf(key), len(found), want)
		}
	}
	return damaged, nil
}

func indexDir(h host.Host) (host.Dir, error) {
	root, err := h.Disk(commitlog.StoreVolume)
	if err != nil {
		return nil, err
	}
	return root.Sub("index")
}

// indexFiles are the names of the files of the key index, the snapshots' among them.
func (b *book) indexFiles() (names []string, err error) {
	dir, err := indexDir(b.h)
	if err != nil {
		return nil, err
	}
	infos, err := dir.List()
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names, err
}

// harm does something to a file of the key index on a disk that nobody uses.
type harm struct {
	name string
	do   func(dir host.Dir, file string) error
}

func editing(f func(file host.File) error) func(dir host.Dir, file string) error {
	return func(dir host.Dir, name string) error {
		file, err := dir.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(f(file), file.Sync(), file.Close())
	}
}

// harms are what may become of a file. Header, slots and entries begin at 0, 40 and 512-20.
func harms() []harm {
	all := []harm{
		{"missing", func(dir host.Dir, file string) error { return errors.Join(dir.Remove(file), dir.SyncDir()) }},
		{"cut to nothing", editing(func(f host.File) error { return f.Truncate(0) })},
		{"cut in its header", editing(func(f host.File) error { return f.Truncate(17) })},
		{"cut in its slots", editing(func(f host.File) error { return f.Truncate(300) })},
		{"cut in its entries", editing(func(f host.File) error {
			size, err := f.Size()
			return errors.Join(err, f.Truncate(size-21))
		})},
	}
	for _, at := range []int64{0, 7, 15, 20, 23, 31, 35, 39, 43, 63, 131, 252, 300, 491, 500, 512 + 3, 512 + 8, 512 + 11, 512 + 15, 512 + 19, 512 + 20*40 + 2, 512 + 20*40 + 11, 512 + 20*120 + 3, 512 + 20*120 + 18} {
		all = append(all, harm{fmt.Sprintf("with byte %d flipped", at), editing(func(f host.File) error {
			if size, err := f.Size(); err != nil || size <= at {
				return err
			}
			return flip(f, at*8+2)
		})})
	}
	return all
}

// TestAKeyIndexThatIsLostOrDamagedIsMadeAnewOrTold: each of its files is missing, cut, or has a byte flipped, when a store starts that was closed, or
// was killed. The start goes on, no message and no count of a queue is lost, and every look-up is right or tells the damage.
func TestAKeyIndexThatIsLostOrDamagedIsMadeAnewOrTold(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	remade, told := int64(0), 0
	for _, clean := range []bool{true, false} {
		for _, h := range harms() {
			for file := range 5 { // two complete ones, the one being filled, two snapshots
				b := newBook(t, indexedConfig())
				var name string
				b.before = func(life int, host host.Host) error {
					if life == 1 {
						return nil
					}
					dir, err := indexDir(host)
					if err != nil {
						return err
					}
					return h.do(dir, name)
				}
				b.lives(func() error {
					for range 440 {
						if err := b.ownKeyed(); err != nil {
							return err
						}
					}
					err := errors.Join(b.settled(), b.store.CreateTopic("last", 1)) // has a checkpoint made
					if err != nil {
						return err
					}
					names, err := b.indexFiles()
					if err != nil || len(names) != 5 {
						return errors.Join(err, fmt.Errorf("files %q", names))
					}
					name = names[file]
					if !clean {
						b.node.Crash(sim.KillProcess())
					}
					return nil
				}, func() error {
					n, err := b.mustFind(true)
					told += n
					return errors.Join(err, b.mustHold(true))
				})
				if t.Failed() {
					t.Fatalf("clean stop %v, file %s %s", clean, name, h.name)
				}
				remade += b.node.Visits(commitlog.PointIndexRemade)
				b.world.Release()
			}
		}
	}
	t.Logf("%d starts made the index anew, %d look-ups told damage", remade, told)
	if remade < 60 || told == 0 {
		t.Errorf("only %d starts made the index anew, and %d look-ups told damage", remade, told)
	}
}
