package pool

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/client/channel"
)

// Config bounds a pool.
type Config struct {
	Channel channel.Config

	// ConnectTimeout bounds one dial: clientConnectTimeoutMillis. Shorter than BookKeeper's 10 s, since requests wait.
	ConnectTimeout time.Duration
	BackoffMin     time.Duration // after the first failed dial, less up to half of it at random
	BackoffMax     time.Duration
	// StableAfter is how long a connection must have lasted so that its end is no sign of a broken bookie.
	StableAfter time.Duration
	// SuspectPause is for how long others are preferred to a bookie that did not answer in time. BookKeeper's
	// bookieQuarantineTimeSeconds and its slow bookies, which are reads' alone, in one.
	SuspectPause time.Duration

	ParkedMax      int   // requests that nobody lends and that wait for one bookie's connection; beyond it no more bodies are taken
	ParkedBytesMax int64 // bodies of those, soft by one
	BookiesMax     int   // bookies that are remembered
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		Channel:        channel.DefaultConfig(),
		ConnectTimeout: 3 * time.Second, BackoffMin: 100 * time.Millisecond, BackoffMax: 5 * time.Second,
		StableAfter: time.Second, SuspectPause: 10 * time.Second,
		ParkedMax: 32 << 10, ParkedBytesMax: 64 << 20, BookiesMax: 4096,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := c.Channel.Validate(); err != nil {
		return err
	}
	if c.ConnectTimeout <= 0 || c.BackoffMin <= 0 || c.BackoffMax < c.BackoffMin {
		return fmt.Errorf("connect timeout %v, backoff %v to %v: must be positive and ascending",
			c.ConnectTimeout, c.BackoffMin, c.BackoffMax)
	}
	if c.StableAfter < 0 || c.SuspectPause < 0 {
		return fmt.Errorf("stable after %v, suspect pause %v: must not be negative", c.StableAfter, c.SuspectPause)
	}
	if c.ParkedMax < 1 || c.ParkedBytesMax < 1 || c.BookiesMax < 1 {
		return fmt.Errorf("%d requests, %d bytes, %d bookies: must be positive", c.ParkedMax, c.ParkedBytesMax, c.BookiesMax)
	}
	return nil
}
