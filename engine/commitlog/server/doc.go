// Package server lets producers and consumers reach a commit log over the network, in the frames of package wire.
//
// # What it promises
//
//   - A produce is answered when Store.Append has returned, and says what that said.
//   - A pull is answered with what Store.Locate found. One that may wait is answered when there is something, at the latest after
//     the time it gave or the store allows, and waits no longer than its connection lasts, unless the peer has sent requests of more than
//     Config.PullsAhead behind it, which nobody has read yet.
//   - The bytes of messages are sent by the one of four senders that Config.Sender names (R4-33…R4-38). All send the same bytes.
//   - Memory is bounded by Config, whatever peers do: a connection with too many requests under way is not read from any
//     more, but for Config.PullsAhead of pulls. Of the bytes of messages it holds at most Config.SendBuffer a connection, with the senders that copy, and
//     those of one pull (Store's PullBytesMax, or one message) where it checks.
//   - Bytes that are no frame end their connection, after what it asked before is answered. Nobody else notices.
//   - Close answers what was accepted, ends waiting pulls with what there is, and returns when no task is left.
//
// # What it does not promise
//
//   - Requests of a connection that are under way together take effect in any order, and so come the answers.
//   - There is no authentication. A span of an answer may hold bytes of other queues between the messages asked for.
//
// # Checksums, and bytes that nobody looked at
//
// With sendfile and mmap the process never has the bytes, so it cannot say that they are good: what rots on the disk goes out.
// It is never passed on as good all the same, since who receives a message can and must verify it: its checksum covers
// every byte, and its topic, queue, offset and place in the log must be those the answer names (commitlog.Place.Decode).
// Package client does. What it finds is either the disk's or the network's, or the file was removed and is used again:
// to learn which, it asks once more with "checked". Then the server reads and verifies every message first, sends the very
// bytes that it verified, and says Corrupt if the log is damaged.
//
// Config.Verify has it do so before every answer; the bytes are then sent by the chosen sender, out of the page cache. Between
// the two looks they may rot, so clients verify all the same. A message costs one reading and one checksum more.
//
// A read that fails in the midst of a sendfile or of a mapping can only break the connection: the head of the answer is out.
// The client asks once more, checked, and is told Unreadable. With the senders that copy, this happens only behind the
// first Config.SendBuffer bytes.
//
// # Senders
//
//	read+write   File.ReadAt into a buffer, then write: two copies by the processor
//	heap-copy    a copy out of a mapping into a buffer, then write: upstream's transferMsgByHeap
//	mmap+write   write out of a mapping: one copy, by the kernel
//	sendfile     none by the process; the kernel may only pass references on
//
// A mapping is of a whole file of the log. Files of the log keep their size while they are open, so a mapping has no page
// behind the end; a hole reads as zeros. A page that the disk does not give is an error in both worlds and no signal: see
// host.Mapping. If as many files are mapped as may be, what mmap+write would send is read and written.
//
// # Read-ahead
//
// For each consumer (a queue of a connection) a readahead.Window decides what of the log comes next, and background tasks
// fetch it into the page cache, by reading it or by telling the kernel (Config.Prefetch), where every sender finds it.
// What the kernel reads ahead by itself is commitlog.Config's Advice.
//
// # Who owns what
//
// All tasks are in one child group of the given one: "accept", "prefetch", and for each connection "read" and up to
// ProducesMax and PullsMax workers, which are started when they are needed and end with the connection. A request belongs
// to the worker that took it. Answers are written by workers, one at a time. Nothing here survives a crash.
package server
