package stuck

import (
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/trial/bench/bounds"
)

// Shape is what bounds depend on besides settings.
type Shape struct {
	Bookies int
	Writers int
	Quorum  ledger.Quorum
}

// Bounds lists what one client and the bookies of a cluster may hold while they append.
func Bounds(s Shape, c *client.Config, b *node.Config) []bounds.Bound {
	return append(clientBounds(s, c), bounds.Appends(b, int64(s.Bookies), 1)...)
}

// clientBounds: the bytes of entries, records about them, and for each bookie what its connection may hold. A line in front of
// a connection holds no bytes of its own: it is lent those of entries, which count until the last line has let go of them. That
// may be long after the entry has left its writer's window. And an add has one record, wherever it waits.
func clientBounds(s Shape, c *client.Config) []bounds.Bound {
	writers, bookies := int64(s.Writers), int64(s.Bookies)
	channel := &c.Pool.Channel
	adds := int64(c.WindowEntries) * int64(1+4*s.Quorum.Write) // appends, and adds to bookies that were replaced as well
	bound := func(name string, times, bytes int64) bounds.Bound {
		return bounds.Bound{Name: name, Where: "client", Times: times, Bytes: bytes}
	}
	return []bounds.Bound{
		bound("AppendBytesMax", 1, c.AppendBytesMax),
		bound("WindowEntries × (1 + 4 Qw) records", writers, adds*bounds.RecordBytes),
		bound("Channel.OutputBytesMax, filled and written", bookies, 2*channel.OutputBytesMax),
		bound("Channel.InputBufferBytes", bookies, int64(channel.InputBufferBytes)),
		bound("Channel.RequestsMax records", bookies, int64(channel.RequestsMax)*bounds.RecordBytes),
	}
}
