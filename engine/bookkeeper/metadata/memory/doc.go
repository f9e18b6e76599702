// Package memory is the metadata tree as a pure state machine: commands in, results out. It has no task, no clock and no
// connection; the caller holds a lock around it and says what time it is.
//
// # What it promises
//
//   - Apply of the same commands to two empty trees gives the same results and the same trees. That is all a log needs:
//     a durable server writes a command down before it applies it, and applies them again when it starts.
//   - A command that fails changes nothing, not even the index.
//   - Every command that succeeds moves the index by one and is seen whole or not at all: a session's ephemeral keys go
//     in one step.
//   - The states of the last Limits.HistoryChanges changes can be read as they were (GetAt, ListAt).
//   - Memory is bounded by Limits. What was handed out is not changed later: values are replaced, never written into.
//
// # What it does not promise
//
// Deadlines of sessions and watches are not part of what a log would hold. After a restart each session has its full
// timeout again, and clients register their watches anew.
//
// # Rules
//
// Versions start at 0 and grow by one with each put; a key that comes back starts at 0 again. Parents are made with
// their first child, as persistent keys without a value, and stay when it goes. This is ZooKeeper's behaviour.
package memory
