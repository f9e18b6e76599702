// Package client is a client of replicated ledgers: it creates, writes, reads, recovers and deletes them.
//
// # What it promises
//
//   - An append completes with success once the entry and all before it are durable on their ack quorums, on bookies that
//     the ledger's stored metadata name. From then on it is part of the ledger, for all readers, whoever crashes.
//   - An append that fails says what is known. ErrOutcomeUnknown: the entry was sent, and whoever recovers the ledger may
//     find it or not; the answer is final only when the ledger is closed. Any other error alone: it is not in the ledger
//     and never will be. That is known of appends that were never sent, and of those behind the end of a ledger that is
//     seen to be closed. A bookie's refusal proves nothing: another one may have taken the entry.
//   - Entries are acknowledged in the order of their ids. After the first append that failed none succeeds.
//   - A read returns entries up to the LAC, or of a closed ledger up to its last entry, each verified by its digest, and
//     never another entry than the one asked for. The first replica whose copy is good wins. ErrNoSuchEntry means that
//     every replica said so; one that may have lost the entry, or did not answer, makes it another error.
//   - A reader's LAC never goes back and never passes what was acknowledged.
//   - After Open the ledger's end is final, and everything that was acknowledged lies before it.
//   - Memory is bounded. Append waits while the writer's window is full (Config.WindowEntries, WindowBytes), while all
//     writers together hold too much (AppendBytesMax), and while a bookie of the ensemble owes the answers to twice a
//     window: one that the ack quorum does not wait for slows the writer down before it fills memory. The stored
//     bytes of an entry count towards AppendBytesMax until the last line to a bookie has let go of them. All writers share
//     those lines; a full one is waited for, and is no failure of the bookie. A bookie that owes a writer its part of half
//     of AppendBytesMax slows it down as well, so that writers who do not need that bookie go on. Who waits is let in
//     before who comes later. A Read returns at most Config.ReadEntriesMax entries of ReadBytesMax bytes, a BatchRead
//     besides what its own bounds say.
//   - One bookie that hangs costs a reader little. When it has been silent for Config.SpeculativeReadTimeout the next
//     replica is asked as well, and the first good copy wins; for a while after that, and after a timeout, readers and
//     writers prefer other bookies (pool.Config.SuspectPause). Reader.WaitFor ends in time whatever bookies do.
//
// # What it does not promise
//
//   - LAC of an idle writer. The LAC travels in the header of the next entry, and this client speaks version 2 of the
//     protocol, which has no request to store a LAC by itself (explicit LAC is version 3 only). While the writer appends
//     nothing, its readers do not see its last entry, and with many entries in flight not the last few. It gets out with
//     the next append, with an ensemble change (a fragment begins behind the LAC), and with Close. A writer that must be
//     read in time appends something, or rolls over to another ledger.
//   - That a read of an entry up to the LAC succeeds while none of its replicas can be reached; it says ErrUnavailable.
//   - Batch reads return a prefix of what was asked, of one fragment; how much depends on the bookie that answers.
//   - It does not retry an append, a read or an open beyond the replicas there are. Metadata are retried as configured.
//   - It looks for no damage, and repairs none.
//
// # How it is built
//
// Decisions are those of package protocol: a core for each writer and each recovery. This package carries out what they
// ask. Connections are those of package pool, shared by everything in one Client.
//
// A writer has two tasks. "writer" owns the core: appends, answers of bookies and of the metadata store come to it
// through one queue. It seals entries, sends them, and completes appends; it never waits for anything but its queue. What
// lies in the queue when it looks is dealt with together: entries are gathered for each bookie and handed over at once.
// "writer-metadata" waits for the metadata store on its behalf, so that acknowledgements and timeouts go on. Timeouts of
// requests are kept by the connections, one sweep each; a writer has no timer. A recovery runs in the task that calls
// Open. A read runs in its caller's task. A reader of an open ledger has the task "follow", which watches the metadata:
// bookies are replaced under open handles (bookkeeper#4613).
//
// # Who owns what
//
// Payloads given to Append are copied. Op belongs to the writer from Append until Appended is called. Entries belong to
// whoever reads them, until Release. Client.Close ends all tasks; it abandons writers.
//
// # What survives a crash
//
// Nothing of the client. A ledger whose writer died stays open until somebody opens it with recovery. A creation of which
// the answer was lost may leave an empty ledger behind.
//
// # Sources
//
// Behaviour and defaults are those of Apache BookKeeper's client (LedgerHandle, PendingReadOp, BatchedReadOp,
// ReadLastConfirmedOp, LedgerOpenOp), with these differences: batch reads end at the LAC, the fragment and the closed
// length; recovery reads in parallel; the entries that a recovery writes again carry no LAC but the one it started from,
// since another recovery may yet close the ledger in front of them; the window is bounded by default; batch reads are
// given up for a while, not for ever, when one costs the connection. A speculative read is sent when the bookies asked have
// answered nothing since they were asked; BookKeeper's one is not sent once they have answered anything in the same call.
package client
