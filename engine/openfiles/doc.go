// Package openfiles keeps files open up to a bound, so that a store with more files than a process may have open still
// opens each as seldom as it can.
//
// # What it promises
//
//   - No more than Max files that came through Open, and slots that came through Reserve, are in hand at any time. Who
//     wants one more waits until another is given back or can be closed.
//   - A file in use is never closed. The one to be closed is that which nobody has used for the longest time.
//   - A file that was written to since its last sync (Dirty) is synced before it is closed to make room: a failed
//     write-back must be heard by whoever wrote, and a handle that is opened later may not be told. Such a failure
//     (ErrNotSynced) is the answer to every Open of that file until Forget: the next to open it may be a reader, and it is
//     the writer who must hear.
//
// # What it does not promise
//
//   - It does not know files that were renamed or removed: Forget says so.
//   - A task that holds one file while it waits for another can wait for ever. Hold one at a time, or reserve several places
//     at once.
//
// # Tasks
//
// It has none. Waiters wake when the group given to New stops.
package openfiles
