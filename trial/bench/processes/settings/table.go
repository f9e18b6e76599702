package settings

import (
	"fmt"
	"strconv"
	"time"

	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/wire"
)

// Config is what the settings of a bookie's process are about.
type Config struct {
	Node           node.Config
	SessionTimeout time.Duration // with the metadata store
	StopMax        time.Duration // of a clean stop; then the process ends as it is
}

// defaultSessionTimeout is zkTimeout's default in bookkeeper.conf.
const defaultSessionTimeout = 10 * time.Second

// defaultStopMax leaves a slow disk time for a full write cache.
const defaultStopMax = time.Minute

// Default returns the settings of a bookie that was told nothing.
func Default() Config {
	return Config{Node: node.DefaultConfig(), SessionTimeout: defaultSessionTimeout, StopMax: defaultStopMax}
}

// Setting is one name.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	About   string `json:"about"`

	set func(c *Config, value string) error
	get func(c *Config) string
}

// All returns the settings, ordered as a reader looks for them, with their defaults.
func All() []Setting {
	all := append(journalSettings(), cacheSettings()...)
	all = append(all, serverSettings()...)
	all = append(all, lifeSettings()...)
	c := Default()
	for i := range all {
		all[i].Default = all[i].get(&c)
	}
	return all
}

func journalSettings() []Setting {
	return []Setting{
		{
			Name:  "journalSyncData",
			About: "true: an add is acknowledged when it is synced; false: when it is written, and synced at intervals",
			set: func(c *Config, value string) error {
				on, err := parseBool(value)
				c.Node.Store.Journal.Sync = journal.SyncInterval
				if on {
					c.Node.Store.Journal.Sync = journal.SyncGroup
				}
				return err
			},
			get: func(c *Config) string {
				return strconv.FormatBool(c.Node.Store.Journal.Sync == journal.SyncGroup || c.Node.Store.Journal.Sync == journal.SyncAlways)
			},
		},
		{
			Name: "lakebed.journalSyncMode", About: "always, group, interval or never: journalSyncData in more detail",
			set: func(c *Config, value string) error {
				mode := journal.SyncMode(value)
				switch mode {
				case journal.SyncAlways, journal.SyncGroup, journal.SyncInterval, journal.SyncNever:
					c.Node.Store.Journal.Sync = mode
					return nil
				}
				return fmt.Errorf("want always, group, interval or never")
			},
			get: func(c *Config) string { return string(c.Node.Store.Journal.Sync) },
		},
		milliseconds("journalPageCacheFlushIntervalMSec", "between syncs, if adds do not wait for them",
			func(c *Config) *time.Duration { return &c.Node.Store.Journal.SyncInterval }),
		mebibytes("journalMaxSizeMB", "size of a journal file", func(c *Config) *int64 { return &c.Node.Store.Journal.FileBytes }),
		number("journalBufferedWritesThreshold", "bytes of a journal group from which on it takes no more adds",
			func(c *Config) *int64 { return &c.Node.Store.Journal.GroupBytesMax }),
		milliseconds("journalMaxGroupWaitMSec", "how long a smaller group waits for more adds, in ms; 0: it is synced as soon as the sync before has ended",
			func(c *Config) *time.Duration { return &c.Node.Store.Journal.GroupWait }),
		number("lakebed.journalSpareFiles", "trimmed journal files that are kept to be used again",
			func(c *Config) *int { return &c.Node.Store.Journal.SparesMax }),
	}
}

func cacheSettings() []Setting {
	return []Setting{
		mebibytes("dbStorage_writeCacheMaxSizeMb", "write cache, both halves together with their indexes",
			func(c *Config) *int64 { return &c.Node.Store.WriteCacheBytesMax }),
		mebibytes("dbStorage_readAheadCacheMaxSizeMb", "read-ahead cache",
			func(c *Config) *int64 { return &c.Node.Store.EntryLog.ReadCacheBytesMax }),
		number("dbStorage_readAheadCacheBatchSize", "entries that a read ahead takes at most",
			func(c *Config) *int { return &c.Node.Store.EntryLog.ReadAheadEntries }),
		number("dbStorage_readAheadCacheBatchBytesSize", "bytes that a read ahead takes at most",
			func(c *Config) *int { return &c.Node.Store.EntryLog.ReadAheadBytesMax }),
		number("logSizeLimit", "size of an entry log in bytes", func(c *Config) *int64 { return &c.Node.Store.EntryLog.LogBytesMax }),
		{
			Name:  "dbStorage_directIOEntryLogger",
			About: "true: entry logs are written past the page cache, where the file system can",
			set: func(c *Config, value string) error {
				on, err := parseBool(value)
				c.Node.Store.EntryLog.PastCache = on
				return err
			},
			get: func(c *Config) string { return strconv.FormatBool(c.Node.Store.EntryLog.PastCache) },
		},
		mebibytes("lakebed.indexCacheMaxSizeMb", "cache of the entry logs' indexes",
			func(c *Config) *int64 { return &c.Node.Store.EntryLog.IndexCacheBytesMax }),
		milliseconds("flushInterval", "between checkpoints, in ms", func(c *Config) *time.Duration { return &c.Node.Store.CheckpointInterval }),
	}
}

func serverSettings() []Setting {
	return []Setting{
		{
			Name: "nettyMaxFrameSizeBytes", About: "longest request; entries are 500 bytes shorter",
			set: func(c *Config, value string) error {
				n, err := parseNumber(value)
				if err == nil && (n <= frameMargin || n > wire.FrameBytesMax) {
					err = fmt.Errorf("must be above %d and at most %d", frameMargin, wire.FrameBytesMax)
				}
				c.Node.Server.FrameBytesMax = int(n)
				c.Node.Store.EntryBytesMax = min(c.Node.Store.EntryBytesMax, int(n-frameMargin))
				return err
			},
			get: func(c *Config) string { return strconv.Itoa(c.Node.Server.FrameBytesMax) },
		},
		number("maxBatchReadSize", "bytes of a batch read's answer", func(c *Config) *int64 { return &c.Node.Server.BatchReadBytes }),
		number("numReadWorkerThreads", "reads that are done side by side", func(c *Config) *int { return &c.Node.Server.ReadTasks }),
		number("numHighPriorityWorkerThreads", "fencing reads that are done side by side",
			func(c *Config) *int { return &c.Node.Server.FenceTasks }),
		number("lakebed.connectionsMax", "connections of clients; further ones are closed at once",
			func(c *Config) *int { return &c.Node.Server.ConnectionsMax }),
		number("lakebed.maxPendingReadsPerConnection", "reads that were accepted and are not answered",
			func(c *Config) *int { return &c.Node.Server.ReadsMax }),
	}
}

// frameMargin is what a frame has around an entry at most.
const frameMargin = 500

func lifeSettings() []Setting {
	return []Setting{
		fraction("diskUsageThreshold", "share of a disk in use from which on the bookie is read-only",
			func(c *Config) *float64 { return &c.Node.DiskUsageThreshold }),
		fraction("diskUsageLwmThreshold", "share below which it is writable again",
			func(c *Config) *float64 { return &c.Node.DiskUsageLowWaterMark }),
		milliseconds("diskCheckInterval", "between looks at the disks' usage, in ms",
			func(c *Config) *time.Duration { return &c.Node.DiskCheckInterval }),
		scaled("localScrubPeriod", "between passes of the scrubber, which verifies what is stored, in s; 0: it does not run", time.Second,
			func(c *Config) *time.Duration { return &c.Node.Store.Scrub.Period }),
		number("lakebed.localScrubBytesPerSecond", "what the scrubber reads in a second at most",
			func(c *Config) *int64 { return &c.Node.Store.Scrub.BytesPerSecond }),
		milliseconds("lakebed.localScrubFirstAfter", "from the start to the first pass, in ms",
			func(c *Config) *time.Duration { return &c.Node.Store.Scrub.FirstAfter }),
		{
			Name: "forceReadOnlyBookie", About: "true: takes no adds",
			set: func(c *Config, value string) (err error) {
				c.Node.ReadOnly, err = parseBool(value)
				return err
			},
			get: func(c *Config) string { return strconv.FormatBool(c.Node.ReadOnly) },
		},
		milliseconds("zkTimeout", "of the session with the metadata store, in ms",
			func(c *Config) *time.Duration { return &c.SessionTimeout }),
		milliseconds("lakebed.stopTimeout", "of a clean stop, in ms; after it the process ends as it is, and its next start replays the journal",
			func(c *Config) *time.Duration { return &c.StopMax }),
		{
			Name: "zkLedgersRootPath", About: "where the cluster's keys are in the metadata store",
			set: func(c *Config, value string) error {
				c.Node.Registration.Layout.Root = value
				return c.Node.Registration.Layout.Validate()
			},
			get: func(c *Config) string { return c.Node.Registration.Layout.Root },
		},
	}
}
