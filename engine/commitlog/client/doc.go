// Package client is a commit log for producers and consumers on other machines: it speaks with package server.
//
// # What it promises
//
//   - Append and Pull answer what the store's own say, with the same classes of errors. If the connection breaks or the answer is
//     late, an Append that was handed to it is ErrOutcomeUnknown, and is not sent again. What could not be handed over is not
//     stored, and says so with the error of the connection.
//   - A message of a Pull is one of the topic, queue and place asked for, and its checksum holds: each is verified here, since
//     the server may have sent what nobody looked at (see package server). If one is not, or the connection breaks over the
//     answer, the pull is asked once more, checked by the server. What is damaged is ErrCorrupt then.
//   - Memory is bounded: at most Config.CallsMax calls are under way, others wait; and an answer has at most Config.FrameBytesMax.
//   - Calls may come from any task, and Close ends them all with ErrClosed.
//
// # What it does not promise
//
//   - It reconnects when it is called again, once a call, and does not wait for a server that is away.
//   - Tags are compared by hash, as the store does: the consumer compares the tag itself.
//
// # Who owns what
//
// One child group of the given one: "read" for the connection there is. A call belongs to the task that makes it; whoever takes
// it out of the list of calls sets its answer. Messages are parts of the frame they came in, which the garbage collector
// takes. Nothing survives a crash.
package client
