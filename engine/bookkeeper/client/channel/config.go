package channel

import (
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/wire"
)

// Config bounds a channel.
type Config struct {
	RequestsMax      int           // taken and not yet answered, those that timed out included
	OutputBytesMax   int64         // encoded and not yet written, soft by one request
	InputBufferBytes int           // while no longer frame arrives
	FrameBytesMax    int           // longest frame of either direction, nettyMaxFrameSizeBytes
	Timeout          time.Duration // of requests that have none of their own: addEntryTimeoutSec, readEntryTimeoutSec
	Patience         time.Duration // for an answer, after its request timed out
	WriteStall       time.Duration // without the peer taking a byte
}

// DefaultConfig returns the settings for a real machine.
func DefaultConfig() Config {
	return Config{
		RequestsMax: 16 << 10, OutputBytesMax: 8 << 20,
		InputBufferBytes: 128 << 10, FrameBytesMax: wire.FrameBytesMax,
		Timeout: 5 * time.Second, Patience: 10 * time.Second, WriteStall: 10 * time.Second,
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if c.RequestsMax < 1 || c.OutputBytesMax < 1 {
		return fmt.Errorf("%d requests and %d bytes of output: must be positive", c.RequestsMax, c.OutputBytesMax)
	}
	if c.FrameBytesMax < wire.InputBytesMin || c.FrameBytesMax > wire.FrameBytesMax {
		return fmt.Errorf("longest frame %d: must be %d to %d", c.FrameBytesMax, wire.InputBytesMin, wire.FrameBytesMax)
	}
	if c.InputBufferBytes < wire.InputBytesMin {
		return fmt.Errorf("input buffer of %d bytes: must be at least %d", c.InputBufferBytes, wire.InputBytesMin)
	}
	if c.Timeout <= 0 || c.Patience <= 0 || c.WriteStall < 0 {
		return fmt.Errorf("timeout %v, patience %v, write stall %v: the first two must be positive, the last not negative",
			c.Timeout, c.Patience, c.WriteStall)
	}
	return nil
}
