package client

import (
	"fmt"
	"math"
	"time"

	"lakebed/engine/bookkeeper/client/pool"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/wire"
)

// Config bounds a client. Names in comments are those of BookKeeper's client configuration.
type Config struct {
	Pool pool.Config

	AddTimeout      time.Duration // for one bookie's answer: addEntryTimeoutSec
	ReadTimeout     time.Duration // for one replica's answer: readEntryTimeoutSec
	MetadataTimeout time.Duration // for one answer of the metadata store: zkTimeout

	// What one writer holds: entries that were appended and are neither acknowledged nor failed. Append waits for room.
	WindowEntries int
	WindowBytes   int64 // their stored bytes, soft by one entry
	// AppendBytesMax bounds the stored bytes in the windows of all writers together, soft by one entry a task.
	AppendBytesMax int64

	// SpeculativeReadTimeout is for how long a replica may be silent until the next one is asked as well:
	// speculativeReadTimeout. Zero: it is waited for as long as ReadTimeout.
	SpeculativeReadTimeout time.Duration

	ReadsInFlight   int   // single reads of one call at a time
	BatchesInFlight int   // batch reads of one Read at a time
	ReadEntriesMax  int   // entries of one Read or BatchRead
	ReadBytesMax    int64 // stored bytes of one Read, soft by what is in flight
	// BatchReads lets reads of unstriped ledgers ask for many entries at once: batchReadEnabled.
	BatchReads bool
	// BatchPause is for how long a reader does without batch reads after one cost it its connection, as a bookie does that
	// does not know them. BookKeeper does without for the life of the handle.
	BatchPause time.Duration

	// RecoveryReads is how many entries recovery reads and writes again at a time: recoveryReadBatchSize, 1 in BookKeeper.
	RecoveryReads int

	Ledgers metadata.LedgersConfig
	// The pause before writing metadata again, when the store left the outcome open; doubling.
	RetryPauseMin time.Duration
	RetryPauseMax time.Duration

	// PollMin and PollMax bound how often WaitFor asks the bookies for a LAC; the pause doubles while nothing comes.
	PollMin time.Duration
	PollMax time.Duration
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		Pool:       pool.DefaultConfig(),
		AddTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, MetadataTimeout: 10 * time.Second,
		WindowEntries: 4096, WindowBytes: 32 << 20, AppendBytesMax: 256 << 20,
		SpeculativeReadTimeout: 2 * time.Second,
		ReadsInFlight:          64, BatchesInFlight: 4, ReadEntriesMax: 64 << 10, ReadBytesMax: 256 << 20, BatchReads: true, BatchPause: time.Minute,
		RecoveryReads: 32,
		Ledgers:       metadata.DefaultLedgersConfig(), RetryPauseMin: 100 * time.Millisecond, RetryPauseMax: 2 * time.Second,
		PollMin: 100 * time.Millisecond, PollMax: time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := c.Pool.Validate(); err != nil {
		return err
	}
	if min(c.AddTimeout, c.ReadTimeout, c.MetadataTimeout) <= 0 {
		return fmt.Errorf("timeouts %v, %v and %v: must be positive", c.AddTimeout, c.ReadTimeout, c.MetadataTimeout)
	}
	if c.WindowEntries < 1 || c.WindowBytes < 1 || c.AppendBytesMax < 1 {
		return fmt.Errorf("window of %d entries and %d bytes, %d bytes of all: must be positive",
			c.WindowEntries, c.WindowBytes, c.AppendBytesMax)
	}
	if min(c.ReadsInFlight, c.BatchesInFlight, c.ReadEntriesMax, c.RecoveryReads) < 1 || c.ReadBytesMax < 1 {
		return fmt.Errorf("reads in flight %d, batches %d, entries %d, bytes %d, recovery reads %d: must be positive",
			c.ReadsInFlight, c.BatchesInFlight, c.ReadEntriesMax, c.ReadBytesMax, c.RecoveryReads)
	}
	if c.BatchPause < 0 || c.SpeculativeReadTimeout < 0 {
		return fmt.Errorf("batch pause %v, speculative read timeout %v: must not be negative", c.BatchPause, c.SpeculativeReadTimeout)
	}
	if c.ReadEntriesMax > math.MaxInt32 {
		return fmt.Errorf("%d entries of one read: more than a batch read can ask for", c.ReadEntriesMax)
	}
	if err := c.Ledgers.Validate(); err != nil {
		return err
	}
	// Shorter pauses are ticks: they cost the simulator, and a real store, more than they bring.
	if c.RetryPauseMin <= 0 || c.RetryPauseMax < c.RetryPauseMin || c.PollMin < 100*time.Millisecond || c.PollMax < c.PollMin {
		return fmt.Errorf("retry pauses %v to %v, polls %v to %v: must ascend, polls from 100ms",
			c.RetryPauseMin, c.RetryPauseMax, c.PollMin, c.PollMax)
	}
	if c.Pool.Channel.FrameBytesMax < wire.BatchResponseOverheadBytes {
		return fmt.Errorf("longest frame %d: holds no batch read's answer", c.Pool.Channel.FrameBytesMax)
	}
	return nil
}
