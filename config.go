package lakebed

import (
	"fmt"
	"log/slog"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata"
)

// Defaults of Config that are not the engine's.
const (
	callsMax = 1024
	waitsMax = 16 << 10
)

// Config says where a store is, and what this process may hold for it. Every field but Metadata may be left zero, which
// stands for its default.
type Config struct {
	// Metadata are the addresses of the metadata servers, "host:port", tried in turn.
	Metadata []string
	// Root is the key below which the cluster keeps its metadata. Default "/ledgers", which is BookKeeper's.
	Root string
	// Logger receives what happens behind the calls: bookies that are replaced, metadata that were not written. Default
	// slog.Default.
	Logger *slog.Logger

	// AddTimeout and ReadTimeout are for one bookie's answer, after which another one is turned to. Default 5 s each.
	AddTimeout  time.Duration
	ReadTimeout time.Duration
	// MetadataTimeout is for one answer of the metadata store. Default 10 s.
	MetadataTimeout time.Duration
	// AwaitMetadata makes Open wait, for MetadataTimeout at most, while nobody listens at any of the addresses: for programs
	// that start together with their store. Without it Open fails as soon as all have refused.
	AwaitMetadata bool

	// WindowEntries and WindowBytes bound what one writer has appended and not yet heard of. Append waits for room.
	// Default 4096 entries and 32 MiB.
	WindowEntries int
	WindowBytes   int64
	// AppendBytesMax bounds the same for all writers together. Default 256 MiB.
	AppendBytesMax int64
	// ReadEntriesMax and ReadBytesMax bound what one read returns. Default 65,536 entries and 256 MiB.
	ReadEntriesMax int
	ReadBytesMax   int64
	// CallsMax bounds the calls under way, appends apart, with those that were left behind when their contexts ended.
	// Further ones wait. Default 1024.
	CallsMax int
	// WaitsMax bounds in the same way the waits for what a writer has not written yet: Reader.WaitFor and Reader.Tail.
	// Default 16,384.
	WaitsMax int

	// Tune changes the engine's own settings, those that have no field here. It is called last.
	Tune func(*client.Config)
}

// orDefault is value, unless that is zero.
func orDefault[T comparable](value, standard T) T {
	var zero T
	if value == zero {
		return standard
	}
	return value
}

// engine is the configuration of the client below.
func (c *Config) engine() client.Config {
	e := client.DefaultConfig()
	e.Ledgers.Layout = c.layout()
	e.AddTimeout = orDefault(c.AddTimeout, e.AddTimeout)
	e.ReadTimeout = orDefault(c.ReadTimeout, e.ReadTimeout)
	e.MetadataTimeout = orDefault(c.MetadataTimeout, e.MetadataTimeout)
	e.WindowEntries = orDefault(c.WindowEntries, e.WindowEntries)
	e.WindowBytes = orDefault(c.WindowBytes, e.WindowBytes)
	e.AppendBytesMax = orDefault(c.AppendBytesMax, e.AppendBytesMax)
	e.ReadEntriesMax = orDefault(c.ReadEntriesMax, e.ReadEntriesMax)
	e.ReadBytesMax = orDefault(c.ReadBytesMax, e.ReadBytesMax)
	if c.Tune != nil {
		c.Tune(&e)
	}
	return e
}

func (c *Config) layout() metadata.Layout {
	return metadata.Layout{Root: orDefault(c.Root, metadata.DefaultRoot)}
}

// validate reports the first setting that cannot work. The engine's own are judged by the engine.
func (c *Config) validate() error {
	if len(c.Metadata) == 0 {
		return fmt.Errorf("no address of a metadata server: %w", ErrInvalid)
	}
	if c.CallsMax < 0 || c.WaitsMax < 0 {
		return fmt.Errorf("%d calls and %d waits: must not be negative: %w", c.CallsMax, c.WaitsMax, ErrInvalid)
	}
	if err := c.layout().Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
