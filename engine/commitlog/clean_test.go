package commitlog_test

import (
	"errors"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestExpiredFilesGoAtTheirHour, and not before.
func TestExpiredFilesGoAtTheirHour(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	config.Retention.Interval, config.Retention.Age = time.Second, 10*time.Second
	b := newBook(t, config)
	first := func() int64 { return b.store.Stats().First }
	b.lives(func() error { return b.addAll(60) }, func() error {
		b.h.Root().Sleep(time.Minute)
		if first() != 0 {
			t.Errorf("the log begins at %d before the hour has come", first())
		}
		for range 24 { // the hour is 4
			before := first()
			b.node.JumpClock(time.Hour)
			b.h.Root().Sleep(2 * time.Second)
			hour := int(int64(b.h.Now()) / int64(time.Hour) % 24)
			if (first() > before) != (hour == 4) {
				t.Errorf("at %d o'clock the log's begin goes from %d to %d", hour, before, first())
			}
		}
		return errors.Join(b.addAll(5), b.mustHold(true))
	})
}

// TestAStoreStartsOnAFullVolume: a start needs room, and makes it by the rule of retention; else it could never start again.
func TestAStoreStartsOnAFullVolume(t *testing.T) {
	config := smallConfig(commitlog.FlushGroup)
	config.CheckpointInterval, config.CheckpointBytes = 10*time.Millisecond, 4<<10
	b := newBook(t, config)
	b.node.Disk(commitlog.StoreVolume).Replace(1 << 20)
	first := int64(0)
	b.lives(func() error {
		if err := b.addAll(60); err != nil {
			return err
		}
		b.h.Root().Sleep(time.Second) // the last checkpoint
		if err := b.addAll(3); err != nil {
			return err
		}
		dir, err := b.h.Disk(commitlog.StoreVolume)
		if err != nil {
			return err
		}
		ballast, err := dir.Create("ballast")
		if err != nil {
			return err
		}
		err = host.ErrNoSpace
		for errors.Is(err, host.ErrNoSpace) { // a checkpoint may take some of it meanwhile
			var free int64
			if free, _, err = dir.Usage(); err == nil {
				err = ballast.Allocate(0, free)
			}
		}
		if err == nil {
			err = errors.Join(ballast.Sync(), dir.SyncDir())
		}
		first = b.store.Stats().First
		b.node.Crash(sim.KillProcess())
		return err
	}, func() error {
		if b.store.Stats().First <= first {
			t.Errorf("the log begins at %d, as before: nothing has made room", first)
		}
		return b.mustHold(true)
	})
}

// TestAFullDiskHasFilesRemoved: expired ones at any hour, then young ones, and above the warning level nothing is taken in until
// there is room again.
func TestAFullDiskHasFilesRemoved(t *testing.T) {
	const capacity = 4 << 20
	config := smallConfig(commitlog.FlushGroup)
	config.Retention.Interval, config.Retention.Age, config.Retention.DeleteHours = time.Second, 30*time.Second, nil
	b := newBook(t, config)
	b.node.Disk(commitlog.StoreVolume).Replace(capacity)
	first := func() int64 { return b.store.Stats().First }
	b.lives(func() error {
		dir, err := b.h.Disk(commitlog.StoreVolume)
		if err != nil {
			return err
		}
		ballast, err := dir.Create("ballast")
		if err != nil {
			return err
		}
		fill := func(used float64) error {
			free, total, err := dir.Usage()
			if err != nil {
				return err
			}
			size, err := ballast.Size()
			if err != nil {
				return err
			}
			want := size + int64(used*float64(total)) - (total - free)
			err = ballast.Truncate(want)
			b.h.Root().Sleep(1100 * time.Millisecond)
			return err
		}
		if err := errors.Join(b.addAll(60), fill(0.80)); err != nil {
			return err
		}
		if first() != 0 {
			t.Errorf("young files went from a disk that is not very full: the log begins at %d", first())
		}
		b.h.Root().Sleep(40 * time.Second)
		expired := first()
		if expired == 0 {
			t.Error("expired files stay on a disk that is getting full")
		}
		if err := errors.Join(fill(0.5), b.addAll(60), fill(0.88)); err != nil {
			return err
		}
		if first() <= expired {
			t.Error("young files stay on a disk that is nearly full")
		}
		if err := fill(0.99); err != nil {
			return err
		}
		b.h.Root().Sleep(3 * time.Second)
		if err := b.add("orders", 0); !errors.Is(err, host.ErrNoSpace) || errors.Is(err, commitlog.ErrOutcomeUnknown) {
			t.Errorf("append to a disk above its warning level: %v", err)
		}
		if err := b.store.Full(); !errors.Is(err, host.ErrNoSpace) {
			t.Errorf("the store says of its room: %v", err)
		}
		b.sent["orders/0"]--
		if err := fill(0.5); err != nil {
			return err
		}
		return errors.Join(ballast.Close(), b.addAll(10), b.mustHold(true))
	}, func() error { return b.mustHold(true) })
}

// TestARefusedAppendHasRoomMade: whoever finds the disk full need not wait for retention's interval, whether the volume's levels say so, or the
// next file does not fit though they do not. It is looked at on a real disk's terms: what takes the room is somebody else's.
func TestARefusedAppendHasRoomMade(t *testing.T) {
	for _, c := range []struct {
		name     string
		forcibly float64
	}{{"levels tell", 0.85}, {"only the refusal tells", 0.999}} {
		config := smallConfig(commitlog.FlushGroup) // its interval is an hour
		config.CheckpointInterval = time.Hour
		config.Retention.DiskForcibly, config.Retention.DiskWarning = c.forcibly, 0.9999
		b := newBook(t, config)
		b.node.Disk(commitlog.StoreVolume).Replace(1 << 20)
		b.lives(func() error {
			if err := b.addAll(60); err != nil {
				return err
			}
			dir, err := b.h.Disk(commitlog.StoreVolume)
			if err != nil {
				return err
			}
			ballast, err := dir.Create("ballast")
			if err != nil {
				return err
			}
			free, _, err := dir.Usage()
			if err == nil {
				err = ballast.Allocate(0, free-6<<10)
			}
			if err != nil {
				return err
			}
			refused := false
			for range 60 {
				err := b.add("orders", 0)
				if errors.Is(err, host.ErrNoSpace) {
					b.sent["orders/0"]--
					refused = true
					break
				}
				if err != nil {
					return err
				}
			}
			b.h.Root().Sleep(3 * config.RetryPause)
			if !refused || b.store.Stats().First == 0 {
				t.Errorf("%s: refused %v, the log begins at %d", c.name, refused, b.store.Stats().First)
			}
			return errors.Join(b.addAll(3), ballast.Close(), b.mustHold(true))
		})
	}
}

// TestAFailedRemovalStopsTheStore, whoever asked for the round: nobody knows whether the name is gone, and if the next one were removed for good
// there might be a gap. Its next life has all that the files hold, and removes them.
func TestAFailedRemovalStopsTheStore(t *testing.T) {
	for _, kind := range []sim.DiskKind{sim.DiskRemove, sim.DiskSyncDir} {
		config := smallConfig(commitlog.FlushGroup)
		config.Retention.Interval, config.Retention.Age, config.Retention.DeleteHours = time.Hour, time.Second, everyHour()
		b := newBook(t, config)
		fail, removed := false, 0
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if op.Kind == sim.DiskRemove {
				removed++
			}
			if fail && op.Kind == kind {
				fail = false
				return sim.DiskEffect{Err: host.ErrIO}
			}
			return sim.DiskEffect{}
		})
		b.lives(func() error {
			if err := b.addAll(60); err != nil {
				return err
			}
			b.h.Root().Sleep(5 * time.Second)
			if err := b.store.CreateTopic("checkpointed", 1); err != nil {
				return err
			}
			fail, removed = true, 0
			for range 3 {
				if err := b.store.Clean(); !errors.Is(err, commitlog.ErrFailed) && !errors.Is(err, host.ErrIO) {
					t.Errorf("a round over a failed removal: %v", err)
				}
			}
			if fail || removed != 1 {
				t.Errorf("%d files were removed, the first of them with a failure", removed)
			}
			if err := b.store.AwaitEnd(b.h.Root()); !errors.Is(err, commitlog.ErrFailed) {
				t.Errorf("the store ended with %v", err)
			}
			b.node.Crash(sim.PowerCut(disk.Drop))
			return nil
		}, func() error {
			first := b.store.Stats().First
			if err := b.store.Clean(); err != nil || b.store.Stats().First <= first {
				t.Errorf("the next life removes nothing: the log begins at %d, %v", b.store.Stats().First, err)
			}
			return b.mustHold(true)
		})
	}
}
