package partition_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/partition"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// paddedConfig has one segment that takes all, and pads to sectors for a device that spoils whole ones.
func paddedConfig(mode partition.SyncMode) partition.Config {
	c := unsealedConfig()
	c.Sync, c.PadBytes, c.CheckpointBytes = mode, 512, 1500
	return c
}

// torn runs a life that appends alone, until so many checkpoints are made or 40 messages are there, and then some that nothing waits for,
// with a power cut that tears; and one that comes after it.
func torn(t *testing.T, config partition.Config, seed uint64, checkpoints int64, after func(l *log, p *partition.Partition) error) *sim.Node {
	t.Helper()
	w, n := world(seed, config)
	l := newLog()
	l.prefix = config.Sync == partition.SyncNever
	n.OnExit(func(err error, crashed bool) {
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if crashed {
			w.At(time.Millisecond, func() {
				n.Start(func(h host.Host) error {
					life, err := begin(h, config)
					if err != nil {
						return err
					}
					return errors.Join(after(l, life.p), life.end())
				})
			})
		}
	})
	n.Start(func(h host.Host) error {
		life, err := begin(h, config)
		for i := 0; i < 40 && err == nil && n.Visits(partition.PointCheckpointed) < checkpoints; i++ {
			err = l.append(life.p, 1)
			h.Root().Sleep(time.Second) // the settling task comes to its end
		}
		for i := 0; i < 2 && err == nil; i++ {
			h.Root().Go("writer", func() { _ = l.append(life.p, 2) })
		}
		h.Root().Sleep(time.Duration(seed%7) * 20 * time.Microsecond)
		n.Crash(sim.PowerCut(disk.Torn))
		return err
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
	return n
}

// TestATornAppendTakesNothingThatACheckpointCovers on a device that spoils a whole sector when a write into it is torn: in mode
// never, too, where an append fills no sector.
func TestATornAppendTakesNothingThatACheckpointCovers(t *testing.T) {
	config, used, cut := paddedConfig(partition.SyncNever), int64(0), int64(0)
	for seed := range uint64(150) {
		n := torn(t, config, seed, 1+int64(seed%3), func(l *log, p *partition.Partition) error { return l.check(p) })
		if n.Visits(partition.PointMessagesMissing) > 0 {
			t.Errorf("seed %d: messages that a checkpoint covers are gone", seed)
		}
		used += n.Visits(partition.PointCheckpointUsed)
		cut += n.Visits(partition.PointTornTail)
	}
	if used == 0 || cut == 0 {
		t.Errorf("%d checkpoints were used, and %d logs were torn", used, cut)
	}
}

// TestAnAppendThatNoSyncFollowsFillsNoSector: in mode never a log is as long as its records until a checkpoint is due; in the others
// it ends a sector.
func TestAnAppendThatNoSyncFollowsFillsNoSector(t *testing.T) {
	for _, mode := range []partition.SyncMode{partition.SyncAlways, partition.SyncGroup, partition.SyncInterval, partition.SyncNever} {
		config := paddedConfig(mode)
		w, n := world(1, config)
		n.Start(func(h host.Host) error {
			life, err := begin(h, config)
			l := newLog()
			for i := 0; i < 3 && err == nil; i++ {
				err = l.append(life.p, 1)
			}
			if err != nil {
				return err
			}
			length := life.p.Segments()[0].Bytes
			if filled := length%config.PadBytes == 0; filled == (mode == partition.SyncNever) {
				t.Errorf("%s: a log of 3 messages has %d bytes", mode, length)
			}
			return life.end()
		})
		if v := w.Run(time.Hour); v.Failed() {
			t.Fatal(v.String())
		}
	}
}

// TestACopyOfATornLogEndsASector, so that no append to it is written into a sector that a start has made durable.
func TestACopyOfATornLogEndsASector(t *testing.T) {
	for _, mode := range []partition.SyncMode{partition.SyncGroup, partition.SyncNever} {
		salvaged := int64(0)
		for seed := range uint64(40) {
			n := torn(t, paddedConfig(mode), seed, 2, func(l *log, p *partition.Partition) error {
				all := p.Segments()
				if length := all[len(all)-1].Bytes; length%512 != 0 {
					t.Errorf("%s, seed %d: the newest log has %d bytes", mode, seed, length)
				}
				return l.check(p)
			})
			salvaged += n.Visits(partition.PointSalvaged)
		}
		if salvaged == 0 {
			t.Errorf("%s: no log was copied", mode)
		}
	}
}

// TestALogOutlivesSettings: records that were made when messages could be longer, or were padded to more, are read and kept by a life
// with smaller settings, which reads them where a start copies them, too.
func TestALogOutlivesSettings(t *testing.T) {
	l, lifes := newLog(), 0
	large := unsealedConfig()
	large.PadBytes = 4096
	small := large
	small.PadBytes, small.MessageBytesMax = 512, 100
	w, n := world(1, large)
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("life %d: %v", lifes, err)
		}
		if lifes++; lifes == 1 {
			w.At(time.Millisecond, func() {
				n.Start(func(h host.Host) error {
					life, err := begin(h, small)
					if err != nil {
						return err
					}
					return errors.Join(l.check(life.p), life.end())
				})
			})
		}
	})
	n.Start(func(h host.Host) error {
		life, err := begin(h, large)
		for range 8 {
			if err == nil {
				err = l.append(life.p, 1)
			}
		}
		n.Crash(sim.PowerCut(disk.Keep))
		return err
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}
