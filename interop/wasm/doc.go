// Command wasm asks for a second opinion on determinism: it builds cmd/fingerprint for this machine and for wasip1, runs
// the same trials in both, the second under wazero, and compares them line by line.
//
// # What it promises
//
//   - A native trial and one under wazero have the same trace hash, the same count of events, the same hash of all disks and the
//     same verdict. Another instruction set, another scheduler of goroutines (one thread, no preemption), another order of maps and
//     another allocator must not show.
//   - The guest has no clock, file or entropy of this machine. Its random source is drawn from a number, and each run under
//     wazero has another one: what a map or a select draws from it must not show either.
//   - A line that is missing is a difference. No line at all is an error.
//
// # What it does not promise
//
// It compares builds of one source by one compiler. It says nothing of the real machine (oshost), which has no trace.
//
// It is a module of its own because the engine and its laboratory need no WebAssembly. .ci/nightly runs it; the test runs
// one seed when LAKEBED_WASM is set, because building everything for another target takes most of a minute.
package main
