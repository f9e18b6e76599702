package seglog

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/openfiles"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

// The names of packages below that callers need.
type (
	Cursor  = message.Cursor
	Time    = message.Time
	Limits  = partition.Limits
	Batch   = partition.Batch
	Entry   = partition.Entry
	Segment = partition.SegmentStats
)

// The classes of failure that a caller may branch on; those of package partition besides.
var (
	ErrNoTopic        = errors.New("no such topic")
	ErrTopicExists    = errors.New("topic exists")
	ErrNoPartition    = errors.New("no such partition")
	ErrEjected        = errors.New("directory is ejected") // nothing was stored
	ErrNoDirectory    = errors.New("no directory is in service")
	ErrInvalid        = errors.New("invalid")
	ErrUnavailable    = partition.ErrUnavailable
	ErrOutcomeUnknown = partition.ErrOutcomeUnknown
	ErrTrimmed        = partition.ErrTrimmed
	ErrBeyond         = partition.ErrBeyond
	ErrCorrupt        = partition.ErrCorrupt
	ErrTooLarge       = partition.ErrTooLarge
	ErrClosed         = partition.ErrClosed
	ErrMalformed      = message.ErrMalformed
)

// Points of the store. Extra is the volume.
const (
	PointEjected     host.Point = "seglog.ejected"
	PointReadmitted  host.Point = "seglog.readmitted"
	PointProbeFailed host.Point = "seglog.probe-failed" // an ejected directory does not work yet
	PointElsewhere   host.Point = "seglog.elsewhere"    // an append that one partition refused went to another
	PointLooking     host.Point = "seglog.looking"      // retention has read the clock, and is about to look; A: the time
	PointRetained    host.Point = "seglog.retained"     // retention has looked at a directory; A: segments that went
	PointTopicMade   host.Point = "seglog.topic-made"
)

// Balanced has the store choose the partition.
const Balanced = -1

// Config holds a store's settings.
type Config struct {
	Volumes   []string // data directories, as the host names them
	Partition partition.Config
	FilesMax  int // files open at once

	SyncInterval time.Duration // mode interval only
	Retention    Retention     // of topics that do not say
	LookInterval time.Duration // between two looks of retention
	TimeUnit     time.Duration // of messages' times
	FutureMax    time.Duration // messages further ahead of this machine's clock are refused; zero: none is

	CommitPatience time.Duration // a commit that takes longer is given up, and its directory is ejected
	WatchInterval  time.Duration // between two looks for such commits
	FreeBytesMin   int64         // a directory with less free space is full
	ReadmitPause   time.Duration // until an ejected directory is looked at; doubled each time, up to ReadmitPauseMax
	ReadmitMax     time.Duration

	UpkeepTasks   int // partitions that are opened or closed at the same time
	PartitionsMax int // of a topic
	TopicsMax     int
}

// Retention says how long messages stay. Zero stands for no bound.
type Retention struct {
	Period   time.Duration
	BytesMax int64 // of a partition
}

// DefaultConfig returns the settings for a real machine with one data directory.
func DefaultConfig() Config {
	return Config{
		Volumes: []string{"disk0"}, Partition: partition.DefaultConfig(), FilesMax: openfiles.MaxDefault,
		SyncInterval: 500 * time.Millisecond,
		Retention:    Retention{Period: 72 * time.Hour}, LookInterval: time.Minute, TimeUnit: time.Second, FutureMax: time.Hour,
		CommitPatience: 10 * time.Second, WatchInterval: time.Second, FreeBytesMin: 256 << 20,
		ReadmitPause: time.Second, ReadmitMax: time.Minute,
		UpkeepTasks: 16, PartitionsMax: 10_000, TopicsMax: 10_000,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if len(c.Volumes) == 0 {
		return errors.New("volumes: must name one data directory at least")
	}
	seen := map[string]bool{}
	for _, v := range c.Volumes {
		if v == "" || seen[v] {
			return fmt.Errorf("volumes %q: must be named, and each once", c.Volumes)
		}
		seen[v] = true
	}
	c.Partition.TimeUnit = c.TimeUnit
	if err := c.Partition.Validate(); err != nil {
		return err
	}
	switch {
	case c.UpkeepTasks < 1:
		return fmt.Errorf("upkeep tasks %d: must be positive", c.UpkeepTasks)
	case c.FilesMax < 2:
		return fmt.Errorf("open files %d: must be two at least", c.FilesMax)
	case c.TimeUnit < 1 || c.FutureMax < 0:
		return fmt.Errorf("time unit %v and bound on the future %v: must be positive, and not negative", c.TimeUnit, c.FutureMax)
	case c.SyncInterval <= 0 || c.LookInterval <= 0 || c.WatchInterval <= 0 || c.CommitPatience <= 0:
		return fmt.Errorf("sync interval %v, look interval %v, watch interval %v and commit patience %v: must be positive",
			c.SyncInterval, c.LookInterval, c.WatchInterval, c.CommitPatience)
	case c.ReadmitPause <= 0 || c.ReadmitMax < c.ReadmitPause:
		return fmt.Errorf("readmission pauses %v to %v: must be positive and ascend", c.ReadmitPause, c.ReadmitMax)
	case c.FreeBytesMin < 0 || c.PartitionsMax < 1 || c.TopicsMax < 1:
		return fmt.Errorf("free space %d, partitions %d and topics %d: must not be negative, and positive", c.FreeBytesMin, c.PartitionsMax, c.TopicsMax)
	}
	return c.Retention.validate(&c)
}

func (r Retention) validate(c *Config) error {
	if r.Period < 0 || r.BytesMax < 0 {
		return fmt.Errorf("retention of %v and %d bytes: must not be negative: %w", r.Period, r.BytesMax, ErrInvalid)
	}
	if r.BytesMax > 0 && r.BytesMax < c.Partition.SegmentBytes {
		return fmt.Errorf("retention of %d bytes: must hold a segment, %d bytes: %w", r.BytesMax, c.Partition.SegmentBytes, ErrInvalid)
	}
	return nil
}
