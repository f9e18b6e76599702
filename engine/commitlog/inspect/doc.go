// Package inspect reads what a commit log has written, says what is there, and checks that it adds up.
//
// # What it promises
//
//   - It changes nothing, and needs neither a store nor a lock: it may look at a directory that is in use, or at a copy.
//   - Every record of the log is read and its checksum verified; every unit that counts is compared with its message, and every
//     message that should have a unit has one; every entry of a complete file of the key index is compared with the keys of the
//     message that it leads to.
//   - It decodes checkpoint, units and key index as their packages document them, with code of its own: what they write wrongly and
//     read back wrongly is found here.
//   - A file that cannot be read is a Problem, not the end.
//
// # What it does not promise
//
//   - Behind what the checkpoint says to be durable it cannot tell a torn tail from messages that have rotted; it says so (Doubt).
//     While a store is running its last group may look torn.
//   - What the last checkpoint does not count is made anew by the next start, and not looked at: units behind it, and the file of the
//     key index that is being filled.
//   - Of the key index it looks neither at the slots, so that a chain that leads nowhere is not found, nor at times.
//
// # Severities
//
//	Damage  something that was durable is lost or contradicts something else
//	Doubt   an unclean stop may explain it, and so may damage
//	Note    left over, harmless, and gone after the next start
//
// It has no tasks. Its memory is the checkpoint, a buffer, one for each queue, and one for the key index.
package inspect
