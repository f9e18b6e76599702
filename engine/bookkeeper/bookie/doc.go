// Package bookie is the storage of one BookKeeper bookie: it keeps entries of many ledgers, and what it acknowledged it
// still has after any crash.
//
// # What it promises
//
//   - An add is acknowledged only after its journal group is durable (as far as the sync mode says so), and is found by
//     every read that starts later, until its ledger is deleted. So are fences and deletes.
//   - A negative answer (ErrNoEntry, ErrNoLedger) is proof. What cannot be proved is ErrUnknown; what cannot be read is an
//     error. Upstream took one for the other and truncated ledgers (bookkeeper#2908).
//   - After an acknowledged fence no ordinary add of that ledger is ever acknowledged, also not after restarts.
//     A fence of a ledger that the bookie does not know creates it.
//   - A deleted ledger stays deleted: a late add cannot bring it back (bookkeeper#4462).
//   - Memory is bounded by configuration. Adds are slowed from 70 % of a full write cache, and wait when it is full;
//     none is refused late and nothing is dropped.
//   - After a failed journal sync it acknowledges nothing any more and ends with an error: fail-stop.
//
// # What it does not promise
//
//   - An entry may be readable before it is acknowledged, and may then vanish in a crash.
//   - An error with ErrOutcomeUnknown means neither done nor not done.
//   - It does not end doubt by itself: SettleDoubt does, and repair of a ledger that is in limbo.
//
// # Limbo
//
// If the journal's last group is bad after an unclean stop, it may have been torn before it was acknowledged, or it may
// have rotted after. It cannot name its ledgers. Every ledger known then goes into limbo: what is there is served, what
// is not there is ErrUnknown, ordinary adds are refused with ErrUnknown since a fence may have been lost, recovery adds
// pass. Ledgers that were not known are treated the same.
//
// SettleDoubt ends that for ledgers that were not known. A ledger is in the metadata before anything of it reaches a
// bookie, so whoever can list the metadata can say which ledgers may have been lost. Those go into limbo one by one, and
// any other is ordinary again. Until then one that begins here with an ordinary add of entry 0 is taken for new if
// TakesNewInDoubt says so, as long as the process lives or once a checkpoint has written it down.
//
// A ledger in limbo stays there until it is deleted. Its entries come and go as in any other: recovery stores them again.
// What was deleted before the list was made, and whose last traces here were lost, is not told from a ledger that never
// was: reads find no ledger, and an add of a writer that knows of no deletion is stored, in a ledger that nobody can open.
//
// # Tasks
//
// The journal's, "checkpoint", and "scrub". Open starts them below the given group; Close ends them. Submit completes batches
// in the journal's tasks.
//
// # The scrubber
//
// Pass after pass it reads every entry log that is written to no more, the ledger table and the mark: past the caches, at a
// bounded rate, and behind readers and flushes. It verifies the checksum of every group, record and index block, and that the
// index leads to the records. Digests of entries are the clients', and mean nothing to it. What is bad it logs, and Scrubbed
// lists; FlawFile keeps the list for people. It repairs nothing: reads of a bad entry fail with or without it, but it finds the entry while other bookies have
// their copies. The journal is read by each start; the open entry log is scrubbed once it is closed.
//
// # An entry's path
//
// Submit checks and checksums, takes the store's mutex, copies the body into the write cache and appends its record to
// the open journal group; the group is written and synced; the batch completes. A checkpoint later captures the mark,
// swaps the cache's generation, writes it sorted into the entry log and syncs, writes the ledger table and syncs,
// writes the mark and syncs, and trims the journal. Each step relies on the one before being durable.
//
// # After a crash
//
// Cookie, lock, mark, ledger table, entry logs, journal replay behind the mark. What was replayed is written to the entry
// log and synced before anything is served: after a failed sync the page cache may hold what the media does not.
package bookie
