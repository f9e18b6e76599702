// Package entrylog stores flushed entries of many ledgers in few files, and finds them again.
//
// # What it promises
//
//   - Flush returns without an error only after the entries' bytes and the file's name are durable. A failed flush
//     leaves no trace that a reader could meet; the next attempt writes everything again into a new file.
//   - A Read answers with bytes that pass their record's checksum and carry the ids asked for, or with an error. Damage
//     is ErrCorrupt, never "absent": upstream lost ledgers by taking one for the other (bookkeeper#2908).
//   - The newest version of an entry wins: runs are searched by descending flush sequence.
//   - Memory holds which log has which range of a ledger, the items of logs that are not closed, and two caches with a
//     bound in bytes.
//
// # What it does not promise
//
//   - It does not remember across a restart which logs count: the ledger table does (LogState), and tells Open.
//   - It removes nothing by itself: Dead names the logs in which no ledger lives, Remove deletes them once the table no
//     longer names them.
//
// Flush and Remove belong to one task, the checkpoint's. Everything else may be called from any task.
//
// # Files
//
// %08x.log: a record file of kind "ELOG". Each flush appends groups of records, ascending by ledger and entry:
//
//	kind 1  flush    flush sequence, uint64: first record of every flush
//	kind 2  entry    the stored entry
//
// A log that has reached its size is closed by an index behind its last group, in blocks of 4,096 bytes. Integers are
// big-endian. Block:
//
//	 0  4  magic "LIDX"
//	 4  4  CRC32C of bytes 8..4095
//	 8  8  identity of the log
//	16  4  number of the block, from 0 at the first item block
//	20  4  kind: 1 items, 2 directory, 3 trailer
//	24  4  number of items in it
//	28  4  zero
//	32     items
//
//	item (16 bytes):       entry id 8, offset of the record's header in the file 4, body length 4
//	directory (40 bytes):  ledger 8, first entry 8, last entry 8, number of its first item 4, items 4, flush sequence 8
//	trailer (32 bytes):    end of data 8, item blocks 4, directory blocks 4, items 4, ledgers 4, flush sequence 8
//
// Items are sorted by ledger and entry and dense: item i is in block i/254. The trailer is the last block of the file.
//
// # After a crash
//
// Bytes behind the length that the ledger table knows are cut off; a log without a good index is scanned and closed.
// Files that the table does not name are removed once a newer table is durable: the one that was read may not be.
package entrylog
