// Package host is the seam: everything the engine may ask of the machine it runs on.
//
// A node is born as boot(Host) error. What it is given decides which of the two worlds it runs in: oshost hands out
// goroutines, files and TCP; the simulator hands out coroutines, a modelled disk and a modelled network. The engine
// cannot tell the two apart, and both pass one contract suite (hosttest).
//
// # What it promises
//
//   - Every task is owned by a Group, can be stopped and can be joined. A task that is left over when boot returns is
//     an error of the engine.
//   - Elapsed never goes back; Now may jump either way. Deadlines are on Elapsed.
//   - A file's bytes are durable after File.Sync, its name after Dir.SyncDir of the directory that holds it. Neither
//     implies the other. Before that, bytes and names may or may not survive a crash, in any combination.
//   - Reads and writes may be short without an error; ReadFull and WriteFull loop. A failed Sync says nothing about
//     what is durable, and a later successful Sync does not make up for it.
//   - Waits end: each of Sleep, Cond.Wait, Cond.WaitFor and Gate.Wait returns when the group it belongs to stops.
//
// # What it does not promise
//
//   - Stop does not interrupt file or network calls. The owner closes what a task is blocked on.
//   - Stopping a group does not stop its children: the owner stops them in its own order.
//   - No fairness beyond FIFO wake-up of the waiters of one Cond.
//
// # Vocabulary
//
// Built once here on the interfaces alone, so that both worlds run the same code: Queue (a bounded batch queue),
// Future, GroupCommit, SortedKeys, Scope, LogLimit.
package host
