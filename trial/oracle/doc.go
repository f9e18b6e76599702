// Package oracle is the hostile metadata store: it keeps the contract of package metadata to the letter, and uses all
// the freedom that it leaves. It speaks the protocol of metadata/service, so that clients are the real ones.
//
// # What it promises
//
//   - Everything that the contract promises; metadata/metatest runs on it.
//   - Its state outlives the processes of its node: it is in the Oracle, and a crash cuts connections only. That a store
//     loses nothing is assumed here and proved elsewhere.
//   - What it does follows from its random stream and from the order of what it is asked. Each freedom that is used is
//     counted, and marked on the node (see the Points).
//   - Every change of a key is in Writes, with who made it and when.
//   - After Heal it is a tame store.
//
// # The freedoms
//
//   - A session reads from a state of its own, which lags behind by at most Config.StaleMax and catches up at random.
//   - Watches are told late, and once for several changes.
//   - A write is done and its connection cut before the answer leaves; or is not done and the connection cut; or the
//     connection is cut and the write done later, after the same session's later requests, or after its end, or, if the
//     session owns what it would make, never.
//   - A session ends although its client is alive. The client is told at its next request, or is just cut.
//   - Requests are slow. For a while, nobody is let in.
//
// # Who owns what
//
// The process that Boot serves has the tasks "accept", "clock", and "read" and "write" for each connection. Its mutex
// guards its connections; the mutex of the Oracle guards the state, and no call of the seam is made while it is held, so
// that no crash can leave a half-made change. Inspection is for the trial, from outside the tasks.
package oracle
