// Package metamorphic plays one workload under many configurations and demands that it ends in one state. No configuration
// is the right one: what one of them does alone is wrong, whoever says what should have come of it.
//
// # What it promises
//
//   - A Relation is a change of the configuration that must not show, with the reason why. All lists those that there are.
//   - Each seed draws a script (package sameness), which is played once as it is, and once under each relation. What is left
//     is compared: every ledger's state, last entry, length and contents, as a client reads them that wrote none of it.
//     Where a relation leaves the shape of ledgers alone, quorums, digests and determined fragments are compared too.
//   - The unchanged run is held against what follows from the script alone (sameness.Script.Expected). So a defect that all
//     configurations share is found as well.
//   - Odd seeds kill bookies. Even ones do not, so that a difference there has nothing to do with faults. A script waits for all
//     its acknowledgements before it goes on, so all that is compared was acknowledged.
//   - A simulated world that does not come to its end under a relation is a broken relation: the unchanged one did.
//   - A report of simulated worlds is determined by its options.
//
// # What it does not promise
//
// Nothing about speed, and nothing about what readers see while ledgers are written. On real goroutines a run that fails by
// itself is a failure of the environment: it may be the machine's.
//
// # Who owns what
//
// Run uses one task, and the worlds or clusters that it starts and ends one after the other. On real goroutines it sets
// runtime.GOMAXPROCS for the whole process while a relation asks for that, and sets it back.
package metamorphic
