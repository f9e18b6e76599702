// Package bounds adds up what the settings of a process let it hold in memory.
//
// Bytes are bounded by settings in bytes, records about them by settings that count; a record is taken as RecordBytes. It
// does not count socket buffers, which are the kernel's, nor what the runtime takes: Slack is for that.
package bounds

import "lakebed/engine/bookkeeper/bookie/node"

// Sizes of what is bounded by number. They are taken a little too small rather than too large.
const (
	// RecordBytes is what the client or a bookie's connection keeps of one add besides the entry's bytes.
	RecordBytes = 256
	// ItemBytes is what an entry log that is not closed keeps of one entry in memory.
	ItemBytes = 24
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

const bookie = "bookie"

// Appends lists what bookies may hold of entries that they store, with so many connections each.
func Appends(b *node.Config, bookies, connections int64) []Bound {
	store, server := &b.Store, &b.Server
	all := bookies * connections
	return []Bound{
		{"WriteCacheBytesMax", bookie, bookies, store.WriteCacheBytesMax},
		// A group is full at its bound, and was entered below it by one batch. Three take turns.
		{"3 × (Journal.GroupBytesMax + BatchBytesMax)", bookie, bookies, 3 * (store.Journal.GroupBytesMax + server.BatchBytesMax)},
		{"EntryLog.ItemsMax items", bookie, bookies, int64(store.EntryLog.ItemsMax) * ItemBytes},
		{"EntryLog.GroupBytes", bookie, bookies, int64(store.EntryLog.GroupBytes)},
		{"Server.BatchesMax × BatchEntriesMax records", bookie, all, int64(server.BatchesMax*server.BatchEntriesMax) * RecordBytes},
		{"Server.InputBufferBytes + OutputBytes", bookie, all, int64(server.InputBufferBytes + server.OutputBytes)},
	}
}

// Reads lists what bookies may hold of entries that they read.
func Reads(b *node.Config, bookies int64) []Bound {
	store, server := &b.Store, &b.Server
	return []Bound{
		// The scrubber's buffer grows by doubling, up to the longest group.
		{"2 × (EntryLog.GroupBytes + EntryBytesMax), of the scrubber", bookie, bookies, 2 * int64(store.EntryLog.GroupBytes+store.EntryBytesMax)},
		{"EntryLog.IndexCacheBytesMax", bookie, bookies, store.EntryLog.IndexCacheBytesMax},
		{"EntryLog.ReadCacheBytesMax", bookie, bookies, store.EntryLog.ReadCacheBytesMax},
		{"Server.AnswersBytesMax, of plain and of fencing reads", bookie, 2 * bookies, server.AnswersBytesMax},
	}
}

// Bookie is everything that the settings of a bookie's process allow it to hold, with as many connections as it takes.
func Bookie(b *node.Config) []Bound {
	return append(Appends(b, 1, int64(b.Server.ConnectionsMax)), Reads(b, 1)...)
}
