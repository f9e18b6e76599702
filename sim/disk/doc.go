// Package disk is the simulated volume: a pure, in-memory model of files under a page cache, of names under a directory
// cache, and of the media below both. It has no tasks and no clock; package sim wraps it with virtual time, queueing and
// faults of operations. Nothing here may be called from two goroutines at once.
//
// # Layers
//
//	handle   Dir, File: valid until closed, or until the next crash
//	live     what readers see: names at once, bytes at once
//	media    what a crash leaves: bytes and size after File.Sync, names after Dir.SyncDir
//
// Content lives in pages of 4096 bytes made of sectors of 512. A page that was written since the last sync is dirty; it
// holds a copy of its own beside the media's. A page of zeros costs no memory, because journals fill files with zeros
// ahead of use.
//
// # What is durable
//
//   - File.Sync makes the data and the size of that file durable, and says nothing about its name.
//   - Dir.SyncDir makes the names in that directory durable, and says nothing about the directory's own name.
//   - A file whose name is lost is gone, however well its data was synced.
//
// # What a crash may leave
//
// Crash takes a Survival and decides separately for every dirty page, every unsynced size and every unsynced change of a
// name. Page order is not write order.
//
//   - A dirty page is new, old, or an earlier unsynced version. Under Torn each sector that was written to is new, old
//     or garbage in part or whole, synced bytes in it included unless Config.SparesSynced. A sector without an
//     unsynced write is never touched.
//   - A size that grew is old, new, or between. It may survive without the data, which then reads as zeros; data beyond
//     the surviving size is gone.
//   - A truncate is done or undone as a whole. If it is undone, so is all that was written behind its cut.
//   - Changes of one name survive in order: a later one implies the earlier ones. A rename is a link followed by an
//     unlink that implies it, so a crash shows the old name, the new one or both, and never loses a file that had a
//     durable name. Both names are then links to one file, as POSIX has it: a rename of one onto the other does
//     nothing, and a write through one is read through the other. A directory's rename is all or nothing.
//
// Each decision is drawn from a stream of its own, keyed by the path and the page or name it concerns. A shrinker that
// takes one write out of a history shifts no other decision.
//
// # Failing media
//
// Rot flips a bit, Latent makes sectors unreadable, FailSync forgets dirty pages as kernels do after a failed fsync, and
// SyncThrough lets pages get lost or land elsewhere, in this file or in another. Each leaves a flaw, which lasts until its
// bytes are rewritten on the media; a worn place (RotWorn) rots again then, a given number of times. A flaw that lies under newer cached bytes is not seen; File.LastDamage tells which flaws the latest
// operation met, so that an effect is counted only where it showed. A partial write carries the rotten rest of its page
// along, and is refused if it needs the rest of an unreadable sector.
//
// # Space
//
// A file is charged for its size, rounded up to pages; holes are charged too. Space that an unsynced remove or truncate
// gave back counts as free at once, although a crash may still bring the content back. When somebody needs that very
// space, all pending names and truncates become durable first, as a journaling file system commits before it reuses
// blocks. So every state a crash can leave fits the volume.
//
// The semantics follow facts about ext4, XFS and the papers on crash consistency and failed fsync: OSDI 2014 (ALICE),
// USENIX ATC 2020 (Rebello et al.); the weights of torn pages follow FoundationDB's simulator.
package disk
