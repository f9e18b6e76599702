// Package node is a bookie's process: storage, server, and what the cluster knows of both.
//
// # What it promises
//
//   - Run serves only while its directories are locked, the journal is replayed, and the cookies fit.
//   - A bookie whose directories are gone, wiped, swapped, or those of an earlier bookie of its name is refused with
//     bookie.ErrCookie before anything is written to them. A single holder that says "absent" for what it once
//     acknowledged is enough to lose entries (bookkeeper#4812).
//   - Clients find it once it serves: its ephemeral key is made last, made again after its session was lost, and taken
//     away first.
//   - It serves the cluster that it found at its start. A store that does not hold that one any more, because it was emptied
//     or made anew, gets no registration of this bookie, and is not asked which ledgers there are. The bookie goes on
//     serving, logs an error, and looks again. Only Config.Initialize has it make a cluster, and only with blank directories.
//   - If the metadata store cannot be reached, a starting bookie waits and tries again, as long as its group lives. A
//     serving one goes on serving.
//   - While a disk is full it is read-only: it refuses adds, and its key moves so that clients choose others. Fences, reads
//     and the adds of recoveries go on as long as there is space.
//   - A bookie that does not know what it lost in an unclean stop asks the metadata which ledgers there are, as soon as
//     it serves and until it is told. From then on new ledgers are as welcome as ever; see "Doubt".
//   - When the root group stops it ends in good order, and Run returns nil. When the storage had to stop, after a failed
//     sync, everything ends and Run returns why.
//
// # What it does not promise
//
//   - It closes neither the metadata store's session nor the host.
//
// # The cookie
//
// The directories' cookie and the store's cookie hold the same words. Their instance id is the cluster's, a slash, and
// a stamp of 16 hexadecimal digits that is drawn when the directories are first stamped. Upstream has no stamp, so old
// directories of a bookie that was wiped and started anew pass there for its new ones.
//
// The directories are stamped first, by bookie.Open; then the store's cookie is made; then the bookie serves. So:
//
//	store     directories        meaning                                               decision
//	none      none stamped       a new bookie                                          stamp, make the cookie
//	none      some stamped       it crashed while stamping: nothing was ever served    stamp again, make the cookie
//	none      all stamped        it crashed before the store's cookie was made, or an  make the cookie
//	                             operator removed it
//	cookie    all stamped, same  it has served before                                  serve
//	cookie    anything else      what was acknowledged is not here                     refuse
//
// With the other order, a crash in between would look like a wiped bookie, for ever. A directory that has data and no
// cookie is refused by bookie.Open in any case. Directories come back under a removed cookie only if an operator puts
// them there: what they hold is true, and they know of no fence that was set meanwhile, as after any absence.
//
// An answer to the making of the cookie may be lost, and the making may happen after this process has ended: the next one
// then finds its own stamp.
//
// # Doubt
//
// After an unclean stop the journal's last group may be bad, and it cannot name its ledgers (package bookie, "Limbo").
// But a ledger is in the metadata before an entry or a fence of it is sent to any bookie, and until it is deleted. So
// every ledger that the metadata name after the start, and no other, may have lost something here; those go into limbo.
//
//   - All ledgers count, not only those whose metadata name this bookie. A writer that replaces a bookie stores entries
//     on the new one before the metadata name it, and counts them once they do: an entry that was acknowledged here and
//     lost may come to count after the list was made.
//   - A deleted ledger is in no list. If its fence was lost here, a writer that was shut out may store entries again, in
//     a ledger that no reader can open any more. As with every deletion, the writer finds out when it next changes or
//     closes the ledger.
//
// Until it is settled the bookie takes no ordinary adds of ledgers that it does not know. Writers replace it.
//
// # Who owns what
//
// Run's task runs everything. It owns the storage, the server, the registration, and the task "disk-usage" in a child
// group "bookie-node". It ends them in the reverse order. The task "settle-doubt" in the group "bookie-doubt" waits for
// checkpoints, so it is stopped first and waited for when the storage has closed.
package node
