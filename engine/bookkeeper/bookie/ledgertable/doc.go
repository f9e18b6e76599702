// Package ledgertable remembers, for each ledger a bookie has heard of, whether it is fenced, deleted or in limbo and
// what its master key is; and it is the list of the entry logs that count.
//
// # What it promises
//
//   - File.Write is atomic: after a crash either everything of it is found or nothing.
//   - What Write returned for is found by Load, or Load reports record.ErrCorrupt. Load is told the position that the
//     mark vouches for, so that a rotten last group is not taken for a torn one.
//   - A failed Write leaves what was durable before; the next Write must be a snapshot into a new file.
//
// # What it does not promise
//
//   - Table has no lock: its owner's mutex guards it. File belongs to the checkpoint's task.
//
// # Files
//
// %08x.table, a record file of kind "LTBL": first a snapshot, then one group for each checkpoint. Records, big-endian:
//
//	kind 1  ledger        ledger 8, flags 1 (1 fenced, 2 has key, 4 limbo, 8 deleted), master key 20
//	kind 2  log           log id 4, durable bytes 8, flags 1 (1 closed)
//	kind 3  log gone      log id 4
//	kind 4  bookie        flags 1 (1 uncertain: ledgers not listed may have been lost)
//	kind 5  snapshot end  empty
//
// A later record replaces an earlier one. A new file is written when the old one has grown to a multiple of its
// snapshot, and at each start; the old one is removed once the new one's bytes and name are durable. A file without a
// snapshot end was never finished and is ignored.
package ledgertable
