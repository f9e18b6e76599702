package bounds

import (
	"testing"

	"lakebed/engine/bookkeeper/bookie/node"
)

// TestTheSumOfABookieFollowsItsSettings: each that bounds memory moves it, those of a connection as often as there may be one.
func TestTheSumOfABookieFollowsItsSettings(t *testing.T) {
	sum := func(edit func(c *node.Config)) int64 {
		c := node.DefaultConfig()
		edit(&c)
		return Sum(Bookie(&c))
	}
	const mib = 1 << 20
	plain := sum(func(*node.Config) {})
	t.Logf("by default: %d MiB", plain/mib)
	connection := int64(64*512*RecordBytes + 128<<10 + 64<<10)
	for name, c := range map[string]struct {
		more int64
		edit func(c *node.Config)
	}{
		"write cache": {mib, func(c *node.Config) { c.Store.WriteCacheBytesMax += mib }},
		"read cache":  {mib, func(c *node.Config) { c.Store.EntryLog.ReadCacheBytesMax += mib }},
		"index cache": {mib, func(c *node.Config) { c.Store.EntryLog.IndexCacheBytesMax += mib }},
		"answers":     {2 * mib, func(c *node.Config) { c.Server.AnswersBytesMax += mib }},
		"items":       {ItemBytes, func(c *node.Config) { c.Store.EntryLog.ItemsMax++ }},
		"connections": {connection, func(c *node.Config) { c.Server.ConnectionsMax++ }},
		"input":       {1024 * 10, func(c *node.Config) { c.Server.InputBufferBytes += 10 }},
	} {
		if got := sum(c.edit) - plain; got != c.more {
			t.Errorf("%s: the sum grows by %d, want %d", name, got, c.more)
		}
	}
}
