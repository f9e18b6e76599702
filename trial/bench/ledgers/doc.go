// Package ledgers measures whole ledgers: clients, bookies and a metadata store that talk over loopback TCP, the bookies
// on real disks.
//
// # What it promises
//
//   - Every node has a host of its own and volumes of its own, and reaches the others by TCP alone. The engine cannot
//     tell that they share a process. With Options.Processes they do not.
//   - Local is a whole cluster in this process: it is ready when StartLocal returns, and gone when Close does. A bookie
//     that was stopped comes back at the same address, with what it had on disk.
//   - Cells of one group take turns, round by round, and so do the raw lines beside them: a drift of the machine hits all
//     alike. Ratios are made of rounds that stood next to each other. The first round of each cell warms up and does not
//     count: first runs are up to twice as slow.
//   - A closed loop counts from its first acknowledgement to the end of the round. Filling and emptying the window are
//     off the clock.
//   - An open loop decides ahead when entries come (Poisson), and counts latencies from when one was due. Who counts from
//     when it was sent leaves out what a stall did to those that came behind. If a round's schedule was not kept, the
//     result says saturated.
//   - The time of processors is that of all processes: bookies, metadata store and client together.
//   - Every entry that is read was verified by the client, and is the one that was asked for.
//
// # What it does not promise
//
//   - The latencies of a closed loop hold at its number in flight, and say nothing about arrivals that do not wait.
//   - Timers of the machine wake an open loop some tens of microseconds late. That is in the latencies; "sent late" says
//     how much it was.
//   - The kernel counts the time of other processes in hundredths of a second: with Processes the CPU of a short round is
//     coarse, that of many is not.
//   - Checkpoints of the bookies run when they are due, and fall into whatever round is measured then. The cell of adds with a
//     goal has a cluster of its own, three bookies and nothing else, and rounds long enough for its checkpoints. Others share
//     one with cells of the same payload: where little is in flight, the CPU of an add may be that of a neighbour's checkpoint.
//   - The metadata store of a cluster is in memory and ends with it. So a directory serves one cluster, once.
//   - Stopping waits for what a bookie has under way. Whoever wraps a host so that its disk is stuck lets it go before.
//
// # Reads
//
// Two ledgers of 3/3/2, one after the other: the first is in the entry logs, since the bookies were stopped in between; the
// second is in their write caches, since nothing but an end starts a checkpoint. Reads from cache walk through the second
// one. Those that are read ahead walk through the first one, which is several times as long as the read-ahead caches. For
// cold ones the bookies are restarted and the page cache is dropped before each round; each cell then has a part of the
// first ledger that nobody else reads.
//
// Single reads are measured in two ways: many readers with one read each, and one call that keeps many reads under way.
// Goals compare batches, one under way, with the faster of the two. The goal for the CPU of an entry in batches is that of
// several readers, each with one batch under way: a machine that sleeps between the steps of a single batch pays for
// waking up (docs/decisions/0016).
//
// # Raw lines
//
// The disk: three files at a time, one pwrite and one fdatasync for all entries that are in flight, over blocks that were
// written before. The loopback: three connections, the frames of all entries in flight one way, those of their answers the
// other way. The slowest of three counts, since an entry is on all of them.
//
// # Who owns what
//
// A Local owns one goroutine a node, in which oshost.Run has the node's life, and a session with the metadata store, by
// which it sees who is registered. A run owns its clusters, clients and lines; clusters of one group end before those of
// the next start, and their directories go with them, so that a long run does not fill the disk. Nothing survives but the
// files of a Local.
package ledgers
