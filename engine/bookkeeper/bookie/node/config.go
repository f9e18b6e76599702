package node

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/server"
	"lakebed/engine/bookkeeper/metadata"
)

// Config sets up a bookie's process.
type Config struct {
	// Store's InstanceID is ignored: it is the cluster's, with the directories' stamp. So is TakesNewInDoubt. Its BookieID
	// is the address that clients connect to.
	Store  bookie.Config
	Server server.Config
	// Listen is the address to listen on, if it is not the bookie's id.
	Listen string

	// Registration's Layout is that of everything here. Its Bookie, Info, Mode and InstanceID are ignored.
	Registration metadata.RegistrationConfig
	Retry        metadata.RetryConfig // PauseMin and PauseMax also hold for the wait for the store at the start
	StartTimeout time.Duration        // of one attempt to reach the store at the start
	CloseTimeout time.Duration        // for taking the key away

	// Initialize has a bookie with blank directories make a cluster where the store holds none. It is for the first start
	// of a cluster, and off otherwise: an empty store may also be one that lost its content, or the wrong one.
	Initialize bool

	SettleTimeout   time.Duration // of one attempt to list all ledgers, which a bookie in doubt does
	LimboLedgersMax int           // above that many it stays in doubt: each takes 150 bytes for as long as it is there

	ReadOnly              bool          // for good: forceReadOnlyBookie
	DiskUsageThreshold    float64       // read-only above: diskUsageThreshold
	DiskUsageLowWaterMark float64       // writable again below: diskUsageLwmThreshold
	DiskCheckInterval     time.Duration // diskCheckInterval
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		Store: bookie.DefaultConfig(), Server: server.DefaultConfig(),
		Registration: metadata.DefaultRegistrationConfig(), Retry: metadata.DefaultRetry(),
		StartTimeout: 10 * time.Second, CloseTimeout: 2 * time.Second,
		SettleTimeout: time.Minute, LimboLedgersMax: 4 << 20,
		DiskUsageThreshold: 0.95, DiskUsageLowWaterMark: 0.90, DiskCheckInterval: 10 * time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := c.Store.Validate(); err != nil {
		return err
	}
	if err := c.Server.Validate(); err != nil {
		return err
	}
	if c.Server.BatchBytesMax > c.Store.BatchBytesMax {
		return fmt.Errorf("server hands over batches of %d bytes, the storage takes %d", c.Server.BatchBytesMax, c.Store.BatchBytesMax)
	}
	if err := c.registration().Validate(); err != nil {
		return err
	}
	if err := c.Retry.Validate(); err != nil {
		return err
	}
	if c.StartTimeout <= 0 || c.CloseTimeout <= 0 || c.DiskCheckInterval <= 0 {
		return fmt.Errorf("start timeout %v, close timeout %v, disk check interval %v: must be positive",
			c.StartTimeout, c.CloseTimeout, c.DiskCheckInterval)
	}
	if c.SettleTimeout <= 0 || c.LimboLedgersMax < 0 {
		return fmt.Errorf("settle timeout %v and %d ledgers in limbo: must be positive, and not negative", c.SettleTimeout, c.LimboLedgersMax)
	}
	if !(0 < c.DiskUsageLowWaterMark && c.DiskUsageLowWaterMark <= c.DiskUsageThreshold && c.DiskUsageThreshold <= 1) {
		return fmt.Errorf("disk usage threshold %v and low-water mark %v: must be above 0, at most 1, and not fall",
			c.DiskUsageThreshold, c.DiskUsageLowWaterMark)
	}
	return nil
}

// modeAt is what the bookie should be at a disk usage between 0 and 1. Between the marks it stays what it is, so that it
// does not go to and fro.
func (c Config) modeAt(usage float64, now metadata.Mode) metadata.Mode {
	switch {
	case c.ReadOnly || usage > c.DiskUsageThreshold:
		return metadata.ReadOnly
	case usage < c.DiskUsageLowWaterMark:
		return metadata.Writable
	}
	return now
}
