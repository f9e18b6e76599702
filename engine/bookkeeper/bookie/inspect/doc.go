// Package inspect reads what a bookie has written, says in words what is there, and checks that it adds up.
//
// # What it promises
//
//   - It changes nothing, and needs no bookie and no lock: it may look at a directory that is in use, at a copy, or at a
//     single file. Directories that are in use are named in Report.InUse, since then problems may be passing.
//   - Every record's checksum is verified, and every item of an index is compared with the record it names.
//   - It decodes the formats as their packages document them, with code of its own as far as the bookie's is private:
//     what the bookie writes wrongly and reads back wrongly is still found here.
//   - A file that cannot be read is a Problem, not the end.
//
// # What it does not promise
//
//   - It cannot tell a torn last group from one that was acknowledged and has rotted; it says so (Doubt).
//   - It holds the items of one log in memory, as the bookie does.
//   - To learn whether a directory is in use it takes its lock for an instant, if there is a cookie: a bookie that starts
//     in that very instant is refused.
//
// # Severities
//
//	Damage  something that was durable is lost or contradicts something else
//	Doubt   an unclean stop may explain it, and so may damage
//	Note    left over, harmless, and gone after the next start
package inspect
