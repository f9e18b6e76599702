// Package registers is what clients do to a metadata store, and the recording of what they saw: each key is a register, which is
// created, replaced on the version that was seen last, deleted and read.
//
// # What it promises
//
//   - Every operation is recorded with its call before it starts and its outcome after it ends. One that a crash cut off, or
//     whose outcome the store did not know, is recorded as one that may take effect at any later time.
//   - Each value that is written is one of its own.
//   - Of each client's watch it is recorded what the client saw when it looked last, since it was told to.
//   - What a client does follows from its agenda, the stream of each step, and from what it saw, nothing else.
//
// # What it does not promise
//
//   - It judges nothing; package model and the trial do.
//
// # Who owns what
//
// A Lab outlives the processes of clients and server. A Client lives in one process; its two tasks, Run and Look, belong to the
// group that it was given. Nothing is on disks here.
package registers
