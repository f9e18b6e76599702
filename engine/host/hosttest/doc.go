// Package hosttest is the contract of the seam: what the engine relies on, as programs that a node runs. The real
// machine and the simulated world pass the same list, which is what lets an engine move between them.
//
// # How it works
//
// A contract is code inside a node. It knows its host and nothing of testing: in the simulator it is a coroutine, and a
// testing.T that ends a goroutine would end the scheduler with it. A Harness is how a contract gets its nodes; each
// world brings one. Run turns the list into subtests; a world may also walk Contracts with many seeds.
//
// # What it promises
//
//   - The name of a contract is the sentence that holds.
//   - A contract waits for what it needs and never for a fixed time, except where the promise is about time. Then it
//     asserts lower bounds, and upper ones only of the order of seconds: on a busy machine everything takes longer.
//   - A contract joins its tasks, closes its files and gives back its buffers, also where it fails, as far as it can.
//
// # What it does not promise
//
// It says nothing about crashes, torn writes or lost names. Those exist in the simulator alone and are tested there.
// Contracts about failing disks are skipped in a world that cannot break its disks on request.
package hosttest
