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
	GroupBytesMax int64         // soft bound on a group, journalBufferedWritesThreshold
	SparesMax     int           // trimmed files kept to be used again; journalReuseFiles in more detail
	Sync          SyncMode      // journalSyncData in more detail
	SyncInterval  time.Duration // journalPageCacheFlushIntervalMSec, mode interval only
}

// DefaultConfig returns the settings for a real disk.
func DefaultConfig() Config {
	return Config{FileBytes: 256 << 20, GroupBytesMax: 4 << 20, SparesMax: 2, Sync: SyncGroup, SyncInterval: time.Second}
}

// Validate reports the first setting that cannot work. recordBytesMax is the longest batch the caller appends.
func (c Config) Validate(recordBytesMax int64) error {
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
	// A group may pass its soft bound by the batches that were let in together.
	if need := 2*(c.GroupBytesMax+recordBytesMax) + 2*record.Align; c.FileBytes < need {
		return fmt.Errorf("journal file size %d: must hold the largest group, %d bytes", c.FileBytes, need)
	}
	return nil
}
