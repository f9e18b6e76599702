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
//   - Memory is bounded: for each bookie what its channel may hold, and Config.ParkedMax requests with bodies of
//     Config.ParkedBytesMax that wait for the connection or for room in it. Beyond that Offer refuses with ErrFull.
//   - A request with a Lender is never refused for want of room: many senders share the line to a bookie, and that it is
//     long says nothing about the bookie. Its body is not copied. How many there are is bounded by their senders.
//   - What is lent waits for as long as the line moves: it fails when nothing was handed over for its timeout, which it has
//     anew on the wire. A bookie that hangs is found out by that, also by those who have nothing on the wire.
//   - Adds are handed over in the order in which they came, so that no sender starves another; reads pass them.
//
// # What it does not promise
//
//   - No order between requests to one bookie.
//   - A request that waits for a dial is completed when the dial ends, even if its own timeout is shorter.
//   - No request is tried twice. Whoever asked knows best what may be repeated.
//   - A working connection that nobody uses stays open; the bookie closes it after its own idle time.
//
// # Who owns what
//
// A "feed" task runs for a bookie while requests wait for it; it dials, closes what it replaces, and ends when nothing
// waits. A taken request belongs to the pool until Completed or Collected. Bodies of adds that
// have to wait are copied, or lent until they are handed over. Close
// completes everything, and returns when no task is left.
package pool
