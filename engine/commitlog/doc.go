// Package commitlog is a store for messages on one node, built as RocketMQ's is: the messages of all topics lie in one log in
// the order of their arrival, and each queue of a topic is a small file of pointers into it.
//
// # What it promises
//
//   - Append returns without an error when the message is as safe as the flush mode says: in the modes always and group it
//     is on the media, in interval and never it is written, and a power cut takes back a tail of the log, never a hole.
//     An error that is ErrOutcomeUnknown leaves open whether the message is stored; any other says that it is not.
//   - Offsets of a queue are dense: the message at offset n of a queue is the n-th that was stored there, and they ascend in
//     the order of the log. With AckAfterDispatch a message can be pulled when its Append returns.
//   - In the modes always and group nothing is shown to consumers that a crash can take back (rocketmq#8239).
//   - A pull answers messages of the topic, queue and offset asked for, or fails with ErrCorrupt: what a queue points at is
//     compared with what it should be. Tags are compared by hash: the consumer compares the tag itself (R4-25).
//   - After whatever crash, queues and key index are exact again, made from the log: neither behind nor ahead of it.
//   - A failed sync stops the store. No later sync is taken for its success (rocketmq#2706), and the next start writes again
//     whatever is not known to be on the media, before it counts.
//   - A full volume refuses appends and harms nothing; when there is room again, appends go on. What is refused has retention look at once, and
//     remove what it may. Only with the preallocation
//     "sparse" a write into a file that is already there may fail, and then the store stops and has to be started again.
//   - Messages are removed by whole files, oldest first, never the newest file, and never before their units are durable, by both
//     checkpoints.
//   - The key index costs no message and keeps no start back: where files of it are missing or damaged, or it was switched off, it is made anew
//     from the log, with a warning. What a look-up meets of damage is ErrCorrupt; package keyindex says what cannot be told.
//   - A checkpoint that has gone bad costs a longer start, and a warning. If the log cannot be trusted without it, the start says which file
//     is damaged, and what can be done.
//
// # What it does not promise
//
//   - No replication, no transactions: halves are stored and not put into queues, and nobody completes them.
//   - In the modes interval and never consumers may see what a power cut takes back, as upstream. The clock decides about
//     age: after a jump forward, messages live as long as the clock says.
//   - Rot of bytes that are known to be durable is detected and told, not repaired. Of the bytes since the last checkpoint
//     rot cannot be told from a torn tail, and is cut off. A unit of a queue has no checksum (it is upstream's): rot of its offset
//     or size is told, by the message that is not there; rot of its tag hides the message from pulls by tag, and is not told. Where a queue
//     begins is found by its units: rotten ones hide no message but their own, and that only if they fit in with those around them.
//   - A message that forges, in its body, a whole record or blank with the right offset may be taken for one, if its file is recycled
//     and a crash tears the log in that very place.
//   - Push and short polling are package consumer's. A service over HTTP is not here, but in package messageserver. Over the network
//     package server serves it, with four senders, and package client uses it.
//     What a sender needs is Locate, which decides and reads no message, and Lend, which keeps a file of the log open.
//   - What Locate leads to is not looked at: whoever sends it has to see to it that somebody does (Place.Decode).
//
// # Tasks
//
// All belong to the group that Open is given: "commitlog-commit" writes and syncs groups where several append at once (a lone
// appender does it itself, package commit), "commitlog-flush" syncs at intervals
// (mode interval), "commitlog-dispatch" makes units of queues from the log, "commitlog-checkpoint" makes them durable and
// says so, "commitlog-clean" removes old files, "series-prepare" makes files ahead. Close ends them all.
//
// # Files
//
// In the volume "store", all integers big-endian:
//
//	commitlog/%020d                      1 GiB each, named by the offset of the first byte: package message has the bytes
//	consumequeue/TOPIC/QUEUE/%020d       package consumequeue
//	index/%020d                          package keyindex
//	checkpoint, checkpoint-b             the last two checkpoints; the older is replaced as a whole: see checkpoint.go, slots.go
//	checkpoint.bad, checkpoint-b.bad     one that a start found bad, until that start has made new ones
//	tail                                 a copy of the log's end while a start writes that again, see tailfile.go
//
// The checkpoint says how far the log is durable, how far its messages are in durable units, and how many units each queue has
// durably. Recovery begins there: it reads on to the first byte that is no record, cuts the log off, writes again what
// is not known to be durable, and appends to the queues what they lack. If the newer checkpoint is bad, the older one leads to the same, from
// further back: nothing is removed that it needs. Without any, everything is made anew from the log; topics have the queues whose
// directories are there, which are durable before a checkpoint tells of them. What a start cuts off is told in the log and by Stats.
// Upstream trusts times of files for this, and finds wrong files after a clock step (rocketmq#678).
//
// What a start reads of log and key index is bounded by UncheckedBytesMax and IndexSnapshotEntries, unless files of the index are lost: then the log is
// read from the first message on that those were about which have to be made anew, and all of it if the index was switched off.
//
// # How far an append has come
//
//	placed       has an offset, in memory: the open group
//	written      in the file
//	synced       on the media
//	confirmed    synced (always, group), or written (interval, never): may be dispatched
//	dispatched   its unit is in its queue: consumers see it
//	checkpointed its unit is durable: its file may be removed
package commitlog
