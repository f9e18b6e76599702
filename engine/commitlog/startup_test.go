package commitlog_test

import (
	"strings"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/sim"
)

// TestAStartReadsAsMuchHoweverMuchIsStored: a store is killed with few messages and with many, in a lot of files and in one large file of
// the key index. What the next start reads is bounded by settings, and does not grow.
func TestAStartReadsAsMuchHoweverMuchIsStored(t *testing.T) {
	var read []map[string]int64
	for _, messages := range []int{300, 1200} {
		config := smallConfig(commitlog.FlushGroup)
		config.IndexSlots, config.IndexEntries, config.IndexSnapshotEntries = 32, 1<<20, 60
		config.UncheckedBytesMax = config.CheckpointBytes + config.GroupBytesMax + 4<<10
		b := newBook(t, config)
		bytes := map[string]int64{}
		counting := false
		b.node.Disk(commitlog.StoreVolume).SetFaults(func(op *sim.DiskOp) sim.DiskEffect {
			if counting && op.Kind == sim.DiskRead {
				where, _, _ := strings.Cut(op.Path, "/")
				bytes[where] += op.Length
			}
			return sim.DiskEffect{}
		})
		b.lives(func() error {
			if err := b.addAll(messages / 4); err != nil {
				return err
			}
			counting = true
			b.node.Crash(sim.KillProcess())
			return nil
		}, func() error {
			counting = false
			return b.mustHold(true)
		})
		read = append(read, bytes)
	}
	config := smallConfig(commitlog.FlushGroup)
	config.UncheckedBytesMax = config.CheckpointBytes + config.GroupBytesMax + 4<<10
	for _, bytes := range read {
		// The log behind a checkpoint is read to be replayed, to be copied, and to be written again.
		if limit := 3*config.UncheckedBytesMax + config.GroupBytesMax; bytes["commitlog"] > limit {
			t.Errorf("%d bytes of the log were read, want %d at most", bytes["commitlog"], limit)
		}
		if limit := int64(2*(24+32*4+24) + 3*60*20); bytes["index"] == 0 || bytes["index"] > limit {
			t.Errorf("%d bytes of the key index were read, want %d at most", bytes["index"], limit)
		}
	}
	t.Logf("bytes read, by directory: %v", read)
}
