package entrylog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

// LogID names an entry log. Ids rise; they begin again only when no log is left.
type LogID uint32

// The kinds of records in an entry log.
const (
	kindFlush record.Kind = 1
	kindEntry record.Kind = 2
)

const suffix = ".log"

// Kind is the kind of entry log files.
func Kind() record.FileKind { return record.FileKind{'E', 'L', 'O', 'G'} }

// FileName is the name of the entry log with this id.
func FileName(id LogID) string { return fmt.Sprintf("%08x%s", uint32(id), suffix) }

// ParseFileName reads the id out of an entry log's name.
func ParseFileName(name string) (LogID, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 8 {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 16, 32)
	return LogID(id), err == nil && id > 0 && FileName(LogID(id)) == name
}

// Points of the entry log. A is the log's id.
const (
	PointBytesWritten host.Point = "entrylog.bytes-written" // a flush's groups, not yet synced
	PointBytesSynced  host.Point = "entrylog.bytes-synced"
	PointClosed       host.Point = "entrylog.closed"    // with its index
	PointAbandoned    host.Point = "entrylog.abandoned" // a flush into it failed
	PointRemoved      host.Point = "entrylog.removed"
	PointReadAhead    host.Point = "entrylog.read-ahead" // B entries were cached
	PointRescanned    host.Point = "entrylog.rescanned"  // at the start, for want of a good index. B is its durable length
	PointOrphan       host.Point = "entrylog.orphan"     // a file the table does not name was removed
	PointOverlap      host.Point = "entrylog.overlap"    // a flush brought a newer version of a stored range
)

// LogState is what the ledger table remembers of a log.
type LogState struct {
	ID      LogID
	Durable int64 // bytes of groups that are durable
	Closed  bool  // an index was written and synced behind them
}

// item locates one entry in a log.
type item struct {
	entry  ledger.EntryID
	offset uint32 // of the record's header
	size   uint32 // of the body
}

// run is a range of one ledger in one log. Items of an open log are in memory; those of a closed one are found through
// the log's index.
type run struct {
	log       *logFile
	sequence  uint64
	first     ledger.EntryID
	last      ledger.EntryID
	items     []item // ascending by entry; nil if the log is closed
	firstItem uint32
	count     uint32
	expected  ledger.EntryID // what a reader in order would read next, guarded by Logs.mutex
}

// logFile is one entry log. Its fields are guarded by Logs.mutex, except that the file itself may be read by whoever
// holds a pin.
type logFile struct {
	id      LogID
	file    host.File
	header  record.FileHeader
	durable int64
	closed  bool
	damaged bool // not all of its groups can be read: it stays, so that a later start knows of the doubt
	ledgers int  // that have a run here
	pins    int  // readers; the handle is closed when none is left and the log is gone
	gone    bool

	// Owned by the checkpoint's task while the log is open.
	end     int64       // where the next group goes
	groups  uint64      // sequence of the last group
	named   bool        // the name is durable, and something was flushed
	pending []ledgerRun // every run of the log
	items   int         // in them
}

// Config holds the entry log's settings.
type Config struct {
	LogBytesMax        int64 // a log is closed when it has reached this, logSizeLimit; below 4 GiB
	ItemsMax           int   // or when this many items are in memory
	GroupBytes         int   // a flush is written in groups of about this
	PastCache          bool  // flushes leave no copy in the machine's page cache, dbStorage_directIOEntryLogger
	IndexCacheBytesMax int64
	ReadCacheBytesMax  int64 // dbStorage_readAheadCacheMaxSizeMb
	ReadAheadEntries   int   // dbStorage_readAheadCacheBatchSize
	ReadAheadBytesMax  int   // dbStorage_readAheadCacheBatchBytesSize
}

// DefaultConfig returns the settings for a real disk.
func DefaultConfig() Config {
	return Config{
		LogBytesMax: 256 << 20, ItemsMax: 1 << 20, GroupBytes: 1 << 20, PastCache: true,
		IndexCacheBytesMax: 32 << 20, ReadCacheBytesMax: 64 << 20, ReadAheadEntries: 1000, ReadAheadBytesMax: 256 << 10,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	const most = 1 << 32
	if c.LogBytesMax <= record.FileHeaderBytes || c.LogBytesMax >= most/2 {
		return fmt.Errorf("entry log size %d: must be above %d and below %d", c.LogBytesMax, record.FileHeaderBytes, most/2)
	}
	if c.ItemsMax < 1 || c.GroupBytes < 1 {
		return fmt.Errorf("entry log items %d and group size %d: must be positive", c.ItemsMax, c.GroupBytes)
	}
	if c.ReadCacheBytesMax < 0 || c.ReadAheadEntries < 0 || c.ReadAheadBytesMax < 0 {
		return fmt.Errorf("read cache %d, read-ahead %d entries and %d bytes: must not be negative",
			c.ReadCacheBytesMax, c.ReadAheadEntries, c.ReadAheadBytesMax)
	}
	if c.IndexCacheBytesMax < blockBytes {
		return fmt.Errorf("index cache of %d bytes: must hold a block of %d", c.IndexCacheBytesMax, blockBytes)
	}
	return nil
}

// Logs is the set of entry logs of one ledger directory.
type Logs struct {
	h      host.Host
	dir    host.Dir
	config Config

	mutex   host.Mutex
	logs    map[LogID]*logFile
	index   map[ledger.ID][]*run // newest first
	damaged error                // some log's content is not known: what is not found may have been there
	nextID  LogID
	orphans []LogID // files that the table did not name

	blocks *cache[blockKey]
	ahead  *cache[entryKey]

	// Owned by the checkpoint's task.
	open     *logFile
	sequence uint64
	group    record.Group
}

// ErrAbsent says that no log holds the entry, and that all logs are known.
var ErrAbsent = errors.New("entry is in no entry log")

type blockKey struct {
	log   LogID
	block uint32
}

type entryKey struct {
	ledger ledger.ID
	entry  ledger.EntryID
}

// States lists the logs for a snapshot of the ledger table, ascending.
func (l *Logs) States() []LogState {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	states := make([]LogState, 0, len(l.logs))
	for _, id := range host.SortedKeys(l.logs) {
		if f := l.logs[id]; !f.gone {
			states = append(states, LogState{ID: id, Durable: f.durable, Closed: f.closed})
		}
	}
	return states
}

// Last is the greatest entry of a ledger in any log; NoEntry if there is none.
func (l *Logs) Last(id ledger.ID) ledger.EntryID {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	last := ledger.NoEntry
	for _, r := range l.index[id] {
		last = max(last, r.last)
	}
	return last
}

// Damaged is not nil if the content of some log could not be established: then nothing is known to be absent.
func (l *Logs) Damaged() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.damaged
}

// Release closes all files and gives the caches' memory back. Nothing else may run. Files were only read since their
// last sync, so closing them cannot lose anything.
func (l *Logs) Release() {
	for _, id := range host.SortedKeys(l.logs) {
		_ = l.logs[id].file.Close()
	}
	if l.open != nil && !l.open.named {
		_ = l.open.file.Close()
	}
	l.blocks.clear()
	l.ahead.clear()
}
