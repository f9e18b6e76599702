// Package oshost is the seam on a real Linux machine: goroutines, files, TCP, the clock of the kernel.
//
// # What it promises
//
//   - Everything package host promises, and the same contract suite as the simulated world (hosttest).
//   - No allocation per call on hot paths: locks, conditions, gates, counters, buffers, reads, gather writes, syncs.
//   - Every error says what was being done to what, wraps one of host's sentinels where a caller may branch, and wraps
//     the errno as well, for whoever reads the log.
//   - File.Sync is fdatasync. It makes the size durable too, since a file cannot be read back without it.
//   - Close of a file waits for the calls inside it. A descriptor number is reused by the next open, so a late write
//     through a closed descriptor would land in somebody else's file.
//   - Rename, Create, Sub and Remove touch names in the page cache only. Dir.SyncDir is what makes them durable.
//
// # What it does not promise
//
//   - A blocked file call cannot be woken: a stuck disk holds its task until the kernel gives up. A write through memory
//     (window.go) to a page that the kernel has just written out by itself holds a processor, too, and with it, sooner or later, the process.
//   - A volume is reached by path, not by descriptor: whoever moves the directory under a running node takes it away.
//   - The directory lock is flock on a file named LOCK. It excludes processes on one machine and is as good as the file
//     system makes it elsewhere. The name is reserved: List does not show it, and no file may take it.
//   - The probe is inert. Nothing here takes rare branches on request.
//
// # Who owns what
//
// A task is a goroutine, counted by its Group and named in a register of the Host, so that Close can say which tasks
// were left over. Timers and waiters come from pools. No goroutine runs that a Group does not own, except inside Dial
// and while a context is being watched for Run and FromContext.
//
// # What survives a crash
//
// A panic in a task ends the process at once: no deferred call of this package lets another task see the group as
// joined first. Directory locks go with the process.
package oshost
