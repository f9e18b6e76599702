// Package echo is the smallest service that uses everything of host.Net as the bookie does: frames, several
// connections, one reader and one writer task each, bounded queues, limits, a clean stop. It exists to prove that both
// worlds give such a service what it needs, and as the pattern for those that do something with the bytes.
//
// # What it promises
//
//   - Answers of one connection come in the order of its requests, each with the bytes that were sent.
//   - A request that is not answered within Config.RequestTimeout of being sent breaks its connection, since answers
//     are in order: all requests outstanding there fail with host.ErrTimeout.
//   - Memory is bounded: a connection holds at most Config.QueueFrames frames waiting plus one batch being written,
//     at either end, and as many again unanswered at the client. Whoever offers more waits.
//   - Close returns when no task is left. Requests outstanding then fail with host.ErrClosed; whether the server saw
//     them is unknown.
//
// # What it does not promise
//
// There is no reconnecting: a broken connection stays broken, and Client.Echo goes on with the others.
//
// # Who owns what
//
// Server and Client each own one child group of the group they were given. A buffer of a frame belongs to the task
// that holds the frame; the one that takes it out of the last queue gives it back to host.Memory.
//
// # Bytes on the wire
//
// Big endian. Request and answer look the same.
//
//	offset  bytes  content
//	     0      4  n, the length of the payload
//	     4      8  sequence, counted by the client on each connection from 0
//	    12      n  payload
package echo
