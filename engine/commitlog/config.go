package commitlog

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
)

// StoreVolume is the volume in which the store keeps its files.
const StoreVolume = "store"

// FlushMode says when an append is acknowledged (C-18). Upstream's SYNC_FLUSH is group, its ASYNC_FLUSH is interval.
type FlushMode string

// The flush modes, from the safest to none.
const (
	FlushAlways   FlushMode = "always"   // every message is synced alone, before it is acknowledged
	FlushGroup    FlushMode = "group"    // one sync for those that came meanwhile, before they are acknowledged
	FlushInterval FlushMode = "interval" // acknowledged when written; synced every FlushInterval
	FlushNever    FlushMode = "never"    // acknowledged when written; only checkpoints sync
)

// synced reports whether a message is on the media when it is acknowledged.
func (m FlushMode) synced() bool { return m == FlushAlways || m == FlushGroup }

// Advice is what the kernel is told of how files of the log will be read. It changes no answer.
type Advice string

// The kinds of advice. Upstream's dataReadAheadEnable is normal, without it random.
const (
	AdviceNormal     Advice = "normal"     // the kernel guesses from what is read
	AdviceSequential Advice = "sequential" // it reads far ahead
	AdviceRandom     Advice = "random"     // it reads nothing ahead: the application knows better
)

func (a Advice) toHost() (advice host.Advice, known bool) {
	switch a {
	case AdviceNormal:
		return host.AdviseNormal, true
	case AdviceSequential:
		return host.AdviseSequential, true
	case AdviceRandom:
		return host.AdviseRandom, true
	}
	return host.AdviseNormal, false
}

// Config holds the store's settings. The names in the comments are those of broker.conf.
type Config struct {
	FileBytes     int64                // mappedFileSizeCommitLog
	Preallocation series.Preallocation // warmMapedFileEnable in more detail
	SparesMax     int                  // files kept to be used again, Preallocation recycled only
	Advice        Advice               // what the kernel is told of how the log will be read
	MappedFiles   int                  // log files kept mapped for those who send out of mappings; zero: none is
	MappedAppends bool                 // in the modes interval and never: short groups are copied into the page cache, without a call of the kernel for each
	RetryPause    time.Duration        // between attempts to do what a full disk refuses

	// ZeroAheadBytes is how much of a fallocated file is written with zeros at once, ahead of the log's end, in the modes always
	// and group: then most syncs need no commit of the file system's journal. Zero: nothing is.
	ZeroAheadBytes int64

	Flush           FlushMode     // flushDiskType
	FlushInterval   time.Duration // flushIntervalCommitLog
	GroupBytesMax   int64         // bound on what one sync makes durable, soft by one message
	GroupWait       time.Duration // how long a smaller group waits for more messages; not in mode always. Above zero a task commits
	SectorBytes     int64         // a group begins at a multiple of it: what the device may spoil when a write is torn; 1: anywhere. In mode never only the first behind a checkpoint does
	BodyBytesMax    int           // maxMessageSize
	PropertiesMax   int           // bytes of a message's properties, at most message.PropertiesMax
	QueuesPerTopic  int32         // defaultTopicQueueNums, of a topic that is made by its first message
	QueuesMax       int           // of all topics together
	AutoCreateTopic bool          // autoCreateTopicEnable

	QueueFileUnits     int64         // mappedFileSizeConsumeQueue / 20
	AckAfterDispatch   bool          // acknowledge a message only when consumers can see it
	DispatchBytes      int           // read at once when units are made
	DispatchPause      time.Duration // between two batches of units that nobody waits for; zero: none
	CheckpointInterval time.Duration // flushConsumeQueueThoroughInterval: the longest between two checkpoints
	CheckpointBytes    int64         // of the log behind a checkpoint, at which the next one begins
	UncheckedBytesMax  int64         // of the log behind a checkpoint: bounds what a start reads, if it is more than CheckpointBytes; appends wait for a checkpoint then
	PendingUnitsMax    int64         // units made since the last checkpoint; dispatch waits for one then
	OpenFilesMax       int           // of consume queues and of the key index

	PullBytesMax int64         // maxTransferBytesOnMessageInMemory; one message always fits
	PullCountMax int           // maxTransferCountOnMessageInMemory
	ScanUnitsMax int           // maxFilterMessageSize / 20: units one pull looks at
	SuspendMax   time.Duration // brokerSuspendMaxTimeMillis: how long a pull may wait
	ReadAheadMin int64         // first window of a pull, doubled while messages lie together (R4-28…R4-30)
	ReadAheadMax int64         // dataReadAheadEnable in more detail; zero: each message is read alone
	SuspendedMax int           // pulls that may wait at the same time; others are answered at once
	KeyIndex     bool          // messageIndexEnable
	IndexSlots   int32         // maxHashSlotNum
	IndexEntries int32         // maxIndexNum
	// IndexSnapshotEntries is how many entries are added to the key index between two copies of its slots: bounds what a start reads of it.
	IndexSnapshotEntries int32
	Retention            Retention
	ClockZone            time.Duration // east of UTC, for Retention.DeleteHours
	CloseDispatch        time.Duration // how long a clean stop waits for dispatch
}

// Retention says when files of the log are removed (C-19).
type Retention struct {
	Interval      time.Duration // cleanResourceInterval
	Age           time.Duration // fileReservedTime
	DeleteHours   []int         // deleteWhen: the hours of the day in which expired files go
	DiskMaxUsed   float64       // diskMaxUsedSpaceRatio: above it expired files go at any hour
	DiskForcibly  float64       // diskSpaceCleanForciblyRatio: above it the oldest files go, expired or not
	DiskWarning   float64       // diskSpaceWarningLevelRatio: above it appends are refused
	FilesMax      int           // deleteFileBatchMax: of one round
	CleanForcibly bool          // cleanFileForciblyEnable
}

// DefaultConfig returns the settings for a real disk: upstream's, but for what a comment says.
func DefaultConfig() Config {
	return Config{
		FileBytes: 1 << 30, Preallocation: series.Fallocated, // upstream: sparse, so that a full disk strikes anywhere
		SparesMax: 2, RetryPause: 100 * time.Millisecond, Advice: AdviceNormal, MappedFiles: 256, MappedAppends: true, ZeroAheadBytes: 1 << 20,
		Flush:         FlushGroup, // upstream: ASYNC_FLUSH
		FlushInterval: 500 * time.Millisecond, GroupBytesMax: 4 << 20, SectorBytes: 512, BodyBytesMax: 4 << 20, PropertiesMax: message.PropertiesMax,
		QueuesPerTopic: 4, QueuesMax: 100_000, AutoCreateTopic: true,
		QueueFileUnits: 300_000, DispatchBytes: 1 << 20, DispatchPause: 5 * time.Millisecond,
		CheckpointInterval: 5 * time.Second, CheckpointBytes: 32 << 20, UncheckedBytesMax: 128 << 20,
		PendingUnitsMax: 1 << 20, OpenFilesMax: 3500,
		PullBytesMax: 256 << 10, PullCountMax: 32, ScanUnitsMax: 800, SuspendMax: 20 * time.Second, SuspendedMax: 100_000,
		ReadAheadMin: 4 << 10, ReadAheadMax: 256 << 10,
		KeyIndex: true, IndexSlots: 5_000_000, IndexEntries: 20_000_000, IndexSnapshotEntries: 1_000_000,
		Retention: Retention{
			Interval: 10 * time.Second, Age: 72 * time.Hour, DeleteHours: []int{4},
			DiskMaxUsed: 0.75, DiskForcibly: 0.85, DiskWarning: 0.90, FilesMax: 10, CleanForcibly: true,
		},
		CloseDispatch: 10 * time.Second,
	}
}

// recordBytesMax is the longest record that a message may need.
func (c *Config) recordBytesMax() int64 {
	return message.FixedBytes + int64(c.BodyBytesMax) + topicBytesMax + int64(c.PropertiesMax) + 2*ipv6Surplus
}

const (
	topicBytesMax = 127
	ipv6Surplus   = 12
)

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch c.Flush {
	case FlushAlways, FlushGroup, FlushInterval, FlushNever:
	default:
		return fmt.Errorf("flush mode %q: want always, group, interval or never", c.Flush)
	}
	if _, known := c.Advice.toHost(); !known {
		return fmt.Errorf("advice %q: want normal, sequential or random", c.Advice)
	}
	if err := c.seriesConfig().Validate(); err != nil {
		return err
	}
	if need := c.recordBytesMax() + message.BlankBytes; c.FileBytes < need {
		return fmt.Errorf("log file size %d: must hold the largest message, %d bytes", c.FileBytes, need)
	}
	for _, positive := range []struct {
		name  string
		value int64
	}{
		{"flush interval", int64(c.FlushInterval)}, {"group size", c.GroupBytesMax}, {"sector size", c.SectorBytes}, {"body size", int64(c.BodyBytesMax)},
		{"queues of a topic", int64(c.QueuesPerTopic)}, {"queues", int64(c.QueuesMax)}, {"units of a queue's file", c.QueueFileUnits},
		{"bytes dispatched at once", int64(c.DispatchBytes)}, {"checkpoint interval", int64(c.CheckpointInterval)},
		{"bytes between checkpoints", c.CheckpointBytes}, {"bytes behind a checkpoint", c.UncheckedBytesMax}, {"units in memory", c.PendingUnitsMax}, {"open files", int64(c.OpenFilesMax)},
		{"bytes of a pull", c.PullBytesMax}, {"messages of a pull", int64(c.PullCountMax)}, {"units scanned by a pull", int64(c.ScanUnitsMax)},
		{"cleaning interval", int64(c.Retention.Interval)}, {"files removed at once", int64(c.Retention.FilesMax)},
		{"wait of a stop for dispatch", int64(c.CloseDispatch)},
	} {
		if positive.value < 1 {
			return fmt.Errorf("%s %d: must be positive", positive.name, positive.value)
		}
	}
	if c.PropertiesMax < 0 || c.PropertiesMax > message.PropertiesMax {
		return fmt.Errorf("properties of %d bytes: want 0 to %d", c.PropertiesMax, message.PropertiesMax)
	}
	if c.FileBytes%c.SectorBytes != 0 {
		return fmt.Errorf("log file size %d: must be a multiple of the sector size %d", c.FileBytes, c.SectorBytes)
	}
	if c.KeyIndex && (c.IndexSlots < 1 || c.IndexEntries < 2 || c.IndexSnapshotEntries < 1) {
		return fmt.Errorf("key index of %d slots, %d entries, and %d between snapshots: must be at least 1, 2 and 1",
			c.IndexSlots, c.IndexEntries, c.IndexSnapshotEntries)
	}
	if c.SuspendMax < 0 || c.SuspendedMax < 0 || c.ReadAheadMin < 0 || c.ReadAheadMax < 0 || c.ZeroAheadBytes < 0 || c.DispatchPause < 0 || c.GroupWait < 0 {
		return errors.New("waiting time and number of pulls, read-ahead, zeros ahead, the pause of dispatch and the wait of a group must not be negative")
	}
	return c.Retention.validate()
}

func (r *Retention) validate() error {
	if r.Age <= 0 || r.DiskMaxUsed <= 0 || r.DiskForcibly < r.DiskMaxUsed || r.DiskWarning < r.DiskForcibly {
		return fmt.Errorf("retention age %v and disk ratios %v, %v, %v: must be positive and ascend",
			r.Age, r.DiskMaxUsed, r.DiskForcibly, r.DiskWarning)
	}
	for _, hour := range r.DeleteHours {
		if hour < 0 || hour > 23 {
			return fmt.Errorf("hour of deletion %d: want 0 to 23", hour)
		}
	}
	return nil
}

func (c *Config) seriesConfig() series.Config {
	advice, _ := c.Advice.toHost() // Validate has looked at it
	return series.Config{
		FileBytes: c.FileBytes, Preallocation: c.Preallocation, SparesMax: c.SparesMax, RetryPause: c.RetryPause,
		Advice: advice, MappedFilesMax: c.MappedFiles, MappedWrites: c.MappedAppends && !c.Flush.synced(),
	}
}
