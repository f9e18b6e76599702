package bookie

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/record"
)

// Volumes that a bookie asks its host for.
const (
	JournalVolume = "journal"
	LedgerVolume  = "ledger"
)

// Config holds a bookie's settings.
type Config struct {
	BookieID   string // host:port under which clients know it
	InstanceID string // of the cluster; a directory of another cluster is refused

	Journal  journal.Config
	EntryLog entrylog.Config
	Scrub    ScrubConfig

	WriteCacheBytesMax int64         // both generations together with their indexes, dbStorage_writeCacheMaxSizeMb
	ChunkBytes         int           // the cache's unit of memory
	SlowFromPercent    int           // of a generation: from here adds are slowed while a flush runs
	SlowestDelay       time.Duration // of one batch, just before the cache is full
	CheckpointInterval time.Duration // flushInterval
	RetryPause         time.Duration // after a checkpoint that failed
	EntryBytesMax      int           // longest stored entry, below nettyMaxFrameSizeBytes
	BatchBytesMax      int64         // longest batch that Submit takes, journal framing included

	// TakesNewInDoubt has a bookie in doubt take a ledger that begins here with an ordinary add of entry 0 for new. That
	// is for one whose doubt nobody ends: an acknowledged fence of a ledger without entries may have been lost. A process
	// that calls SettleDoubt turns it off.
	TakesNewInDoubt bool
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		BookieID: "127.0.0.1:3181", InstanceID: "lakebed",
		Journal: journal.DefaultConfig(), EntryLog: entrylog.DefaultConfig(), Scrub: DefaultScrubConfig(),
		WriteCacheBytesMax: 256 << 20, ChunkBytes: 1 << 20,
		SlowFromPercent: 70, SlowestDelay: 20 * time.Millisecond,
		CheckpointInterval: 10 * time.Second, RetryPause: time.Second,
		EntryBytesMax: ledger.StoredBytesMax, BatchBytesMax: 8 << 20,
		TakesNewInDoubt: true,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if c.BookieID == "" || c.InstanceID == "" {
		return fmt.Errorf("bookie id %q and instance id %q: must not be empty", c.BookieID, c.InstanceID)
	}
	if c.EntryBytesMax < 1 || c.BatchBytesMax < int64(c.EntryBytesMax+FramingBytes) {
		return fmt.Errorf("longest batch %d: must hold the longest entry, %d bytes, and its framing, %d",
			c.BatchBytesMax, c.EntryBytesMax, FramingBytes)
	}
	if err := c.Journal.Validate(c.BatchBytesMax); err != nil {
		return err
	}
	if c.EntryLog.GroupBytes+c.EntryBytesMax > record.MaxGroupBytes/2 {
		return fmt.Errorf("entry log group size %d and longest entry %d: must not pass %d together",
			c.EntryLog.GroupBytes, c.EntryBytesMax, record.MaxGroupBytes/2)
	}
	if err := c.EntryLog.Validate(); err != nil {
		return err
	}
	if err := c.Scrub.Validate(); err != nil {
		return err
	}
	if c.ChunkBytes < 1 || c.WriteCacheBytesMax < 4*int64(c.ChunkBytes) {
		return fmt.Errorf("write cache of %d bytes: must hold four chunks of %d", c.WriteCacheBytesMax, c.ChunkBytes)
	}
	if c.WriteCacheBytesMax+c.BatchBytesMax+c.EntryLog.LogBytesMax >= 1<<31 {
		return fmt.Errorf("write cache %d and entry log %d: a flush into an open log must stay below 2 GiB",
			c.WriteCacheBytesMax, c.EntryLog.LogBytesMax)
	}
	if c.SlowFromPercent < 1 || c.SlowFromPercent > 100 {
		return fmt.Errorf("slow from %d %%: must be 1 to 100", c.SlowFromPercent)
	}
	if c.SlowestDelay < 0 {
		return fmt.Errorf("slowest delay %v: must not be negative", c.SlowestDelay)
	}
	if c.CheckpointInterval <= 0 || c.RetryPause <= 0 {
		return fmt.Errorf("checkpoint interval %v and retry pause %v: must be positive", c.CheckpointInterval, c.RetryPause)
	}
	return nil
}
