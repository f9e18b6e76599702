package journal

import (
	"fmt"
	"time"

	"lakebed/engine/record"
)

// SyncMode says when the journal syncs. The names of the settings follow bookkeeper.conf where it has them.
type SyncMode string

// The sync modes, from the safest to none.
const (
	SyncAlways   SyncMode = "always"   // every batch is a group of its own, synced before it completes
	SyncGroup    SyncMode = "group"    // one sync a group, before its batches complete
	SyncInterval SyncMode = "interval" // batches complete when written; synced every SyncInterval
	SyncNever    SyncMode = "never"    // batches complete when written; never synced while running
)

// Config holds the journal's settings.
type Config struct {
	FileBytes     int64         // size of a file, journalMaxSizeMB
	GroupBytesMax int64         // bound on a group, soft by one batch, journalBufferedWritesThreshold
	GroupWait     time.Duration // how long a smaller group waits for more batches, journalMaxGroupWaitMSec; not in mode always
	SparesMax     int           // trimmed files kept to be used again; journalReuseFiles in more detail
	Sync          SyncMode      // journalSyncData in more detail
	SyncInterval  time.Duration // journalPageCacheFlushIntervalMSec, mode interval only
}

// DefaultConfig returns the settings for a real disk.
func DefaultConfig() Config {
	return Config{FileBytes: 256 << 20, GroupBytesMax: 4 << 20, SparesMax: 2, Sync: SyncGroup, SyncInterval: time.Second}
}

// Validate reports the first setting that cannot work. batchBytesMax is the longest batch the caller appends, framing of
// its records included.
func (c Config) Validate(batchBytesMax int64) error {
	switch c.Sync {
	case SyncAlways, SyncGroup, SyncInterval, SyncNever:
	default:
		return fmt.Errorf("journal sync mode %q: want always, group, interval or never", c.Sync)
	}
	if c.Sync == SyncInterval && c.SyncInterval <= 0 {
		return fmt.Errorf("journal sync interval %v: must be positive", c.SyncInterval)
	}
	if c.FileBytes%record.Align != 0 {
		return fmt.Errorf("journal file size %d: must be a multiple of %d", c.FileBytes, record.Align)
	}
	if c.GroupBytesMax < 1 || c.SparesMax < 0 {
		return fmt.Errorf("journal group size %d and spare files %d: must be positive and not negative", c.GroupBytesMax, c.SparesMax)
	}
	if c.GroupWait < 0 {
		return fmt.Errorf("wait of a journal group %v: must not be negative", c.GroupWait)
	}
	group := c.GroupBytesMax + batchBytesMax // a batch is taken while the group is below its bound
	if group > record.MaxGroupBytes {
		return fmt.Errorf("journal group size %d and longest batch %d: must not pass %d together",
			c.GroupBytesMax, batchBytesMax, record.MaxGroupBytes)
	}
	if need := record.FileHeaderBytes + record.EncodedBytes(int(group)); c.FileBytes < need {
		return fmt.Errorf("journal file size %d: must hold the largest group, %d bytes", c.FileBytes, need)
	}
	return nil
}
