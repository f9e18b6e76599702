// Package workloads is what clients do to a bookie, and the recording of what they saw. The same clients run in a
// simulated world, where the record goes to the checkers, and on a real machine.
//
// # What it promises
//
//   - Every operation is recorded with its call before it starts and its outcome after it ends; one that a crash cut off
//     is recorded as of unknown outcome. Stamps are one order over all clients.
//   - What a client does follows from its random stream and from what it saw, nothing else. Each of its steps draws from
//     a stream of its own, and an agenda (package agenda) can leave any of them out.
//   - The content of an entry follows from ledger, entry and version, and its digest covers every stored byte.
//
// # What it does not promise
//
//   - It judges nothing. Answers that cannot be right are recorded like others; package model judges.
//
// A Lab outlives the bookie's processes: it knows which ledgers exist and what was tried. Its clients are tasks of a
// node, started anew in each incarnation.
package workloads
