// Package lakebed stores logs that outlive the machines they were written on. A log is a ledger: one writer appends
// entries, they are copied to several bookies, and once an append has succeeded every reader finds the entry there, in order,
// for ever. Applications of Apache BookKeeper will find its model here, and those of Kafka one partition's segment without a
// broker.
//
//	store, err := lakebed.Open(ctx, lakebed.Config{Metadata: []string{"127.0.0.1:2181"}})
//	w, err := store.Create(ctx, lakebed.LedgerOptions{}) // three copies, acknowledged when two are on disk
//	id, err := w.Append(ctx, []byte("hello"))            // durable from here on
//	err = w.Close(ctx)
//
//	r, err := store.Open(ctx, w.ID(), lakebed.OpenOptions{})
//	for entry, err := range r.Entries(ctx, 0) {
//		...
//	}
//
// The examples below are complete programs: each starts a store in its own process (StartLocal) and needs nothing else.
//
// # What it promises
//
//   - Durability. Append returns nil once the entry, and every entry before it, is synced to the disks of AckQuorum bookies.
//     From then on it is part of the ledger for all readers, whoever crashes, as long as fewer than AckQuorum of its
//     WriteQuorum copies are lost. (Bookies may be set to acknowledge before they sync; then it is as durable as they say.)
//   - Order. Entries have the ids 0, 1, 2, … without a hole, in the order in which one goroutine appended them, and are
//     acknowledged in that order. After the first append that failed none succeeds: a ledger never has a hole.
//   - One writer. A ledger has the writer that created it and never another one. To go on after a writer died, open its
//     ledger (Store.Open recovers it: whatever was acknowledged is in it, and its end is final), and create a new one.
//   - Fencing. A writer that is still alive when somebody opens its ledger so is out: its next append fails with ErrFenced,
//     even if it was cut off from the world in between. What Open found as the end stays the end.
//   - Honest failures. An append that fails says what is known. ErrOutcomeUnknown: the entry may become part of the ledger, or
//     may not; who needs to know opens the ledger and looks. Without ErrOutcomeUnknown it is not in the ledger and never will
//     be. Nothing is tried twice behind your back.
//   - Verified reads. Every entry is checked against its digest and its place. A damaged copy is passed over in favour of a
//     good one. ErrNoSuchEntry means that every copy's holder is sure; a doubt is ErrMaybeLost, silence ErrUnavailable.
//   - Contexts. Every call that may block takes a context, and returns soon after it ends with an error that is
//     ctx.Err(), and context.Cause(ctx) as well, under errors.Is. If the operation may yet take effect, the error is
//     ErrOutcomeUnknown too.
//   - Bounds. Writers, reads and waiting calls hold no more memory than Config says. Append waits when there is no room.
//
// # What it does not promise
//
//   - A tailing reader learns of an entry when the writer appends the next one, or closes: the last confirmed id travels in
//     the header of the entry behind. While a writer idles, its last entry stays unseen; and with many appends in flight the
//     last few. Readers who must not wait need a writer that goes on.
//   - Closing a Store leaves its open ledgers open, as a crash does. Writer.Close is what ends a ledger.
//   - Nothing is repaired in the background yet: copies that were lost are not made again.
//   - A password keeps accidents apart. It lies in the metadata in clear, and connections are not encrypted.
//   - What StartLocal starts is for tests and for trying out: its metadata are gone with the process.
//
// # How contexts end calls
//
// The engine below knows deadlines, and cannot be interrupted everywhere. A read, an open, a create, a delete or a close
// whose context ends is left behind: the caller returns at once, and the call goes on in a goroutine of the store until it
// ends by itself, which the timeouts of Config bound. What it still brings is given back; a ledger that Create still makes is
// deleted again. Config.CallsMax bounds how many there are, and Store.Close waits for them. Appends need none of this: the
// wait for room and the wait for the outcome are both cut short, and the entry that is on its way stays on its way. Calls
// with context.Background cost no goroutine.
//
// # Memory
//
// Payloads that are given to an append are copied before it returns. Entries that a read returns are copies too, all entries
// of one read in one allocation: who keeps one of many for long clones it. Reader.Borrow and Reader.BorrowBatch lend
// the received frames themselves; those entries are valid until Borrowed.Release, and not a moment longer.
//
// # Concurrency
//
// All methods of all types may be called from any goroutine. Close may be called again, and while other calls are under way:
// these then fail with ErrStoreClosed or ErrClosed.
//
// # Sources
//
// The names (ensemble, write quorum, ack quorum, fencing, recovery, last add confirmed) and the rules are those of Apache
// BookKeeper; what differs is said in package engine/bookkeeper/client, which this package is the public face of.
package lakebed
