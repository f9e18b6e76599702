// Package journal is the bookie's write-ahead log: what it has committed survives a crash.
//
// # What it promises
//
//   - A Batch completes without an error only after its records are written and, unless the sync mode says otherwise,
//     synced. Batches of one group complete in the order in which they were appended.
//   - Groups are committed one at a time: the next one fills while the last one is synced. With Config.GroupWait one that is
//     below its bound waits so long for more, from its first batch on, unless the journal is hurried or drained.
//   - Fail-stop: after a failed write or sync nothing is acknowledged any more. The failed group's outcome is unknown,
//     and a later sync is never taken for its success.
//   - Open hands every committed record to the caller, in order, before anything new is written, and says whether the
//     end was clean, torn, or undecidable. Rot is an error (record.ErrCorrupt) that names the place.
//   - Trim removes only files of which every group is at or below the given mark.
//
// # What it does not promise
//
//   - It does not interpret records. It may hand out records that were written but never acknowledged.
//   - It does not rewrite what it replays: the caller stores that elsewhere, durably, and then calls Start and Trim.
//
// # Tasks
//
// "journal-commit" writes and syncs, and completes batches if no other group waits, else "journal-commit-settle" does;
// "journal-prepare" keeps one file ahead, filled and synced; "journal-sync" exists in mode interval only. Close ends all.
//
// # Files
//
// %016x.journal in one directory, ids rising by one: a record file of kind "JRNL" and fixed size. Each is filled with
// zeros and synced, and its name is synced, before its first group is written, since overwriting written blocks commits
// faster than extending a file. Sequences run on across files. A clean close ends the last file with a footer group.
//
// Trimmed files are kept as %016x.journal.spare and used again instead of filling new ones. Old groups in them are told
// from new ones by the file's identity. In a recycled file each group is followed by a page of zeros, written with it
// and overwritten by the next group. A name that ends in ".new" is a file that is being prepared.
//
// # After a crash
//
// The unsynced last group may be there whole, in part, or not at all. Replay takes it if it is whole. If only a part is
// there, the journal cannot tell a write that was cut short from an acknowledged group that has rotted, and reports
// Undecided; a page of zeros where the group would begin says that it was never durable. A group whose sequence the mark already covers is no loss and is not reported.
package journal
