// Package sim is the deterministic world: virtual time, tasks, disks and a network, all drawn from one seed. It knows a
// node only as boot(host.Host) error, and never learns what the node is for.
//
// # What it promises
//
//   - Two worlds built and run in the same way from the same Config are equal event for event: same trace hash, same
//     event count, same bytes on every disk. FirstDivergence finds the first event at which two runs part.
//   - Exactly one task runs at a time, and it gives way only at a scheduling point: sleep, input and output, a contended
//     lock, a condition or gate, Go, and, where Config.LockYieldPermille says so, taking any lock.
//   - Each element draws from a random stream of its own (Stream), so that taking one away shifts nothing else.
//   - A process begins a millisecond after Node.Start, so that a node which crashes and restarts for ever lets time go by.
//   - Time stands still while any task can run, and then jumps to the next event.
//   - A dead node changes nothing. Its tasks unwind and their deferred calls run, but each seam call they make is refused:
//     no disk, no peer and no counter sees it.
//   - A world that finished has no coroutine left, whatever its verdict.
//
// # What it does not promise
//
//   - It cannot stop a task that computes for ever without calling the seam; the campaign's hang guard does that.
//   - The race detector sees nothing here: each switch orders everything before it. Races are for tests on oshost.
//   - The trace hash is a property of seed, Go version and code together. A seed alone names no history.
//
// # Who owns what
//
// A World owns its nodes; a Node owns its volumes and survives its processes; a process (one incarnation of a node) owns
// tasks, connections, locks and buffers, and loses them all when it ends. Every seam object knows its process, and every
// seam call first asks whether that process still lives.
//
// # How a task is killed
//
// Tasks are coroutines on iter.Pull. To kill one, its process is marked dead and the coroutine resumed once more: the
// call in which it was parked panics with a private value, deferred functions run, and the wrapper recovers it. Code that
// recovers everything meets the same panic again at its next seam call. A panic that is not ours is recorded with the
// task's own stack before the coroutine machinery can lose it.
//
// # Outside the tasks
//
// World callbacks (World.At, Node.OnExit) run between tasks. Hooks (World.OnMark, World.SetPerhaps, Volume.SetFaults) run
// inside the task that asked. Both may crash, start, pause and stop nodes; neither may block.
package sim
