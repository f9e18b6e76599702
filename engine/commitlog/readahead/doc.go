// Package readahead decides what of the log to fetch before it is asked for (R4-28…R4-30).
//
// # What it promises
//
//   - A Window is one reader's: as long as he reads on, what follows is fetched ahead of him, and twice as much each time up to
//     a bound. Who jumps gets nothing ahead but the smallest window, and what he left behind counts as wasted.
//   - What is fetched ends at pages of 4 KiB (R4-29) or at the log's end, and each byte is fetched once as long as he reads on.
//   - Whether he reads on is for him to say: in a log of many queues the next message of one may lie anywhere, and a window that
//     judged by distance would stay small for ever.
//   - No decision depends on time: the same reads have the same fetches.
//
// # What it does not promise
//
// It does not read. Who owns a Window has its fetches done, in the background and into the page cache, so that every way of
// sending finds the bytes there. That they are there when they are wanted depends on the disk.
//
// No tasks, no files, no locks: the package is pure.
package readahead
