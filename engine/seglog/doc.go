// Package seglog is a single-node store of log messages (the one that its source calls mstore): topics in partitions, spread
// over several data directories, to which messages are appended and from which consumers pull in order.
//
// # What it promises
//
//   - Of each partition, what package partition promises: order, durability as the mode says, look-up by cursor and by
//     time. There is no order across partitions.
//   - A producer names the partition, or has the store choose: then the partitions of directories in service take turns.
//   - A directory that fails, is slow (CommitPatience), full (FreeBytesMin) or read-only is ejected: appends go to the
//     partitions of others. What was acknowledged in it is read as far as the disk gives it. It is looked at again and
//     again, and taken back when it works; partitions that had failed are then settled as after a crash.
//   - A directory that hangs keeps nobody for longer than CommitPatience, where there are several. With one (or where
//     Partition.Committer is partition.ByAppender) an appender that found nobody before it commits itself, and hangs too:
//     one for each partition at most.
//   - A directory that is full, also at the start, is opened, read, and freed by retention. What there is no room for is not stored,
//     and its append says so (host.ErrNoSpace); so do balanced appends when all directories are full.
//   - An append that may have been stored is never tried elsewhere: its answer is ErrOutcomeUnknown. Any other error says
//     that nothing was stored.
//   - Messages whose time is older than the topic's retention go, 3 days by default, segment by segment; so do the oldest
//     segments of a partition beyond the topic's size. Neither removes younger messages, but by size.
//   - No more than FilesMax files are open.
//
// # What it does not promise
//
//   - It has one copy of everything: a directory that is lost takes its messages along. One that comes back empty is not
//     taken for new: its partitions stay out of service, because their cursors would begin anew.
//   - Without a directory that it has never seen since its start it does not know all topics: it then says ErrUnavailable
//     of a topic that it does not know, and makes none.
//   - A message's time is its producer's. One whose clock is behind by more than the retention loses its messages at the
//     next look, one that is ahead keeps them longer, by FutureMax at most.
//
// # Tasks
//
// One for each directory (retention, readmission), one each for its sync at intervals (mode interval only), one that looks
// for commits that hang, UpkeepTasks at most while partitions are opened or closed, and those of the partitions. Open starts them below the given group, Close ends them.
//
// # Files
//
// In each volume:
//
//	mstore/partition/{topic}/topic        the topic's settings, the same in all of its directories
//	mstore/partition/{topic}/{number}/    a partition: a directory of segments, see package partition
//
// A topic's file is text: "LAKEBED-TOPIC 1 " and the CRC32C of what follows in eight hexadecimal digits, a line feed, and
// a JSON object with name, version, retention_nanos, retention_bytes, and volumes, which are those of partition 0, 1 and so
// on. It is replaced as a whole; of several the highest version counts. The partitions' directories are durable before the first topic file is.
package seglog
