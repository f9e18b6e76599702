package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// lives runs lives of a node one after the other, and breaks in between.
func lives(t *testing.T, config partition.Config, between func(n *sim.Node), all ...func(h host.Host, l *life) error) *sim.Node {
	t.Helper()
	w, n := world(3, config)
	next := 0
	start := func() {
		body := all[next]
		next++
		n.Start(func(h host.Host) error {
			l, err := begin(h, config)
			if err != nil {
				return err
			}
			return errors.Join(body(h, l), l.end())
		})
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", next, err)
		}
		if next < len(all) {
			if between != nil {
				between(n)
			}
			w.At(time.Millisecond, start)
		}
	})
	start()
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return n
}

// TestSegmentsAreCutBySizeAgeAndItems, each by itself, and named by their smallest cursors without padding.
func TestSegmentsAreCutBySizeAgeAndItems(t *testing.T) {
	wide := smallConfig()
	wide.SegmentBytes, wide.IndexItemsMax, wide.SegmentAge = 1<<20, 10_000, time.Hour
	bySize, byAge, byItems := wide, wide, wide
	bySize.SegmentBytes, byAge.SegmentAge = 2500, 5*time.Second
	byItems.IndexBytes, byItems.IndexItemsMax = 1, 70
	for name, config := range map[string]partition.Config{"nothing": wide, "size": bySize, "age": byAge, "items": byItems} {
		l := newLog()
		lives(t, config, nil, func(h host.Host, life *life) error {
			for range 100 {
				if err := l.append(life.p, 1); err != nil {
					return err
				}
				h.Root().Sleep(200 * time.Millisecond)
			}
			segments := life.p.Segments()
			if many := len(segments) > 1; many != (name != "nothing") {
				return fmt.Errorf("cut by %s: %d segments", name, len(segments))
			}
			for _, s := range segments {
				if s.Bytes > config.SegmentBytes {
					return fmt.Errorf("cut by %s: a segment of %d bytes", name, s.Bytes)
				}
				if _, err := life.dir.Open(fmt.Sprint(int64(s.Base), ".log")); err != nil {
					return err
				}
			}
			return nil
		}, func(_ host.Host, life *life) error { return l.check(life.p) })
	}
}

// TestARecordOfAnotherPlaceEndsTheLog: bytes with a good checksum that a former file left behind are no message of this
// one.
func TestARecordOfAnotherPlaceEndsTheLog(t *testing.T) {
	for _, stale := range []partition.Cursor{0, 2, 4, 1000} {
		l := newLog()
		lives(t, smallConfig(), nil, func(_ host.Host, life *life) error {
			return l.append(life.p, 3)
		}, func(_ host.Host, life *life) error {
			if err := life.p.Close(); err != nil {
				return err
			}
			// As if the newest segment had not been sealed, with a record behind its end.
			if err := errors.Join(life.dir.Remove("0.index"), life.dir.Remove("0.timeindex")); err != nil {
				return err
			}
			f, err := life.dir.Open("0.log")
			if err != nil {
				return err
			}
			size, err := f.Size()
			if err != nil {
				return err
			}
			body := message.Append(nil, []message.Group{{Time: 1, Source: []byte("stale")}})
			return errors.Join(host.WriteFullAt(f, message.AppendRecord(nil, stale, body), size), f.Sync(), f.Close(), life.dir.SyncDir())
		}, func(_ host.Host, life *life) error {
			return l.check(life.p)
		})
	}
}

// TestForeignAndUnfinishedFilesAreNoSegments: padded names, other suffixes, what was left of a copy, index files without a
// log.
func TestForeignAndUnfinishedFilesAreNoSegments(t *testing.T) {
	l := newLog()
	lives(t, smallConfig(), nil, func(_ host.Host, life *life) error {
		if err := l.append(life.p, 3); err != nil {
			return err
		}
		for _, name := range []string{"00000000000000000007.log", "7.log.new", "7.index", "-1.log", "x.log", "7.log.bak", "lost+found"} {
			f, err := life.dir.Create(name)
			if err != nil {
				return err
			}
			if err := errors.Join(host.WriteFullAt(f, []byte("foreign"), 0), f.Close()); err != nil {
				return err
			}
		}
		return nil
	}, func(_ host.Host, life *life) error {
		entries, err := life.dir.List()
		for _, e := range entries {
			if e.Name == "7.log.new" || e.Name == "7.index" {
				return fmt.Errorf("%s is left", e.Name)
			}
		}
		if len(entries) != 10 { // 7.index was set aside
			return fmt.Errorf("%d files are left: %v", len(entries), entries)
		}
		return errors.Join(err, l.append(life.p, 1), l.check(life.p))
	})
}

// TestPaddingSurvivesADeviceThatSpoilsSectors: on a disk that may spoil synced bytes of a sector that is written again, what
// was acknowledged is there after each power cut; and without padding it is not, or this test would show nothing.
func TestPaddingSurvivesADeviceThatSpoilsSectors(t *testing.T) {
	lost := map[int64]int{}
	for _, pad := range []int64{512, 0} {
		for seed := range uint64(30) {
			config := smallConfig()
			config.PadBytes, config.SegmentBytes, config.IndexItemsMax = pad, 8192, 200
			w, n := world(seed, config)
			n.Disk(volume).Format(disk.Config{Capacity: 1 << 30})
			l, lives := newLog(), 0
			n.Disk(volume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
				if lives == 1 && op.Kind == sim.DiskSync && op.Nth == int64(8+seed%8) {
					n.Crash(sim.PowerCut(disk.Torn))
				}
				return sim.DiskEffect{}
			})
			boot := func(h host.Host) error {
				lives++
				life, err := begin(h, config)
				if err != nil {
					return err
				}
				if lives == 2 {
					if err := l.check(life.p); err != nil {
						lost[pad]++
						if pad != 0 {
							t.Errorf("seed %d: %v", seed, err)
						}
					}
				}
				for range 20 {
					if err := l.append(life.p, 1); lives == 1 && err != nil {
						return err
					}
				}
				return life.end()
			}
			n.OnExit(func(error, bool) {
				if lives < 2 {
					w.At(time.Millisecond, func() { n.Start(boot) })
				}
			})
			n.Start(boot)
			if v := w.Run(time.Hour); v.Failed() {
				t.Fatal(v.String())
			}
		}
	}
	if lost[0] == 0 {
		t.Error("no message was ever lost without padding")
	}
}

// TestRotIsAnErrorAndNoGap: a bit that rots in a sealed segment is found by the read that meets it, which says so. With the
// message the next ones cannot be read, up to the next index item; all others are. A rotten index costs a scan, and
// nothing else.
func TestRotIsAnErrorAndNoGap(t *testing.T) {
	for _, suffix := range []string{".log", ".index", ".timeindex"} {
		l := newLog()
		rot := func(n *sim.Node) {
			offset := int64(300)
			if suffix != ".log" {
				offset = 4096 + 40 // the second item
			}
			if err := n.Disk(volume).Model().Rot("0/0"+suffix, offset, 3); err != nil {
				t.Fatal(err)
			}
		}
		n := lives(t, smallConfig(), rot, func(_ host.Host, life *life) error {
			var err error
			for range 20 {
				err = errors.Join(err, l.append(life.p, 1))
			}
			return err
		}, func(_ host.Host, life *life) error {
			if suffix != ".log" {
				return l.check(life.p)
			}
			first, end, err := life.p.Bounds()
			if err != nil {
				return err
			}
			bad := 0
			for c := first; c < end; c++ {
				b, err := life.p.Read(c, partition.Limits{Messages: 1})
				if err != nil && !errors.Is(err, partition.ErrCorrupt) {
					return err
				}
				if err != nil {
					bad++
					continue
				}
				if string(b.Entries[0].Payload) != string(l.all[c].payload) {
					return fmt.Errorf("cursor %d holds something else", c)
				}
				b.Release()
			}
			if bad == 0 || bad > 3 {
				return fmt.Errorf("%d messages are said to be damaged", bad)
			}
			return nil
		})
		if got := n.Visits(partition.PointIndexUnusable); (got > 0) != (suffix != ".log") {
			t.Errorf("rot in %s: an index was found unusable %d times", suffix, got)
		}
	}
}
