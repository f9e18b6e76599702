// Package trial turns a scenario and a seed into a verdict: it builds a world, boots the engine in it, lets clients and
// faults loose, heals the world, looks at everything once more, and asks the checkers.
//
// # What it promises
//
//   - Run of the same options gives the same Result, in any process, with any scheduling of the Go runtime.
//   - What a seed draws (configuration, mix, plan) is in the Result's plan or follows from scenario and seed. A trial
//     run with an explicit plan takes no fault from chance.
//   - A trial that is looked at (Course) has the Result of one that is not.
//   - A Reduction takes operations of clients and drawn values away. What is left happens as it would; a sound engine passes.
//   - After the faults comes a phase in which nothing is broken any more: whoever does not come back then is stalled.
//   - When a bookie has closed cleanly, tasks and buffers that are left are a failure.
//
// # Phases
//
// Work (faults fire) → heal (all ongoing faults end, what has not fired is cancelled) → restart → verify (every entry
// ever sent is read) → stop. A bookie that ends by itself, because a sync failed or because it could not read its
// directory, is started again; one that refuses its directories (ErrCorrupt, ErrCookie) has a reason only if the plan
// damaged media.
//
// # Clusters
//
// A scenario with a [cluster] section has a metadata store (package oracle, which uses all freedom of the contract),
// an ensemble of bookies with some to spare, and clients, each on a node of its own: "metadata", "bookie-0"…,
// "client-0"…. A seed draws quorums, spares, every node's bounds and timeouts, the network, the disks and the plan.
//
//   - Damage stays within what acknowledged entries survive: at most Qa-1 bookies are drawn fragile, and never so many
//     that recovery could not write the tail again (clusterDraw.awayMax). Only these may lose bytes, or be wiped; a wiped
//     one must be refused by its cookie, and stays down.
//   - Where a scenario says per_entry, an atlas keeps account of every entry: other bookies may lose records of closed entry
//     logs too, on more bookies than any entry could lose, as long as no entry loses more than Qa-1 copies. It is asked in
//     the moment before the bytes go, and is told with the result (Result.Damage), with what was spared.
//   - Where a scenario says aimed_percent, so many faults strike at moments that a plan cannot name by node and time; see
//     clusterAims.
//   - Work → finish → verify → close. When the work is over, a core that suffices is healed: all bookies but some that stay
//     down, paused or cut off, together with the damaged ones at most as many as recovery can do without. Then sessions must
//     end what they are at, and a new client must recover every ledger and read all of it, entry by entry and in batches.
//     In a third of the seeds the rest then comes back, and each bookie is asked for its copies of what was acknowledged.
//     At last the bookies must stop cleanly.
//   - No bookie may ever have more buffers in hand than its settings allow (bookieMemoryAllowed), whatever is slow.
//   - What does not end is a stall. A ledger that cannot be recovered is one too, with one excuse: some bookies are away or
//     damaged, and others came back in doubt about their last bytes. Together they may be more than a recovery can do
//     without, and none of them must guess.
//   - The history goes to model.CheckCluster: operations of all sessions, marks of the clients, every write of a ledger's
//     metadata in its order, and the copies that bookies hold at the end.
//   - A finding of a checker ends with where a trace has what it names: virtual times and nodes. A stall begins with what each
//     session that has not ended waits for. A written trace has lines "client N calls" and "client N ends"; they are no
//     events, and the hash does not know them.
//
// # Damage beyond the allowance
//
// A scenario that is lifted destroys more than the promises survive. What must still hold: no answer is wrong. A loss is
// told (Result.Excused) and counted (MarkLossUnnoticed), and fails nothing. What was found:
//
//   - A device that lies about syncs (lying-fsync). A bookie notices most of it: refused directories, ErrCorrupt, unknown.
//     It cannot notice that the end of its journal is missing where nothing of the lost groups reached the media: zeros stand
//     where they would begin, as if they had never been begun, and it denies the entries. So it does in one trial of a
//     hundred. A single lost or misdirected page can have the same effect, which is why such pages are the journal's in
//     lifted scenarios only.
//   - A cookie copied onto empty disks (forged-cookie). Such a bookie starts and denies all it had. With others that never
//     got an entry it makes the negatives by which a recovery closes the ledger short: some per cent of the trials lose
//     acknowledged entries in silence. The cookie is the only thing that prevents it. No trial served a wrong value.
//
// # Segment logs
//
// A scenario with a [segments] section has one node, "store", with several volumes, and clients in its process. A seed draws
// volumes, partitions, sync mode, the sizes of segments, retention, and the device: one that may spoil synced bytes of a
// sector that is written again gets a store that pads to sectors.
//
//   - Work → heal → restart → verify → stop, as with one bookie. In a third of the seeds the store first runs on in the healed
//     world, and must take its directories back. In the end all directories must be in service, everything
//     must be read, each partition must take an append, and nothing may be left that retention is to remove.
//   - The history goes to model.CheckSegments. In a mode that does not sync before it acknowledges, every end of the process
//     and every failure begins an epoch, from which a prefix must be left.
//   - journal_sync names the sync mode, and then the promise is that of a store that syncs, as the canary needs it.
//
// # Commit logs
//
// A scenario with a [commitlog] section has one commit log on the node "broker", and producers and consumers in its process.
// The course is that of a segment log. A store that runs on in the healed world must take a message. In a fourth of the seeds
// the disk is so small that messages fill it, and old ones have to go. In the end log, queues and key index are compared with
// each other, the history goes to model.CheckMessages, and no file may be left that is to go by its age. Unless the scenario
// damages media, a store that calls its files damaged is wrong.
//
// With damage, either store may say of what it was asked for that it is lost, or refuse to start; what it gives must be right,
// and the last look goes on behind what is told. Bytes that no store can tell from a torn end are spared (singledamage.go).
//
// # The metadata server
//
// A scenario with a [registers] section has the metadata server of this engine (metadata/service) on the node "metadata", and
// clients on nodes of their own. The server keeps all in memory, so its process is paused and cut off, and never ended. Every
// key is one register, and its history must be linearizable by a search. In the end each client that watches must have seen
// the last change, the server must answer, and ephemeral keys must be gone with the sessions that made them. Clusters have the
// oracle in its place.
//
// Scenarios are TOML files in scenarios/, decoded strictly.
package trial
