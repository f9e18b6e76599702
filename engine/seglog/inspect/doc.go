// Package inspect reads what a segment log has written in one of its data directories, says what is there, and checks that it adds
// up.
//
// # What it promises
//
//   - It changes nothing, and needs neither a store nor a lock: it may look at a directory that is in use, or at a copy.
//   - Every record's checksum is verified, every message decoded, every item of an index compared with the messages that it speaks
//     of, and every segment with the one before.
//   - Checkpoints are read run by run, each item compared as those of indexes, and what they promise is looked for in the log.
//   - So is the list of sealed segments, each item that is whole.
//   - A log ends where its index files say, or where the next segment begins: what lies behind that was copied by a start after a
//     crash and is told as a number, not as a problem.
//   - Nothing but zeros up to the end of the file is what a store writes ahead of its log, where the log may end: it is told as a
//     number too. Before the end that an index file, a checkpoint or the next segment proves they are damage.
//   - It decodes indexes, checkpoints, the list and topic files as package partition and seglog document them, with code of its own: what they write
//     wrongly and read back wrongly is found here.
//   - A file that cannot be read is a Problem, not the end. Nor are bytes of a log that are no record: it goes on with the next whole
//     record whose cursor fits, and says how many bytes it has skipped; it looks for one in 64 MiB behind them.
//   - All problems are counted, and the first thousand are listed.
//
// # What it does not promise
//
//   - In the newest segment, if it has no index files, it cannot tell a torn tail from messages that have rotted behind the last
//     checkpoint; it says so (Doubt). Messages that have become zeros there, all up to the end, it takes for zeros ahead. Nor a last
//     checkpoint that is torn from one that has rotted.
//     While a store is running its last record may look torn. What lies behind such a place in that segment is counted as far as
//     it is whole, not compared: a start cuts it off.
//   - Behind bytes that were skipped it knows the largest time only from below, and of items about them nothing.
//   - It looks at one data directory, and cannot know what the others hold.
//
// # Severities
//
//	Damage  something that was durable is lost or contradicts something else
//	Doubt   an unclean stop may explain it, and so may damage
//	Note    left over, harmless, and gone after the next start
//
// It has no tasks. Its memory is one buffer, and the items of one segment's indexes.
package inspect
