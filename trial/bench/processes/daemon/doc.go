// Package daemon is what runs inside the processes of a cluster: a bookie, or a metadata store, on a real machine, from
// its first line on standard output to its last.
//
// # What it promises
//
//   - When a daemon can be used it says so once, in one line that programs can read: Announcement. A bookie can be used
//     when it serves and clients find it in the metadata store.
//   - When its context ends it stops in good order and returns nil: a bookie takes its key away, answers what it has
//     taken, writes everything to the entry log and closes the journal.
//   - A stop is bounded: a bookie that has not ended settings.Config.StopMax after the end of its context is given up with
//     ErrStopOverdue, which names the tasks that are left. They may hang in a disk that does not answer, so the process has
//     to end without them.
//   - An error that an operator can do something about says what: Advice.
//
// # What it does not promise
//
// The metadata store keeps everything in memory. It is for trying things out on one machine: when it ends, its cluster is
// lost, although the bookies still have every entry.
//
// # The announcement
//
// One line of words with a space between, and a line feed:
//
//	serving bookie 127.0.0.1:3181 new                 nothing was there before
//	serving bookie 127.0.0.1:3181 restarted           after a clean stop
//	serving bookie 127.0.0.1:3181 recovered 17        after an unclean stop; groups of the journal were replayed
//	serving metadata 127.0.0.1:2181 in-memory
//
// # Who owns what
//
// RunBookie and RunMetadata own a host of oshost and everything in it, and return when no task is left,
// but for ErrStopOverdue. What a bookie
// keeps is below its data directory: "journal" and "ledger", as simrun inspect expects them.
package daemon
