package commitlog_test

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumequeue"
	"lakebed/engine/host"
)

// TestRotIsToldAndNeverServed: whatever bit of log, units or index flips, an answer is right or an error, and nothing panics.
func TestRotIsToldAndNeverServed(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	const stride = 307 // of bits
	config := smallConfig(commitlog.FlushGroup)
	config.IndexSlots, config.IndexEntries = 4, 12
	b := newBook(t, config)
	told := 0
	b.lives(func() error {
		for range 48 {
			if err := b.add("orders", 0); err != nil {
				return err
			}
		}
		if err := b.store.CreateTopic("other", 1); err != nil { // has a checkpoint made
			return err
		}
		files, err := b.filesOf("commitlog", "index", "consumequeue/orders/0")
		if err != nil {
			return err
		}
		if len(files) < 5 {
			t.Errorf("only %d files", len(files))
		}
		for _, f := range files {
			size, err := f.Size()
			if err != nil {
				return err
			}
			for bit := int64(0); bit < min(size, 6<<10)*8; bit += stride {
				if err := flip(f, bit); err != nil {
					return err
				}
				_, _, err := b.read("orders", 0)
				if err != nil && !errors.Is(err, commitlog.ErrCorrupt) {
					t.Errorf("bit %d: %v", bit, err)
				}
				for n := range 7 {
					_, err2 := b.store.Query("orders", keyOf(n), 0, 1<<62, 100)
					err = errors.Join(err, err2)
				}
				if err != nil {
					told++
				}
				if err := flip(f, bit); err != nil {
					return err
				}
			}
		}
		return b.mustHold(true)
	})
	if told < 60 {
		t.Errorf("only %d flipped bits were told", told)
	}
}

func flip(f host.File, bit int64) error {
	p := make([]byte, 1)
	if _, err := host.ReadFull(f, p, bit/8); err != nil {
		return err
	}
	p[0] ^= 1 << (bit % 8)
	return host.WriteFullAt(f, p, bit/8)
}

// filesOf opens the files of directories of the store.
func (b *book) filesOf(paths ...string) (files []host.File, err error) {
	root, err := b.h.Disk(commitlog.StoreVolume)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		dir := root
		for name := range splitPath(path) {
			if dir, err = dir.Sub(name); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		infos, err := dir.List()
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			f, err := dir.Open(info.Name)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

func splitPath(path string) iter.Seq[string] { return strings.SplitSeq(path, "/") }

// TestASearchByTimeTellsOfAUnitThatLeadsBeforeTheLog: a unit that rotted so looks like one whose message was removed. A search must not look
// again and again for what never moves.
func TestASearchByTimeTellsOfAUnitThatLeadsBeforeTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector sees nothing inside the simulator")
	}
	config := smallConfig(commitlog.FlushGroup)
	config.QueueFileUnits = 150 // a block of units is in the file
	config.Retention.Age, config.Retention.DeleteHours = time.Second, everyHour()
	config.Retention.FilesMax = 2
	b := newBook(t, config)
	b.lives(func() error {
		for range 140 {
			if err := b.add("orders", 0); err != nil {
				return err
			}
		}
		b.h.Root().Sleep(2 * time.Second)
		if err := b.store.Clean(); err != nil {
			return err
		}
		files, err := b.filesOf("consumequeue/orders/0")
		if err != nil {
			return err
		}
		low, high, err := b.store.Bounds("orders", 0)
		if err != nil {
			return err
		}
		if low == 0 || low > 100 || high != 140 {
			t.Errorf("the queue has messages %d to %d, and some must have gone and some not", low, high)
		}
		told := 0
		for n := low + 1; n < 128; n++ {
			unit := make([]byte, 8)
			if _, err := host.ReadFull(files[0], unit, n*consumequeue.UnitBytes); err != nil {
				return err
			}
			if err := host.WriteFullAt(files[0], make([]byte, 8), n*consumequeue.UnitBytes); err != nil {
				return err
			}
			for _, boundary := range []commitlog.Boundary{commitlog.Lower, commitlog.Upper} {
				_, err := b.store.OffsetByTime("orders", 0, 1<<60, boundary)
				if err != nil && !errors.Is(err, commitlog.ErrCorrupt) {
					t.Errorf("unit %d: %v", n, err)
				}
				if err != nil {
					told++
				}
			}
			if err := host.WriteFullAt(files[0], unit, n*consumequeue.UnitBytes); err != nil {
				return err
			}
		}
		if told == 0 {
			t.Error("no search met the unit that leads before the log")
		}
		return nil
	})
}

// everyHour is for expired files to go at any time.
func everyHour() (hours []int) {
	for hour := range 24 {
		hours = append(hours, hour)
	}
	return hours
}
