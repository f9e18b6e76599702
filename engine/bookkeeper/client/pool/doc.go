// Package pool keeps a client's connections to bookies: one shared channel for each bookie, dialled when it is first
// needed and again after it broke.
//
// # What it promises
//
//   - Offer never waits, whatever state the bookie is in. A request that it takes is completed exactly once.
//   - Bookies do not hold each other up: each is dialled, and fed what waits for it, by a task of its own.
//   - A request that was never handed to a channel fails with ErrUnavailable. For an add this means that it is not stored
//     by this attempt. Errors of requests that were handed over are those of package channel.
//   - A bookie that cannot be reached, or breaks its connections soon after they were made, is left alone for a while
//     (Config.BackoffMin, doubling up to Config.BackoffMax, counted from the failure). Meanwhile Offer refuses at once, so that a writer can turn to
//     another bookie and a reader to another replica.
//   - Avoided tells of bookies that others should be preferred to: those that are left alone or dialled again after they
//     were, and for Config.SuspectPause those that somebody found silent (Suspect). It is advice; nothing is refused for it.
//   - Memory is bounded: for each bookie what its channel may hold, and bodies of Config.ParkedBytesMax that wait for the
//     connection or for room in it. While those are there, or Config.ParkedMax requests that nobody lends, Offer refuses
//     another body with ErrFull.
//   - A request with a Lender, or without a body, is never refused for want of room: many senders share the line to a
//     bookie, and that it is long says nothing about the bookie. How many there are is bounded by their senders.
//   - What is lent waits for as long as the line moves: it fails when nothing was handed over for its timeout, which it has
//     anew on the wire, and in line when a dial has brought a connection. A bookie that hangs is found out by that, also by
//     those who have nothing on the wire.
//   - Adds are handed over in the order in which they came, so that no sender starves another; reads pass them.
//
// # What it does not promise
//
//   - No order between requests to one bookie.
//   - A request that waits for a dial is completed when the dial ends, even if its own timeout is shorter. One that waits for
//     room is looked at when it comes to the front, and may be late by as much as those before it were allowed to wait.
//   - No request is tried twice. Whoever asked knows best what may be repeated.
//   - A working connection that nobody uses stays open; the bookie closes it after its own idle time.
//
// # Who owns what
//
// A "feed" task runs for a bookie while requests wait for it; it dials, closes what it replaces, and ends when nothing
// waits. A taken request belongs to the pool until Completed or Collected. Bodies of adds that have to wait are copied, or
// lent until they are handed over. Close completes everything, and returns when no task is left.
//
// # The states of a lent request
//
//	direct   offered to the channel by its sender's task: no feeding task runs. Nothing is lent. -> channel, or line if it is
//	         full or has broken in this moment, or refused (closed, backoff)
//	line     behind others of its bookie; its loan is out. Whoever puts the first one there starts the feeding task, under the
//	         same lock, so no line is without one. -> head, or failed when the dial fails or the pool is closed
//	head     among the next to be handed over, still in line: the feeding task waits for room in the channel, until the time at
//	         which the first of the head has waited for too long. It is woken by each answer, each write and the end of the
//	         channel. -> channel, line (others were faster), stalled
//	stalled  the line has not moved for the request's timeout. -> failed
//	channel  taken by the channel, which completes it once. The loan is returned; the request is not touched any more, for it
//	         may be its sender's again by now
//	failed   out of the line, then its loan returned, then completed with ErrUnavailable: never handed over
//
// When a channel ends, the one that was offered to it last fails, and the line stays and waits for the next dial. The feeding
// task ends in the same step in which it finds the lines empty, or empties them: who comes later starts another one. Loans are
// returned, and requests completed, under no lock of the pool. A sender lends under the pool's lock, and takes none meanwhile.
package pool
