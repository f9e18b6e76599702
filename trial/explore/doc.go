// Package explore searches the whole of a very small world: one ledger, a few bookies, its writer and rival recoveries,
// made of the same protocol cores that clients run (engine/bookkeeper/client/protocol).
//
// # What it promises
//
//   - Search visits every state that the world of a Config can reach, breadth first, unless a bound says otherwise
//     (Result.Complete). Requests and answers are delivered in any order or never. A client may give up on a request, which
//     may still be delivered later. A conditional write may lose its answer and be done before, after, or never. A
//     read of metadata may be stale. A bookie may restart, and then no longer prove what it lacks.
//   - In every state the rules below hold, or Search returns one of the shortest sequences of steps that breaks one.
//   - The same Config gives the same Result, down to the counts.
//
// Silence needs no steps of its own: a message that is lost, a client that stops and a bookie that is down are states
// from which nothing more is delivered, and every state is checked as it stands. Timeouts, lost answers of the metadata
// store, stale reads and restarts are bounded by budgets, without which the world would not be finite.
//
// # The rules
//
//   - divergence: a closed ledger does not end before an entry that its writer has acknowledged; clients that report a
//     closed ledger report what is stored; closed metadata never change.
//   - acknowledged entries are readable: at least one bookie that the stored metadata name for the entry has it, and
//     no recovery could take it for absent.
//   - committed entries reach the ack quorum: every acknowledged entry, and every entry of a closed ledger, lies on Qa
//     bookies of its write set as the stored metadata name them.
//   - order: copies of an entry agree; acknowledgements come without gaps.
//   - no client waits for ever: where no message is left, nobody waits for one.
//
// They are those of the TLA+ specification of BookKeeper's protocol by J. Vanlightly, and the last one is for
// bookkeeper#1857 and bookkeeper#4459.
//
// # Reductions
//
// Both are sound. A request that nobody waits for is dropped when it can no longer change its bookie, and an answer
// when its client says that it no longer matters. Without them the smallest world has 180 times as many states.
//
// # Which worlds
//
// Worlds are small enough to be searched to the end by everybody; LargeWorlds are not. Arms take a rule of the protocol
// out, each with a world in which that shows. Run searches several and makes a Report.
//
// # What it does not promise
//
// States are told apart by 128 bits of their digest. Questions for replacements are answered at once, with the lowest
// bookie that is free. Payloads, digests and damaged copies are no part of this world; a bookie keeps what it has
// answered for.
package explore
