// Package record is the framing under journal, entry log and ledger table: how bytes get into a file so that, after a
// crash, what was stored can be told from what was torn and from what has rotted.
//
// # What it promises
//
//   - A group is found whole or not at all: Scanner never hands out a part of a group, nor bytes of another file.
//   - The end of a file is classified: clean (nothing was begun behind it), torn (the last group is bad and nothing
//     proves that it was ever durable), or rotten (a later group proves that it was).
//   - Decoding never panics and never allocates by an unchecked length.
//
// # What it does not promise
//
//   - It does not sync; its users decide when bytes are durable and pass what they know as DurableThrough.
//   - It cannot decide whether a bad last group was acknowledged and has rotted, or was never finished. Users treat
//     that end as "unknown".
//
// # Bytes
//
// All integers are big-endian. Everything starts at a multiple of 4,096 bytes (Align): an unsynced group never shares a
// page with a synced one, so a torn page cannot take durable bytes with it. The kernel writes whole pages anyway, so
// the padding costs no device bandwidth.
//
// File header, one page:
//
//	 0  8  magic "LAKEBED1"
//	 8  4  kind, four ASCII letters
//	12  4  format version, 1
//	16  8  file id
//	24  8  identity: random, drawn for this file
//	32 28  zero
//	60  4  CRC32C of bytes 0..59
//	64     zero up to 4,096
//
// Group: header, records, zeros up to the next page.
//
//	 0  4  magic "LGRP"
//	 4  4  CRC32C of bytes 8..63
//	 8  8  identity of the file
//	16  8  sequence, rising by one within a file
//	24  8  durableThrough: every group up to this sequence was synced when this one was written
//	32  8  offset of this header in the file
//	40  4  length of all records, without padding
//	44  4  number of records
//	48  4  chain: CRC32C over the headers of all records in order
//	52  4  flags: 1 footer (the file was closed cleanly here)
//	56  8  zero
//
// Record: header, body. Records are not aligned.
//
//	 0  4  body length
//	 4  4  CRC32C of bytes 8..15 and the body
//	 8  4  kind, the user's
//	12  4  zero
//
// A record is checksummed by whoever appends it, before any lock is taken; the task that writes a group only folds the
// 16-byte record headers into the chain. Since a header holds the checksum of its body, the chain covers every byte.
//
// Old bytes are told from new ones by the identity and the offset, so a file may be filled in advance or recycled.
package record
