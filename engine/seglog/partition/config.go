package partition

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/seglog/message"
)

// Cursor and Time are those of messages.
type (
	Cursor = message.Cursor
	Time   = message.Time
)

// The classes of failure that a caller may branch on.
var (
	ErrOutcomeUnknown = errors.New("outcome unknown")
	ErrFailed         = errors.New("partition has failed")
	ErrClosed         = errors.New("partition is closed")
	ErrTrimmed        = errors.New("removed by retention")
	ErrBeyond         = errors.New("beyond the end")
	ErrCorrupt        = errors.New("corrupt segment")
	ErrTooLarge       = errors.New("message too large")
	ErrUnavailable    = errors.New("not readable now")
)

// Points of a partition. A is a cursor, B bytes or a count.
const (
	PointWritten       host.Point = "seglog.written"         // a group is in the log, not yet synced
	PointZeroed        host.Point = "seglog.zeroed"          // zeros are behind it, not yet synced; A: end of the group, B: bytes of zeros
	PointAllocated     host.Point = "seglog.allocated"       // room is behind it, in the modes interval and never; A: end of the group, B: bytes
	PointSynced        host.Point = "seglog.synced"          // and synced, not yet visible
	PointAcknowledged  host.Point = "seglog.acknowledged"    // a group is visible, its appenders are not yet told
	PointSealing       host.Point = "seglog.sealing"         // a segment is full, and its log is durable
	PointIndexWritten  host.Point = "seglog.index-written"   // its index files are synced, not yet renamed
	PointSealed        host.Point = "seglog.sealed"          // the segment is sealed
	PointCreated       host.Point = "seglog.created"         // a new log is there
	PointFailed        host.Point = "seglog.failed"          // fail-stop
	PointRestored      host.Point = "seglog.restored"        // and back
	PointSalvaging     host.Point = "seglog.salvaging"       // what is whole of a log has been copied, not yet renamed
	PointSalvaged      host.Point = "seglog.salvaged"        // and renamed
	PointKeptInPlace   host.Point = "seglog.kept-in-place"   // there was no room to copy a log: it is read where it lies
	PointTornTail      host.Point = "seglog.torn-tail"       // a log ended in bytes that are no record; B: how many
	PointZerosFound    host.Point = "seglog.zeros-found"     // a log ended in zeros that were written ahead; B: how many
	PointAdopted       host.Point = "seglog.adopted"         // an empty log was taken over
	PointGap           host.Point = "seglog.gap"             // cursors are missing between two segments
	PointRemoving      host.Point = "seglog.removing"        // retention is about to remove a segment
	PointRemoved       host.Point = "seglog.removed"         // and has
	PointIndexUnusable host.Point = "seglog.index-unusable"  // an index block could not be used: the log was scanned
	PointMissingIndex  host.Point = "seglog.missing-index"   // a segment that is full was not sealed
	PointOutOfOrder    host.Point = "seglog.out-of-order"    // a message is older than one before it in its segment
	PointSealNow       host.Point = "seglog.seal-now"        // asks whether to seal a segment that is not full
	PointReadLess      host.Point = "seglog.read-less"       // asks whether a batch ends behind this message
	PointSyncAtOnce    host.Point = "seglog.interval-synced" // the sync at an interval

	PointCheckpointing       host.Point = "seglog.checkpointing"        // a checkpoint is written, not yet synced
	PointCheckpointed        host.Point = "seglog.checkpointed"         // and synced; B: bytes of the log that it says are durable
	PointCheckpointsReplaced host.Point = "seglog.checkpoints-replaced" // by one that stands for all; B: its blocks
	PointCheckpointUsed      host.Point = "seglog.checkpoint-used"      // a start did not read B bytes of a log again
	PointMessagesMissing     host.Point = "seglog.messages-missing"     // a log has not what its index files or checkpoints say; B: their end
	PointUnsealedWait        host.Point = "seglog.unsealed-wait"        // a commit waits for segments to be sealed
)

// SyncMode says when appends are acknowledged.
type SyncMode string

// The sync modes, from the safest to none.
const (
	SyncAlways   SyncMode = "always"   // each append is synced by itself, before it is acknowledged
	SyncGroup    SyncMode = "group"    // one sync for all that came meanwhile, before they are acknowledged
	SyncInterval SyncMode = "interval" // acknowledged when written; the owner calls Sync at intervals
	SyncNever    SyncMode = "never"    // acknowledged when written; only checkpoints and the ends of segments sync
)

// Committer says which task commits an append that finds nobody before it.
type Committer string

// The committers. Where there is a line, a task of the partition commits in either case.
const (
	// ByTask has a task of the partition do it. Whoever appends waits for that, and can be freed while a disk hangs.
	ByTask Committer = "task"
	// ByAppender has the appender do it: two wake-ups less, which cost more than a small write, and as much as the
	// processor's part of a sync. While the disk hangs so does that call, and Overdue frees only the others.
	ByAppender Committer = "appender"
	// CommitterDefault leaves it to the owner. To a partition it means ByTask.
	CommitterDefault Committer = ""
)

// TimeRule says how a look-up by time finds its segment.
type TimeRule string

// The rules.
const (
	// ByRecordedTime takes the first segment in which a message of that time or later lies, as its time index says.
	ByRecordedTime TimeRule = "recorded"
	// ByModification is the rule of the format's source: the segments in the order in which their logs were last written,
	// and of these the first that was written at that time or later. It answers wrong where files were copied or the
	// clock was set, and is there to show that.
	ByModification TimeRule = "modified"
)

// Config holds a partition's settings.
type Config struct {
	Sync          SyncMode
	Committer     Committer
	GroupBytesMax int64         // bound on what one commit writes, soft by one append
	GroupWait     time.Duration // how long less than that waits for more appends; not in mode always. Above zero a task commits

	SegmentBytes  int64         // a log is at most so long
	SegmentAge    time.Duration // and takes appends for so long, at most
	IndexItemsMax int           // and has at most so many index items
	IndexBytes    int64         // of log between two index items; 1: an item for each message
	UnsealedMax   int           // full segments whose index files are not written yet; commits wait for one then

	CheckpointBytes    int64 // of log since the last checkpoints, of all partitions together; in the mode never of each
	CheckpointBytesMin int64 // between two checkpoints of a partition, however many there are

	MessageBytesMax int   // longest payload
	BatchBytesMax   int64 // longest append of several messages, headers included
	PadBytes        int64 // what is synced at once, or covered by a checkpoint, ends at a multiple of this: 512 or 4096, see doc.go; 0: it does not
	ZeroAheadBytes  int64 // of zeros behind a log's end, at most, so that syncs are short; or of room, see MappedAppends. 0: none
	MappedAppends   bool  // in the modes interval and never: room is allocated ahead of short groups, and appenders that commit copy them into the page cache, without a call of the kernel for each
	ReadChunkBytes  int   // what a read asks of the disk at once

	TimeRule TimeRule
	TimeUnit time.Duration // of messages' times; only ByModification asks
}

// DefaultConfig returns the settings for a real disk.
func DefaultConfig() Config {
	return Config{
		Sync: SyncGroup, GroupBytesMax: 1 << 20, PadBytes: 512, ZeroAheadBytes: 1 << 20, MappedAppends: true,
		SegmentBytes: 128 << 20, SegmentAge: 24 * time.Hour, IndexItemsMax: 1 << 20, IndexBytes: 4 << 10, UnsealedMax: 2,
		CheckpointBytes: 16 << 20, CheckpointBytesMin: 64 << 10,
		MessageBytesMax: 4 << 20, BatchBytesMax: 8 << 20, ReadChunkBytes: 64 << 10,
		TimeRule: ByRecordedTime, TimeUnit: time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	switch c.Sync {
	case SyncAlways, SyncGroup, SyncInterval, SyncNever:
	default:
		return fmt.Errorf("sync mode %q: want always, group, interval or never", c.Sync)
	}
	if c.Committer != ByTask && c.Committer != ByAppender && c.Committer != CommitterDefault {
		return fmt.Errorf("committer %q: want task, appender or nothing", c.Committer)
	}
	if c.TimeRule != ByRecordedTime && c.TimeRule != ByModification {
		return fmt.Errorf("time rule %q: want recorded or modified", c.TimeRule)
	}
	group := c.groupBytesMax()
	switch {
	case c.TimeUnit < 1:
		return fmt.Errorf("time unit %v: must be positive", c.TimeUnit)
	case c.GroupWait < 0:
		return fmt.Errorf("wait of a group %v: must not be negative", c.GroupWait)
	case c.GroupBytesMax < 1 || c.MessageBytesMax < 1 || c.ReadChunkBytes < message.HeaderBytes || c.IndexBytes < 1:
		return fmt.Errorf("group size %d, longest message %d, read chunk %d and bytes between index items %d: must be positive, a chunk holds a header",
			c.GroupBytesMax, c.MessageBytesMax, c.ReadChunkBytes, c.IndexBytes)
	case c.BatchBytesMax < message.Size(c.MessageBytesMax):
		return fmt.Errorf("longest append %d: must hold the longest message, %d bytes", c.BatchBytesMax, message.Size(c.MessageBytesMax))
	case c.UnsealedMax < 1 || c.CheckpointBytesMin < 1 || c.CheckpointBytes < c.CheckpointBytesMin:
		return fmt.Errorf("unsealed segments %d, bytes between checkpoints %d and at least %d: must be positive and not ascend",
			c.UnsealedMax, c.CheckpointBytes, c.CheckpointBytesMin)
	case c.ZeroAheadBytes < 0:
		return fmt.Errorf("zeros ahead %d: must not be negative", c.ZeroAheadBytes)
	case c.SegmentAge <= 0:
		return fmt.Errorf("segment age %v: must be positive", c.SegmentAge)
	case c.PadBytes != 0 && c.PadBytes != 512 && c.PadBytes != 4096:
		return fmt.Errorf("padding to %d bytes: want 0, 512 or 4096", c.PadBytes)
	case c.SegmentBytes < group || c.SegmentBytes > 1<<40:
		return fmt.Errorf("segment size %d: must hold the largest group, %d bytes, and be below a terabyte", c.SegmentBytes, group)
	case int64(c.IndexItemsMax) < c.itemsOf(group) || c.IndexItemsMax > 1<<26:
		return fmt.Errorf("index items %d: must be enough for the largest group, %d, and below 2^26", c.IndexItemsMax, c.itemsOf(group))
	}
	return nil
}

// groupBytesMax is the most that one commit writes.
func (c *Config) groupBytesMax() int64 {
	return c.GroupBytesMax + c.BatchBytesMax + 2*c.PadBytes + message.HeaderBytes
}

// itemsOf bounds the index items that so many bytes of log bring.
func (c *Config) itemsOf(bytes int64) int64 {
	return bytes/max(c.IndexBytes, message.HeaderBytes) + 1
}
