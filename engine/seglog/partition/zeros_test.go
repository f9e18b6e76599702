package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// aheadConfig has segments of many groups, and zeros for some of them.
func aheadConfig() partition.Config {
	c := smallConfig()
	c.PadBytes, c.ZeroAheadBytes, c.SegmentBytes = 512, 16<<10, 128<<10
	c.IndexItemsMax, c.CheckpointBytes = 5000, 8<<10
	return c
}

// sizeOf is the length of a log's file.
func sizeOf(dir host.Dir, base partition.Cursor) (int64, error) {
	f, err := dir.Open(fmt.Sprintf("%d.log", base))
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	return size, errors.Join(err, f.Close())
}

// TestALogGrowsAheadOfItsMessages: its file grows once for many groups, by as much as the log holds and no more than is set, and never past the
// size of a segment. In the modes that do not sync each group it ends where its messages end if nothing is to go through memory, or groups
// are long.
func TestALogGrowsAheadOfItsMessages(t *testing.T) {
	for _, c := range []struct {
		mode     partition.SyncMode
		mapped   bool
		messages int // of a group
		ahead    bool
	}{
		{partition.SyncGroup, false, 1, true}, {partition.SyncAlways, true, 1, true},
		{partition.SyncInterval, true, 1, true}, {partition.SyncNever, true, 1, true},
		{partition.SyncInterval, false, 1, false}, {partition.SyncNever, false, 1, false},
		{partition.SyncNever, true, 60, false},
	} {
		config := aheadConfig()
		config.Sync, config.MappedAppends, config.SegmentBytes, config.BatchBytesMax = c.mode, c.mapped, 40<<10, 16<<10
		l, growths, groups := newLog(), 0, 0
		lives(t, config, nil, func(h host.Host, life *life) error {
			before := int64(0)
			for range max(200/c.messages, 5) {
				if err := l.append(life.p, c.messages); err != nil {
					return err
				}
				s := last(life.p.Segments())
				size, err := sizeOf(life.dir, s.Base)
				most := s.Bytes
				if c.ahead {
					most = min(config.SegmentBytes, (s.Bytes+min(s.Bytes, config.ZeroAheadBytes)+4095)/4096*4096)
				}
				if err != nil || size < s.Bytes || size > most {
					return fmt.Errorf("%+v: log %d of %d bytes is in a file of %d, at most %d are wanted: %w", c, s.Base, s.Bytes, size, most, err)
				}
				if groups++; size != before {
					growths++
				}
				before = size
			}
			return nil
		})
		if c.ahead && growths > groups/8 || !c.ahead && growths < groups/2 {
			t.Errorf("%+v: the file grew %d times in %d groups", c, growths, groups)
		}
	}
}

// TestAFullLogGivesTheRoomOfItsZerosBack, but for the rest of the block that holds its last message.
func TestAFullLogGivesTheRoomOfItsZerosBack(t *testing.T) {
	config := aheadConfig()
	config.SegmentAge = 10 * time.Millisecond // which the sleeps make
	l := newLog()
	full := func(life *life) error {
		all := life.p.Segments()
		for _, s := range all[:len(all)-1] {
			if size, err := sizeOf(life.dir, s.Base); err != nil || size < s.Bytes || size >= s.Bytes+4096 {
				return fmt.Errorf("log %d of %d bytes is in a file of %d: %w", s.Base, s.Bytes, size, err)
			}
		}
		return nil
	}
	n := lives(t, config, nil, func(h host.Host, life *life) error {
		for range 20 {
			for range 30 {
				if err := l.append(life.p, 3); err != nil {
					return err
				}
			}
			h.Root().Sleep(20 * time.Millisecond)
		}
		return errors.Join(l.check(life.p), full(life))
	}, func(h host.Host, life *life) error {
		return errors.Join(l.check(life.p), l.append(life.p, 1), full(life)) // the close has cut the last one
	})
	if n.Visits(partition.PointZeroed) == 0 || n.Visits(partition.PointZerosFound) > 0 {
		t.Errorf("zeros were written %d times, and found %d times", n.Visits(partition.PointZeroed), n.Visits(partition.PointZerosFound))
	}
}

// TestZerosAtTheEndAreNoTornTail: a start after a crash takes zeros up to the end of the file for the end, and tells a byte among
// them as a torn tail. It gives all messages in either case, goes on behind them, and so does the next one.
func TestZerosAtTheEndAreNoTornTail(t *testing.T) {
	for _, torn := range []int64{0, 1} {
		l, before := newLog(), int64(0)
		config := aheadConfig()
		n := livesCut(t, config, func(life *life) error {
			for range 40 {
				if err := l.append(life.p, 1); err != nil {
					return err
				}
			}
			f, err := life.dir.Open("0.log")
			if err != nil {
				return err
			}
			before, err = f.Size()
			if torn > 0 && err == nil {
				err = errors.Join(host.WriteFullAt(f, []byte{7}, before-1), f.Sync())
			}
			return errors.Join(err, f.Close())
		}, func(life *life) error {
			err := l.check(life.p)
			for range 5 {
				err = errors.Join(err, l.append(life.p, 1))
			}
			return err
		}, func(life *life) error { return l.check(life.p) })
		if tails, zeros := n.Visits(partition.PointTornTail), n.Visits(partition.PointZerosFound); tails != torn || zeros != 2-torn {
			t.Errorf("with %d bytes among the zeros: %d torn tails, %d times zeros", torn, tails, zeros)
		}
	}
}

// livesCut runs lives that end with a power cut each, but for the last.
func livesCut(t *testing.T, config partition.Config, all ...func(life *life) error) *sim.Node {
	t.Helper()
	w, n := world(3, config)
	next := 0
	start := func() {
		n.Start(func(h host.Host) error {
			life, err := begin(h, config)
			if err == nil {
				err = all[next](life)
			}
			if err == nil && next < len(all)-1 {
				n.Crash(sim.PowerCut(disk.Keep))
				return nil
			}
			return errors.Join(err, life.end())
		})
	}
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", next, err)
		}
		if next++; next < len(all) {
			w.At(time.Millisecond, start)
		}
	})
	start()
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return n
}
