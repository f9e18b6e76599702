// Package server lets clients reach a bookie's store over BookKeeper's version 2 protocol.
//
// # What it promises
//
//   - An add is answered only after the store has completed it, so what is acknowledged is durable.
//   - A fencing read gets no answer, positive or negative, before the fence is durable. Upstream sends the negative one
//     at once, and a bookie that then crashes has forgotten a fence that recovery relies on.
//   - A fencing read of the last entry, where that is lost to damage, is answered with Config.UnknownAnswer and not with an
//     input/output error: the ledger is fenced, and who recovers it goes on. A plain one fails, since any lower LAC would be a lie.
//   - Whatever arrives with one read of a connection goes to the store together, and whatever is completed meanwhile is
//     answered with one write.
//   - Adds do not wait behind reads, nor plain reads behind fences: reads and fences have a fixed number of tasks each,
//     which take the connections in turn.
//   - Memory is bounded by Config, whatever peers do. A connection whose bounds are reached is not read from any more:
//     TCP carries the pressure to the client.
//   - A place among the connections has to be earned: one that shows no whole request within Config.FirstFrameTimeout, or
//     drips a later one for longer than Config.FrameTimeout, is ended, however lively its bytes come.
//   - Bytes that are no packet end their connection, after what it asked before is answered. An unknown protocol version
//     is answered with wire.BadVersion. Nobody else notices.
//   - Log lines that peers can cause are bounded by Config.PeerLog, and what is left out is counted.
//   - A read-only bookie (SetReadOnly) refuses adds with wire.ReadOnly, except those of high priority: recoveries go on.
//   - Close answers what was accepted, for at most Config.DrainMax, and returns when no task is left. Adds that wait for
//     room in the store do not keep it longer: they fail. Only a disk that does not answer does.
//
// # What it does not promise
//
//   - Answers come in no particular order, and two requests that are under way together take effect in any order.
//   - There is no authentication: every auth is answered with wire.AuthDisabled. There is no version 3: such a
//     connection is closed, and the log says why.
//
// # Who owns what
//
// All tasks are in one child group of the given one: "accept", the reading and the fencing tasks, and "read" and "write"
// for each connection. The reader owns the connection's input buffer; bodies of adds lie in it until Submit has copied
// them. A batch goes from the reader to the store, and comes back to the writer through connection.completed. An answer
// to a read belongs to the writer once it is in connection.answers. Only the writer closes a connection, except that
// Close cuts those which do not drain.
//
// # The end of a connection
//
// The reader stops at the end of the stream or at an error. When the server drains it drops what still comes, so that the
// close is no reset, which could cost the peer answers it has not read. The writer goes on until nothing
// is under way and the reader has stopped. If it cannot write any more it closes the connection, which wakes the reader,
// and lets what is under way come back without answering it.
package server
