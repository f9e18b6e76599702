// Package consumer takes the messages of one queue of a commit log, in the way that its settings say (C-20): by pulls that wait
// in the store (long poll), by pulls that are answered at once and come again (short poll), or pushed by the store's side as
// far as permits reach.
//
// # What it promises
//
//   - The messages of the queue come in its order, each once, from the given offset on, whichever way they come.
//   - With Push no more than Permits messages are on their way or wait to be taken: a consumer that is slow holds up its own
//     queue and takes no memory beyond that.
//   - A consumer that retention has overtaken goes on at the first message that is left, and counts what it missed.
//   - Stats say how many requests a consumer on another machine would have sent, and how much was in hand at most.
//
// # What it does not promise
//
//   - It keeps no progress: who consumes stores the offset, and opens the next consumer there.
//   - It does not compare tags, and is no network client: a service puts the same steps behind its protocol.
//
// # Tasks
//
// One, "consumer-push", with Push only, in a group of its own below the given one. Close ends it. The polling ways run in the
// task that receives. Nothing is stored, so nothing survives a crash.
package consumer
