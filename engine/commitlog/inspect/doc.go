// Package inspect reads what a commit log has written, says what is there, and checks that it adds up.
//
// # What it promises
//
//   - It changes nothing, and needs neither a store nor a lock: it may look at a directory that is in use, or at a copy.
//   - Every record of the log is read and its checksum verified; every unit that counts is compared with its message, and every
//     message that should have a unit has one; every entry of a complete file of the key index is compared with the keys of the
//     message that it leads to, and its slots and chains are those that its entries make.
//   - It decodes checkpoint, units and key index as their packages document them, with code of its own: what they write wrongly and
//     read back wrongly is found here.
//   - A file that cannot be read is a Problem, not the end. Nor, where the log is durable, are bytes that are no record: it goes on with
//     the next whole record, or else the next file, and says how many bytes it has skipped; it looks for one in 64 MiB behind them.
//   - All problems are counted, and the first thousand are listed.
//
// # What it does not promise
//
//   - Behind what the checkpoint says to be durable it cannot tell a torn tail from messages that have rotted; it says so (Doubt).
//     While a store is running its last group may look torn. What lies behind such a place in that file is counted as far as it is
//     whole, not compared: a start cuts it off.
//   - Of messages that were skipped it does not look at units and entries of the key index.
//   - What the last checkpoint does not count is made anew by the next start, and not looked at: units behind it. Of the file of the
//     key index that is being filled it sees whether it is there, and long enough.
//   - Of the key index it does not look at times.
//
// # Severities
//
//	Damage  something that was durable is lost or contradicts something else
//	Doubt   an unclean stop may explain it, and so may damage
//	Note    left over, harmless, and gone after the next start
//
// It has no tasks. Its memory is the checkpoint, a buffer, one for each queue, and for the key index another and at most 32 MiB of slots: the entries
// of a file with more slots than that holds are read more than once.
package inspect
