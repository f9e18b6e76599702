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

	MessageBytesMax int // longest body of a message, as the store has it
	PropertiesMax   int // longest properties of a message, as the store has them

	Flush  string           // the store's, told in the statistics
	Now    func() time.Time // for messages without a birth; nil: time.Now
	Logger *slog.Logger     // nil: slog.Default
}

// DefaultConfig returns the bounds for a store with these settings.
func DefaultConfig(store commitlog.Config) Config {
	return Config{
		Service: service.DefaultConfig(), PullCountMax: store.PullCountMax, PullBytesMax: store.PullBytesMax,
		WaitMax: store.SuspendMax, QueryMax: 64, Flush: string(store.Flush),
		MessageBytesMax: store.BodyBytesMax, PropertiesMax: store.PropertiesMax,
	}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.PullCountMax < 1 || c.PullBytesMax < 1 || c.WaitMax < 0 || c.QueryMax < 1 || c.MessageBytesMax < 1 || c.PropertiesMax < 0 {
		return fmt.Errorf("%d messages and %d bytes of a pull, a wait of %v, %d messages of a query, messages of %d bytes with properties of %d: must be positive, and not negative",
			c.PullCountMax, c.PullBytesMax, c.WaitMax, c.QueryMax, c.MessageBytesMax, c.PropertiesMax)
	}
	return c.Service.Validate()
}
