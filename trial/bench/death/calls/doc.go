// Package calls reads traces of system calls, and shows from them in which order a bookie does what it must do in order.
//
// A test that kills processes cannot see whether a bookie syncs: SIGKILL takes nothing from the page cache. A trace can. It
// shows what was handed to the kernel, when each call began and when it returned.
//
// # What it promises
//
//   - Parse understands the output of strace -f -tt -yy -xx for the calls that write, send and sync. A call that was
//     interrupted in the output by those of other threads ("unfinished", "resumed") has its begin where it was entered and
//     its end where it returned.
//   - Check passes only if every acknowledgement on a bookie's connections begins to leave after a sync of the journal
//     file has returned that began after the write of the entry to that file had returned. What a trace does not show
//     counts as not done.
//   - Neither panics, whatever the bytes are.
//
// # Why lines are a clock
//
// A thread stands still at the entry and at the return of a traced call until strace has seen it, and strace sees one stop
// after the other. So if one call returned before another was entered, for instance because one thread woke the other, the
// lines say so. Times of day are for readers only.
//
// # What it does not promise
//
// An entry that a short write cuts in two is not found. Writes through a mapping are not traced; the journal has none.
package calls
