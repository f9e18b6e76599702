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
//   - It has one copy. Bytes that rot, and logs that are cut or gone, are found out, and answered with ErrCorrupt; in the last
//     segment, if it is not sealed, behind its last checkpoint, they cannot be told from a torn tail, and are cut; and if they
//     have become zeros, from the zeros behind the end.
//   - A device that spoils bytes of a sector besides those that are written (no "power-safe overwrite") can take the
//     acknowledged messages that share a sector with the next ones. Config.PadBytes pads each group to whole sectors against
//     that, of 512 bytes by default, in mode never only before a checkpoint; without padding, or on a device with larger sectors, nothing is promised of such a crash.
//   - Retention that was told of may be undone by a crash: removed segments can come back, and are removed again.
//
// # Tasks
//
// Two for the group commit (package commit), from the first append on, which sleep while lone appenders commit themselves
// (Config.Committer), and one that seals and makes checkpoints while there is something to
// do, below the group given to Open. Close ends them. The owner calls
// Sync at intervals (mode interval), Retain, and Overdue, which finds a commit that hangs, and frees those who wait for it, but
// not the appender that commits itself.
//
// # Files
//
// A segment is three files named by the smallest cursor in it, in decimal without padding: order them as numbers.
//
//	0.log 0.index 0.timeindex 5582.log ...
//
// .log holds records of package message, one after the other. The file may go on with zeros behind
// the last one: at most ZeroAheadBytes, and no more than the log holds, since partitions may be many. In the modes always and group they are
// written: the sync of a group that lies where zeros were does not wait for a commit of the file system's journal, as it must where the file
// grows. In the modes interval and never they are allocated, for short groups, which are then copied into the page cache
// (MappedAppends, host.MemoryWriter): a call of the kernel for each would cost most of an append. They are cut off
// when the segment is full, but for the rest of the block that holds its last message; where that fails, or a crash takes
// it back, they stay. While a segment is open its indexes are in memory, and on disk
// only as far as its checkpoints go: an index on disk that runs ahead of its log, or behind, is what most bugs of such stores
// are about. When a segment is full (SegmentBytes, SegmentAge, IndexItemsMax) its log is synced, and only then the next
// log is made: so only the newest log can be torn. Then the settling task seals it, which no commit waits for: both index
// files are written under other names, synced, renamed, and the directory is synced. At most UnsealedMax full segments are
// not sealed when a log is made.
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
// .checkpoint says of a segment that is not sealed how much of its log is durable, and holds the index items of that. The
// settling task appends to it each CheckpointBytes of log, which all partitions share (Place.Writers), so that what a start
// has to read is bounded by that and not by what is stored. It goes when the segment is sealed. It is a row of runs, each of
// whole blocks and written at once, so that a torn one spoils none before it; the first that is not whole ends the row.
//
//	first block of a run                     then blocks of items, as in index files, numbered
//	 0  8  magic "SLCHECK1"                  from the front of the file: those of the index,
//	 8  4  CRC32C of bytes 12..4095          then those of the time index.
//	12  4  number of the block in the file
//	16  4  index items in the run            32  8  base cursor
//	20  4  time items in the run             40  8  cursor behind the last message
//	24  4  index items of earlier runs       48  8  bytes of the log that are durable
//	28  4  time items of earlier runs that   56  8  largest time
//	       stay: the last one may move up    64     zero
//
// A file of runs that has grown to one and a half times what its items need is replaced by one run that stands for all, so that a
// start reads what the items need, however many checkpoints there were.
//
// sealed lists the sealed segments, so that a start need not open the files of each: items of 64 bytes, added when a segment is
// sealed, and not synced. An item is believed if the three files have the lengths that it says; what it does not say is in the
// index files. One whose segment is gone or not sealed, and whose cursors may come again, is removed durably at the start.
//
//	 0  4  CRC32C of bytes 4..63             24  8  length of the log
//	 4  4  "SLS1"                            32  8  largest time
//	 8  8  base cursor                       40  4  items of the index
//	16  8  cursor behind the last message    44  4  items of the time index, then zero
//
// # After a crash
//
// A segment of the list, or whose index files are good, is taken as it is. Of others, what a checkpoint covers is: a checkpoint is written only
// of what was synced before, so that what it says is true whether the crash left it or not.
//
// Yet a file may have been cut, or be lost, or a directory was copied file by file, or restored in part. So it is looked whether
// a sealed log is as long as its index files say, or as the one of them that is whole says; and whether one with checkpoints is as
// long as the last of them says, with records from the last index item on that end exactly there. What is missing is told: in the
// log, and by reads, which answer ErrCorrupt; also of a log that is gone while other files of its segment are there, and of one that
// ends before the next segment begins. The segment ends where those files say, and no cursor is given twice. A sync that lied (a
// device that drops its cache) is not found out by that if the lost bytes lie before the last item of a checkpoint, or if the file is
// as long as it should be; the reads that meet them say ErrCorrupt.
//
// Files of a segment that has no log, of which none says what was in it, are no segment: they get the suffix ".aside", stay for whoever
// looks, up to 64 of them, and are not read again. The inspector tells of them.
//
// The rest of a full log is read up to the first cursor of the next one. The rest of the newest log is read, and what is whole
// of it is written to a new file, synced, and renamed: it becomes a segment of its own, named by its first cursor, which takes
// appends. It is copied because the page cache may hold bytes whose sync has failed and which count as clean. Where no
// checkpoint covers anything the copy takes the old log's place. A log that is not sealed thus ends where the next
// begins, whatever lies behind. A log without a message keeps its name, which tells the next cursor when retention has
// removed all others.
//
// Zeros up to the end of the file are no torn tail: no record begins with them, since its size is not zero. Zeros before
// something else are one: of a group, or of the zeros themselves, some sectors have reached the disk and others have not.
//
// If there is no room for a copy the log is synced and read from the device, and what is whole there is the end of the segment.
// Where the machine cannot read past its page cache that may be wrong after a sync that failed.
package partition
