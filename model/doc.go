// Package model knows what a store may answer. It holds operations and their histories, the reference rules of one
// bookie, and the checkers that compare the two. It imports nothing of the engine or of the laboratory, so that no
// mistake of theirs can excuse itself here.
//
// # Histories
//
// A History is a flat slice of operations, each with its call and return stamp, plus the events of the world that
// excuse certain answers: an unclean stop, declared media damage, a clean stop. Stamps come from one clock (the order
// of events, or virtual nanoseconds); intervals are closed, so an operation precedes another only if it returned at a
// strictly smaller stamp than the other was called at. One operation is one attempt: a retry is an operation of its
// own. An operation whose outcome the client does not know has outcome Unknown, and
//
//   - Return == Never if it may still take effect at any later time;
//   - a finite Return if its effect, if any, happened by then (its node died at that stamp).
//
// Histories are written as JSON lines (WriteHistory, ReadHistory); see codec.go for the format. Reading is strict: a
// line must be exactly what the writer would have produced.
//
// # What CheckBookie promises
//
// CheckBookie runs in O(n log n) for n operations, times the number of incarnations in which an entry with a value of
// unknown outcome is read. For adds, reads and fences it is exact, across restarts: it accuses if and only if no order
// of the operations, and no choice of what the restarts took back, explains the answers. This is tested against a
// search (Linearize). It is sound only, that is, it never accuses a correct bookie but may miss something, where a
// value is added twice to one entry, where a ledger has a fence of unknown outcome among several, and where a read was
// called before a restart and answered after it.
//
// LastEntry and ReadRange are taken as separate observations of each entry they speak about, each somewhere between
// call and return. After the first call of a Delete nothing of the ledger need survive, and the rules of the deleted
// ledger hold instead.
//
// The state of an entry is a stack of values. An add pushes its value somewhere between call and return. A restart
// may pop values from the top, but never one whose add is acknowledged: an unacknowledged value may be visible before
// it is durable and vanish in a crash. A read answers the top. A popped value never comes back.
//
// The rules, by the name of the checker that holds them:
//
//	bookie             an acknowledged value is read by whoever asks later, until overwritten or its ledger is deleted
//	invented           no value is read that nobody added, that was refused, or before its add was called
//	fence              no ordinary add called after an acknowledged fence succeeds; recovery adds are not refused
//	negative           after a negative answer an entry appears only by an add that could still take effect
//	vanished           within one incarnation what was seen stays
//	last-entry         the last entry is not below an entry that was acknowledged or seen
//	range              a range answer starts where asked, has no hole, keeps its limits
//	list               a list names the acknowledged ledgers and no ledger that was never touched
//	deleted            after an acknowledged delete no data, no ordinary add; no deletion nobody asked for
//	unexcused-unknown  "unknown state" is answered only after an unclean stop or declared damage
//	durability         a read marked Final finds every acknowledged entry, unless damage was declared
//	history            the history contradicts itself: a fault of the recorder, not of the bookie
//
// Reported once per signature, with a count: a broken store breaks a promise a million times.
//
// # Logs, marks
//
// CheckLog decides histories of one append-only log with unique values by sorting and one sweep. Marks counts rare
// states by name, so that a campaign can say which of them it never reached.
//
// Nothing here starts a task or keeps state between calls; a History must not be changed while it is checked.
package model
