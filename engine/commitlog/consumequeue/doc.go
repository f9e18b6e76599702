// Package consumequeue is one queue of a topic: for each of its messages, in order, where in the CommitLog it lies, how long
// it is, and the hash of its tag.
//
// # What it promises
//
//   - The unit at index i is that of the message with queue offset i: Append takes nothing else (upstream appends a unit at
//     the wrong place and logs it).
//   - Flush makes units durable in whole blocks, and only counts those that a sync has made so. The others are in memory, are
//     read from there, and are handed to the owner to store. A torn write never spoils a unit that counts.
//   - What lies in a file behind the count with which a queue was opened is never read, and is cut off before anything is
//     written: queues that are ahead of the log after a crash come back exact (R4-24).
//
// # What it does not promise
//
//   - It does not know how many units are good after a crash. Its owner stores the State of each queue that
//     Flush returned, and appends again what came later, from the CommitLog.
//   - After ErrSync it must not be flushed again: the pages may count as clean without being durable.
//
// It has no tasks. Append, Read and the bounds may be called from any task, Flush and RemoveBelow from one at a time.
//
// # Bytes
//
// Files in the queue's directory, named by the offset in bytes of their first unit with 20 digits, 300,000 units each by
// default (R4-19). They grow as units are written: a topic that has few messages costs few blocks. Unit, big-endian:
//
//	 0  8  offset in the CommitLog
//	 8  4  size of the record
//	12  8  hash of the tag (message.TagHash)
//
// A queue that begins in the middle of a file, because what was before it was removed from the log before the queue was
// built anew, has zeros there.
package consumequeue
