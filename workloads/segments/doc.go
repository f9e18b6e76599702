// Package segments is what clients do to a segment log, and the recording of what they saw.
//
// # What it promises
//
//   - Every operation is recorded with its call before it starts and its outcome after it ends; one that a crash cut off is
//     recorded as of unknown outcome. Stamps are one order over all clients.
//   - Each message holds a number of its own, and bytes that follow from it; a message that is read and differs in one byte
//     is recorded as one that nobody sent.
//   - What a client does follows from its agenda, the stream of each step, and from what it saw, nothing else.
//
// # What it does not promise
//
//   - It judges nothing; package model does.
//
// A Lab outlives the store's processes. Its clients are tasks of a node, started anew in each incarnation.
package segments
