// Package stores measures the three stores of one node on a real disk: the segment log (a log for each partition), the commit
// log (one for all, with queues of pointers), and a bookie (one journal and one entry log for all ledgers).
//
// # What it promises
//
//   - Appends are a closed loop: each of so many appenders sends one message, waits for the answer as the sync mode says,
//     and goes on to its next partition. So every partition gets as much.
//   - In each round a raw line follows the store: the very groups that the store wrote to its log or journal, in their order, one
//     write and, where the store syncs, one fdatasync each, into a file whose blocks are written. By raw: bytes of groups
//     a second, by those of the raw line. Rounds of all cells of a group take turns.
//   - CPU is that of the whole process: store, appenders, and what runs beside. Open files are those of the process, counted when
//     a round ends, less what was open before the store.
//   - A read is cold when the store was opened anew and the page cache was told to drop its files.
//
// # What it does not promise
//
//   - A closed loop says nothing of arrivals that do not wait. Percentiles are of messages.
//   - Mode never leaves the writing to the kernel: a round is too short to see when that falls behind.
//
// # Who owns what
//
// A Rig owns a host and a store on it, and the appenders of the round that is under way. Close ends them; the
// directory is its caller's, as is all that lies below it.
package stores
