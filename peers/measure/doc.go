// Package measure runs the comparison: every store at every point, in rounds that take turns, and makes a reports.Result of it.
//
// # What it promises
//
//   - Each store runs in a process of its own (a worker: this program again), so that its CPU, its collector and its tasks
//     are its own. A broker's processes are counted beside its client's, and told apart.
//   - All stores of a point are open at once and take turns, round by round, in an order that rotates; the raw line is one of
//     them. Between two rounds the file system is synced, off every clock: nobody pays for what another left in the page cache.
//   - CPU is counted until work behind the appends has ended (queues made, files swapped), or settleTime has passed.
//   - What is read is compared with what was appended, once for each store and point of reading, off the clock: ErrBroken.
//   - A store that cannot be measured at a point, or fails there, is told and counted (Skipped). A failure of ours ends the run.
//
// # What it does not promise
//
//   - Latencies are of a closed loop.
//   - CPU of brokers comes from /proc in steps of 10 ms; rounds much shorter than the default cannot show it.
//   - The kernel's own work for the disk, in its threads, is nobody's: it is missing on all sides.
//
// # Files and tasks
//
// All lies below one fresh directory, which Run removes. Workers end when their standard input does, brokers with this process.
package measure
