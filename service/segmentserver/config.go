package segmentserver

import (
	"fmt"
	"log/slog"
	"time"

	"lakebed/service"
)

// Config bounds what one request may ask for.
type Config struct {
	Service service.Config

	AppendMessagesMax int // of one append
	FetchMessagesMax  int
	FetchBytesMax     int64         // of payloads, though one message always fits
	WaitMax           time.Duration // of one fetch

	Volumes int // of the store: with all of them ejected it is unhealthy

	// Sync and TimeUnit are settings of the store, and told in the statistics.
	Sync     string
	TimeUnit time.Duration
	Now      func() time.Time // for groups without a time; nil: time.Now
	Logger   *slog.Logger     // nil: slog.Default
}

// DefaultConfig returns the bounds for a real machine, and a store with default settings.
func DefaultConfig() Config {
	return Config{
		Service: service.DefaultConfig(), AppendMessagesMax: 10_000,
		FetchMessagesMax: 1000, FetchBytesMax: 4 << 20, WaitMax: 30 * time.Second, Volumes: 1, Sync: "group", TimeUnit: time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.AppendMessagesMax < 1 || c.FetchMessagesMax < 1 || c.FetchBytesMax < 1 || c.WaitMax < 0 || c.TimeUnit < 1 || c.Volumes < 1 {
		return fmt.Errorf("%d messages of an append, %d messages and %d bytes of a fetch, time unit %v, and a wait of %v: must be positive, and not negative",
			c.AppendMessagesMax, c.FetchMessagesMax, c.FetchBytesMax, c.TimeUnit, c.WaitMax)
	}
	return c.Service.Validate()
}
