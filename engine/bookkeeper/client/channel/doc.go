// Package channel is a client's side of one connection to a bookie, over BookKeeper's version 2 protocol.
//
// # What it promises
//
//   - Requests are pipelined. Each one that Submit takes is completed exactly once: by its answer, by its timeout, or
//     by the end of the channel, whichever comes first.
//   - An add that was taken and got no answer fails with ErrOutcomeUnknown: the entry may or may not be stored. So does
//     one that the bookie answered with an input/output error. All other errors of adds mean that it was not stored.
//   - An answer is given to the request that it answers. Version 2 has no request ids for single reads and adds, only
//     ledger, entry and operation; see Lines.
//   - What is offered with one call costs one lock and goes out with one write; answers that came together are matched under
//     one lock, and handed back together to the Collector that their requests share.
//   - Memory is bounded: at most Config.RequestsMax requests and Config.OutputBytesMax bytes not yet written, and as many
//     being written. Submit waits for room, Offer refuses with ErrFull.
//
// # What it does not promise
//
//   - It does not connect again. Err says why a channel ended; the owner dials another.
//   - It verifies no digest, and does not look into stored entries.
//   - The bytes of answers are the caller's to bound, by what it asks for.
//
// # Lines
//
// Requests with the same ledger, entry and operation form a line; one of them is on the wire, the others wait for its
// answer. Otherwise the answer to a plain read could be taken for that to a fencing read, or an answer from before an add
// for one to a read that began after it. The place of a request that timed out stays taken until its answer comes, for the
// same reason. If that does not come within Config.Patience the channel ends with host.ErrTimeout: a peer that owes an
// answer for so long is gone or broken. Batch reads have ids and never wait.
//
// # Who owns what
//
// "write", "read" and "sweep" are tasks in a child of the given group. A request belongs to the channel from Submit
// until Completed or Collected is called, in one of these tasks or in the one that calls Close. Bodies of adds are copied by Submit.
// What a read returns belongs to the caller, who calls Release.
package channel
