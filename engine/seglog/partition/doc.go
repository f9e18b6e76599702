// Package partition is one partition of a topic: one directory of segments to which messages are appended, and in which they
// are found by cursor and by time.
//
// # What it promises
//
//   - Messages get cursors in the order in which they are appended, from 0, one after the other. Reads see them in that
//     order, each whole and with its checksum verified, and none that is not acknowledged yet.
//   - In the modes always and group, Append answers without an error only when the messages are durable: no crash takes
//     them. In the modes interval and never it answers when they are written, and after a crash of the machine a prefix
//     of them is left.
//   - An answer with ErrOutcomeUnknown may be true or not; any other error says that nothing was stored.
//   - A message that a read has shown stays there until retention removes it. In the modes interval and never a crash of
//     the machine may take it too.
//   - A look-up by time gives the first message that is there with that time or a later one, also where producers' clocks
//     went back.
//   - After a write or a sync that failed nothing more is written until Restore. What was acknowledged before is read on.
//
// # What it does not promise
//
//   - It has one copy. Bytes that rot are found out, and answered with ErrCorrupt; in the last segment, which is not sealed
//     yet, they cannot be told from a torn tail, and are cut.
//   - A device that spoils bytes of a sector besides those that are written (no "power-safe overwrite") can take the
//     acknowledged messages that share a sector with the next ones. Config.PadBytes pads what is synced to whole sectors.
//   - Retention that was told of may be undone by a crash: removed segments can come back, and are removed again.
//
// # Tasks
//
// Two for the group commit, from the first append on, below the group given to Open. Close ends them. The owner calls
// Sync at intervals (mode interval), Retain, and Overdue, which finds a commit that hangs.
//
// # Files
//
// A segment is three files named by the smallest cursor in it, in decimal without padding: order them as numbers.
//
//	0.log 0.index 0.timeindex 5582.log ...
//
// .log holds records of package message, one after the other. While a segment is open only its .log exists and its
// indexes are in memory: an index on disk that runs ahead of its log, or behind, is what most bugs of such stores are
// about. When a segment is full (SegmentBytes, SegmentAge, IndexItemsMax) it is sealed: the log is synced, both index
// files are written under other names, synced, renamed, and the directory is synced. Only then the next log is made.
// So at most the newest segment has no index files.
//
// .index maps cursors to positions in the log, .timeindex times to cursors. Both are sparse: an item each IndexBytes of
// log. An item (t, c) of the time index says that all messages of the segment before cursor c have times up to t, so
// times never fall, whatever the producers' clocks did. Both are made of blocks of 4,096 bytes. Integers are big-endian.
//
//	header, block 0                          items, block 1...
//	 0  8  magic "SLINDEX1"                   0  4  CRC32C of bytes 4..4095
//	 8  4  CRC32C of bytes 12..4095           4  4  number of the block
//	12  4  kind: 1 index, 2 time index        8  4  number of items in it, at most 255
//	16  8  base cursor                       12  4  zero
//	24  8  cursor behind the last message    16     items: key 8, value 8
//	32  8  length of the log
//	40  8  largest time
//	48  4  number of items
//	52     zero
//
// # After a crash
//
// A segment whose index files are good and whose log is as long as they say is taken as it is. The newest one is read, and
// what is whole of it is written to a new file, synced, and takes the old one's place; then it is sealed. It is copied
// because the page cache may hold bytes whose sync has failed and which count as clean. The next append begins a new
// segment. A log without a message keeps its name, which tells the next cursor when retention has removed all others.
//
// The whole newest segment is read at a start after a crash: SegmentBytes bounds that.
package partition
