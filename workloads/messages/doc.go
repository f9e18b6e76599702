// Package messages is what producers and consumers do to a commit log, and the recording of what they saw. The same clients
// run in a simulated world and on a real machine.
//
// # What it promises
//
//   - Every message is like no other: its body says who sent it, in which of its steps.
//   - A send is recorded with its call before it starts and its outcome after it ends; one that a crash cut off has the
//     outcome Unknown. Stamps are one order over all clients.
//   - A consumer compares tags itself, as one has to: what is recorded of a pull with a tag is what passed.
//   - What a client does follows from its agenda, the stream of each step, and from what it saw, nothing else.
//
// # What it does not promise
//
//   - It judges nothing; package model does. A pull that fails is recorded as none.
//
// Clients made by NewRemote reach the store over the network, through whatever speaks with its server. Only their sends go on
// when the store's process ends.
//
// A Lab outlives the store's processes. Its clients are tasks of a node, started anew in each incarnation.
package messages
