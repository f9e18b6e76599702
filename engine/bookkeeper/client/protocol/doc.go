// Package protocol is what a client of a replicated ledger decides: when an entry is acknowledged, when a bookie is
// replaced, how a ledger is recovered and closed. It is made of two state machines, Writer and Recovery.
//
// They have no host, no connection, no clock and no task. Their owner feeds them inputs (methods) and carries out
// effects (Take). One task owns a core. The same cores run in clients, in scenarios written as text, and in an
// exhaustive search, for which they can be cloned and written down (Clone, AppendState).
//
// # How to drive a core
//
//	w := protocol.NewWriter(options, &metadata, version) // of a ledger that was just created
//	entry := w.Append(size)                              // while w.Room() > 0
//	for _, e := range w.Take() { … }                     // after every input: send, write metadata, complete appends
//	w.AddAnswered(entry, e.Index, e.Bookie, outcome)     // once for each SendAdd
//	w.Close()                                            // Ended follows
//
//	r := protocol.NewRecovery(options, &metadata, version)
//	r.Start()                                            // Ended follows: closed metadata, or why not
//
// What Take returns is whole until the Take after it. Inputs may be given while walking it. Each effect that asks is
// answered once; the answer "failed" or "unknown" stands for none in time. Answers may come in any order, late, and
// after the end; those that no longer matter are ignored.
//
// # What a writer promises
//
//   - Entries are acknowledged in order, each after Qa bookies of its write set have it. The LAC is the last acknowledged
//     entry and never falls.
//   - Every acknowledgement counts only bookies that the stored metadata name for that entry. While an ensemble change is
//     under way nothing is acknowledged, and the new fragment starts at LAC+1: freezing the one and computing the other
//     is one step (bookkeeper#4651). The freeze ends when a conditional write of the new metadata was answered "applied"
//     (bookkeeper#1591).
//   - A conditional write whose answer was lost, or that found another version, is judged by reading the metadata and
//     writing again what is still needed, at the version read, even if nothing seems needed: a read may be stale, and only
//     an applied write proves what is stored (bookkeeper#1886).
//   - Which entries go to new bookies follows from the difference between what was in force and what was stored, change by
//     change (bookkeeper#4459), and the flag that holds acknowledgements back is taken down whether or not anything had to
//     be sent (bookkeeper#1857). All pending entries forget the replaced bookies before any is acknowledged
//     (bookkeeper#3005).
//   - After Fenced, Unauthorized, ClosedElsewhere nothing is acknowledged.
//
// # A bookie fails
//
// Its index is asked to be replaced, together with all others that failed. What fails while the change is under way is
// handled by further changes before the freeze ends. If only some get a replacement those are replaced. If an index
// gets none, its bookie stays, adds go on to it and its acknowledgements count, as long as every pending entry can
// still reach its ack quorum; upstream gives the ledger up at once.
//
// Where more bookies refuse than are spare, replacing one that refuses by another could go on for ever. So a bookie that
// failed is excluded until an entry was acknowledged and every bookie that came in by a change has stored something. Then
// the spare bookies run out:
//
//   - An entry that cannot reach its ack quorum begins another round: the owner waits, nobody is excluded, and where there
//     still is no replacement the bookies that stayed are sent again what failed on them. A short failure of all bookies
//     is survived in this way. After RoundsMax rounds without an acknowledgement the writer fails with NotEnoughBookies.
//   - Without such an entry, a bookie that stayed is asked to be replaced again after RetryReplacementAfter failures,
//     twice as many each time that nothing came of it (up to 64 times), and once between two acknowledgements.
//
// With B bookies known, one round makes at most B−E ensemble changes: who leaves does not come back in it. Without an
// acknowledgement there are at most (RoundsMax+2)·(B−E).
//
// # Closing
//
// Close stops acknowledging and writes one state: closed, with the LAC as last entry and its length. What was pending
// is then absent for ever. A writer that finds the ledger in recovery leaves the end to the recovery and ends with
// Fenced; upstream's writer closes it all the same, which is safe but makes two closers of one ledger an ordinary
// thing. Found closed with the same end: a success, whoever did it.
//
// # What a recovery promises
//
//   - It sets the metadata in recovery, or goes on with those of another recovery; then fences the last ensemble with
//     last-entry reads until no ack quorum can be unfenced.
//   - The LAC it starts from is at least the last fragment's first entry − 1 (bookkeeper#2615).
//   - It reads what follows with fencing reads (bookkeeper#2614), several entries at once. Found: any good copy. Absent:
//     Qw−Qa+1 bookies of the write set say so, or all Qw have answered, each "absent", "unknown" or with a damaged copy,
//     of which fewer than Qa are damaged. The second rule is sound while at most Qa−1 holders of an entry are damaged;
//     without it a restart of all bookies of a write set could block recovery for ever. Anything else is no proof, and
//     ends the recovery with Undecided.
//   - What it writes again carries the LAC that it started from. A higher one would vouch for copies on bookies that no
//     stored metadata name yet, to whoever recovers the ledger if this recovery dies.
//   - What it found it writes again in order to the full write set, replacing failed bookies in fragments of its own, and
//     then closes the ledger and stores these fragments by one conditional write. Whoever closes first wins; the others
//     adopt.
//
// An answer "unknown" to a fencing last-entry read counts as fenced: bookies answer it behind the durable fence
// (engine/bookkeeper/bookie), those of BookKeeper only for ledgers fenced before boot. It brings no LAC, which only
// means more reads. So does a damaged last entry.
//
// The closed length is that of the last entry's header. If no entry was found behind the LAC, the entry at the LAC is
// read for it.
//
// # What the package does not promise
//
// It retries no read, and adds only in rounds; owners may, before they answer. It chooses no bookies. It knows no payloads: in a
// recovery the owner keeps the bytes of the copies that ReadAnswered took until EntriesAcked. A core of which the owner
// has died is gone; nothing is durable here but what bookies and metadata store hold.
//
// # Sources
//
// Rules and their issues: Apache BookKeeper's client (LedgerHandle, PendingAddOp, LedgerRecoveryOp,
// ReadLastConfirmedOp), its TLA+ specification by J. Vanlightly, and the issues cited at each rule.
package protocol
