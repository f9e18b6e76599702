package stuck

import (
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
)

// Sizes of what is bounded by number. They are taken a little too small rather than too large.
const (
	// RecordBytes is what the client or a bookie's connection keeps of one add besides the entry's bytes.
	RecordBytes = 256
	// itemBytes is what an entry log that is not closed keeps of one entry in memory.
	itemBytes = 24
)

// Slack is what may come on top of all bounds: the runtime, code, stacks, the metadata store, and garbage.
const Slack = 64 << 20

// Bound is one bound of the settings, in bytes, as often as the cluster has it.
type Bound struct {
	Name  string `json:"name"` // the setting, or the settings whose product it is
	Where string `json:"where"`
	Times int64  `json:"times"` // how many there are of it
	Bytes int64  `json:"bytes"` // of one
}

// Total is the bound of all of them together.
func (b Bound) Total() int64 { return b.Times * b.Bytes }

// Sum is what all bounds allow together.
func Sum(bounds []Bound) (bytes int64) {
	for _, b := range bounds {
		bytes += b.Total()
	}
	return bytes
}

// Shape is what bounds depend on besides settings.
type Shape struct {
	Bookies int
	Writers int
	Quorum  ledger.Quorum
}

// Bounds lists what one client and the bookies of a cluster may hold while they append.
func Bounds(s Shape, c *client.Config, b *node.Config) []Bound {
	return append(clientBounds(s, c), bookieBounds(s, b)...)
}

// clientBounds: the windows, and for each bookie what its connection and the line in front of it may hold.
func clientBounds(s Shape, c *client.Config) []Bound {
	const where = "client"
	writers, bookies := int64(s.Writers), int64(s.Bookies)
	channel := &c.Pool.Channel
	adds := int64(c.WindowEntries) * int64(1+4*s.Quorum.Write) // appends, and adds to bookies that were replaced as well
	return []Bound{
		{"min(AppendBytesMax, writers × WindowBytes)", where, 1, min(c.AppendBytesMax, writers*c.WindowBytes)},
		{"WindowEntries × (1 + 4 Qw) records", where, writers, adds * RecordBytes},
		{"Channel.OutputBytesMax, filled and written", where, bookies, 2 * channel.OutputBytesMax},
		{"Channel.InputBufferBytes", where, bookies, int64(channel.InputBufferBytes)},
		{"Channel.RequestsMax records", where, bookies, int64(channel.RequestsMax) * RecordBytes},
		{"Pool.ParkedBytesMax", where, bookies, c.Pool.ParkedBytesMax},
		{"Pool.ParkedMax records", where, bookies, int64(c.Pool.ParkedMax) * RecordBytes},
	}
}

// bookieBounds: the storage of each bookie, and its connection with the one client.
func bookieBounds(s Shape, b *node.Config) []Bound {
	const where = "bookie"
	bookies := int64(s.Bookies)
	store, server := &b.Store, &b.Server
	return []Bound{
		{"WriteCacheBytesMax", where, bookies, store.WriteCacheBytesMax},
		// A group is full at its bound, and was entered below it by one batch. Three take turns.
		{"3 × (Journal.GroupBytesMax + BatchBytesMax)", where, bookies, 3 * (store.Journal.GroupBytesMax + server.BatchBytesMax)},
		{"EntryLog.ItemsMax items", where, bookies, int64(store.EntryLog.ItemsMax) * itemBytes},
		{"EntryLog.GroupBytes", where, bookies, int64(store.EntryLog.GroupBytes)},
		{"Server.BatchesMax × BatchEntriesMax records", where, bookies, int64(server.BatchesMax*server.BatchEntriesMax) * RecordBytes},
		{"Server.InputBufferBytes + OutputBytes", where, bookies, int64(server.InputBufferBytes + server.OutputBytes)},
	}
}
