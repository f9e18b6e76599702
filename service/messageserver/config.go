package messageserver

import (
	"fmt"
	"log/slog"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/service"
)

// Config bounds what one request may ask for.
type Config struct {
	Service service.Config

	PullCountMax int
	PullBytesMax int64         // though one message always fits
	WaitMax      time.Duration // of one pull
	QueryMax     int           // messages of one query by key

	Flush  string           // the store's, told in the statistics
	Now    func() time.Time // for messages without a birth; nil: time.Now
	Logger *slog.Logger     // nil: slog.Default
}

// DefaultConfig returns the bounds for a store with these settings.
func DefaultConfig(store commitlog.Config) Config {
	return Config{
		Service: service.DefaultConfig(), PullCountMax: store.PullCountMax, PullBytesMax: store.PullBytesMax,
		WaitMax: store.SuspendMax, QueryMax: 64, Flush: string(store.Flush),
	}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.PullCountMax < 1 || c.PullBytesMax < 1 || c.WaitMax < 0 || c.QueryMax < 1 {
		return fmt.Errorf("%d messages and %d bytes of a pull, a wait of %v, and %d messages of a query: must be positive, and not negative",
			c.PullCountMax, c.PullBytesMax, c.WaitMax, c.QueryMax)
	}
	return c.Service.Validate()
}
