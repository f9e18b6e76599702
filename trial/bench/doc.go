// Package bench measures the engine on a real machine: the journal alone and a whole bookie in this process, the raw
// line beside both, fio beside the raw line, reads, whole ledgers over loopback TCP (package ledgers), and the speed of the
// simulated world, with one bookie or a cluster in it. What it finds is a reports.Result.
//
// # What it promises
//
//   - Every figure of a disk is of the wall clock, and says what was synced, what was warm and which disk it is of. Those of
//     simulated worlds say whether they are of the processor's, the wall's or the virtual clock.
//   - A rate is never quoted alone. Each round of an arm has a round of the raw line next to it, which writes the very
//     groups that the arm's journal wrote, in their order: one pwritev and one fdatasync a group. Rounds go arm, raw,
//     raw, arm, so that a drift of the machine hits both alike.
//   - A figure keeps one sample a round, so that two results can be compared later. It is their median, with a bootstrap
//     interval of 95 % (reports.NewFigure). A ratio is that of the pairs' ratios. Percentiles for which one round has too
//     few entries, and what happened in the background, are of all rounds together.
//   - The bytes compared are those of whole groups: headers, framing and padding count on both sides.
//
// # What it does not promise
//
//   - Latencies are of a closed loop: they hold at the stated number of outstanding entries and say nothing about
//     arrivals that do not wait.
//   - What other processes did meanwhile spreads over both sides of each pair. How much they used is in the result, which
//     warns when it was much; it cannot be taken out of the figures.
//
// # An arm
//
// What is measured, how many entries are outstanding, how they are submitted, how long they are. In batches, as
// connections would: a few tasks, each with one batch, submitted again when it came back. Blocked: one task an entry,
// which waits for it. An entry's size is its payload; what is stored has ledger.HeaderBytes more, on both subjects.
// Entries, and the bytes of the raw line, come from sources of sourceBytes that rotate, so that neither is flattered by
// the processor's caches.
//
// # Work in the background
//
// The journal fills a file ahead and the bookie writes its cache to the entry log while entries come in. What a round
// has set going is part of the round: its clients go on until it is finished, for at most stretchMax times the round's
// length. What is left then ends before the raw line starts, off the clock. The median pair may miss such rounds; the
// ratio of totals, printed beside it, never does.
//
// The raw line's file is filled and synced before the first round, as the journal's files are, and is written from
// start to end over and over.
//
// # Files
//
// Everything lies below one fresh directory, which Run removes.
package bench
