package commitlog_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// TestAnAppendThatNoSyncFollowsFillsNoSector: in mode never a message lies right behind the one before, also where each is a group
// of its own; in the other modes each begins a sector.
func TestAnAppendThatNoSyncFollowsFillsNoSector(t *testing.T) {
	for _, mode := range allModes {
		b := newBook(t, smallConfig(mode))
		b.lives(func() error {
			if err := b.store.CreateTopic("orders", 1); err != nil {
				return err
			}
			end := int64(0)
			for n := range 6 {
				m := makeMessage("orders", 0, n)
				placed, err := b.store.Append(m)
				if err != nil {
					return err
				}
				switch sector := b.config.SectorBytes; {
				case mode == commitlog.FlushNever && placed.Physical != end:
					t.Errorf("%s: message %d is at %d, and the one before ends at %d", mode, n, placed.Physical, end)
				case mode != commitlog.FlushNever && placed.Physical%sector != 0:
					t.Errorf("%s: message %d is at %d", mode, n, placed.Physical)
				}
				end = placed.Physical + int64(m.Size())
			}
			return nil
		})
	}
}

// TestATornAppendTakesNothingThatACheckpointCounts, on a device that spoils a whole sector when a write into it is torn. In mode
// never, too, what was appended before a checkpoint is there after the power cut, whatever was appended behind it.
func TestATornAppendTakesNothingThatACheckpointCounts(t *testing.T) {
	for seed := range uint64(60) {
		b := newBookOf(t, smallConfig(commitlog.FlushNever), seed)
		var counted map[string]int
		b.lives(func() error {
			if err := errors.Join(b.store.CreateTopic("orders", 2), b.store.CreateTopic("payments", 2)); err != nil {
				return err
			}
			if err := errors.Join(b.addAll(1+int(seed%3)), b.settled(), b.store.CreateTopic("more", 1)); err != nil {
				return err
			}
			counted = maps.Clone(b.sent)
			if err := b.addAll(1); err != nil {
				return err
			}
			b.node.Crash(sim.PowerCut(disk.Torn))
			return nil
		}, func() error {
			if err := b.mustHold(false); err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			for _, name := range host.SortedKeys(counted) {
				n := counted[name]
				if _, end, err := b.store.Bounds(name[:len(name)-2], int32(name[len(name)-1]-'0')); err != nil || end < int64(n) {
					t.Errorf("seed %d: %s ends at %d (%v), and a checkpoint has counted %d", seed, name, end, err, n)
				}
			}
			return nil
		})
	}
}
