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
// # Replicated ledgers
//
// A ClusterHistory is what the clients of many ledgers saw, plus what was seen of the system from outside: writes of
// metadata in the order in which the store did them, notices of the engine (acknowledged, closed, stored again by a
// recovery), damage done on purpose, and at the end which bookie holds what. All stamps are of one clock. Only Ops are
// needed; every other part adds the rules that are about it. An append is recognised by its digest, which no other
// append to its ledger has. Its outcomes: OK; Failed, if it was never sent and will never be found; Fenced, if the
// writer says that its ledger was taken over; Unknown else. A recovery may still find what was Fenced or Unknown, at
// any later time.
//
// CheckCluster states each ledger as a log (an append at entry k is an append at offset k; a close, a recovery and the
// closing write of metadata are closes; a LAC read and the bound that a reader went by are confirmed lengths) and lets
// CheckLog decide whether the answers fit one order in time. Before that it applies single rules, since "an
// acknowledged entry is beyond the end" says more than "longer than it was closed"; a ledger that a single rule accuses
// is not swept. It runs in O(n log n), and O(n·m) for m changes of ensemble of one ledger. For appends, closes,
// recoveries, LAC reads and reads it is exact, which is tested against a search (LinearizeLedger). The rules, by
// checker:
//
//	acked       an acknowledged entry is part of the closed ledger; a reader is not denied what it knows to be confirmed
//	ack-order   entry ids are dense from 0 and follow the calls of a writer; acknowledgements and recoveries follow the ids
//	content     an entry holds one value of its size for every reader and on every bookie; an append is stored once; an id
//	            is given to one ledger
//	invented    nothing is read that nobody appended, or whose append failed for good
//	end         a closed ledger has one end for ever, for clients and in metadata
//	length      its length is the sum of its payloads
//	beyond      no entry above the end, or above what its reader knows to be confirmed, is answered
//	confirmed   a LAC is never above the last acknowledged entry or the end, and to one reader never falls
//	fence       nothing is acknowledged that was called after the close, or by a writer that was fenced; nobody is fenced
//	            unless somebody recovers
//	range       an answer starts where asked, has no hole, keeps its limits, and is whole unless it is of a batch read
//	deleted     an acknowledged delete is final, and nothing is deleted or denied that nobody deleted
//	durability  a final read finds every entry that was acknowledged, read, or closed in; a final recovery succeeds
//	divergence  what a client takes for the end is what metadata says, and only after metadata says so
//	metadata    versions grow by compare-and-swap from a create; Open, then InRecovery, then Closed; an id is never
//	            used again (of one that was, nothing else is judged)
//	ensemble    fragments ascend from 0, have distinct bookies, and only the last is replaced or followed; one begins
//	            at LAC+1, and takes no entry that was acknowledged before
//	quorum      what is counted as stored is on an ack quorum of bookies that stored metadata names for the entry; at
//	            the end an ack quorum of them holds every committed entry
//	log         the sweep: no order in time explains the answers
//
// Damage done on purpose excuses a bookie from holding, and a final read from finding, if it may have hit an ack quorum
// of the entry's copies. It never excuses a denial: loss must be told as an error.
//
// Not promised: repair of ensembles of ledgers that are still open is not known to these rules; where an entry's append
// is of unknown outcome and nobody read it, its size and value are open; after the first call of a delete only what is
// wrong whatever happens is accused.
//
// # Message stores
//
// A MessageHistory is what producers and consumers of a message store on one node saw: topics with queues in one log. All
// messages differ, so a digest names one. CheckMessages runs in O(n log n), but for the visible rule, which is O(n) for each
// pull of a queue with n messages. It is sound: it never accuses a correct store. The rules, by checker:
//
//	foreign      no message of another topic, queue or tag is answered
//	queue-order  an answer has the offsets asked for, without a hole; what a producer sent later lies later
//	invented     nothing is answered that nobody sent, that was refused, or before it was sent
//	place        a message is at the offsets in queue and log that its producer was told
//	content      an offset stands for one message      duplicate  a message has one offset
//	vanished     what a consumer was given is there in the end, unless it was removed
//	lost         so is what was acknowledged           visible    it can be pulled by whoever asks later
//	prefix       where a power cut may take acknowledged messages, it takes the end of the log, and no hole
//	left-out     a pull gives every message with its tag that lies before the offset at which it goes on
//	time         a search by time finds the first message, or the last, as all that is known of the queue has it
//	trimmed      retention removes nothing that is younger than its age
//
// Where messages are acknowledged before they are on the media, content, duplicate and lost hold between power cuts only,
// and vanished does not.
//
// CheckRegister is the search for one key of a metadata store: create, compare-and-swap, delete, reads, answers that get
// lost, sessions that read stale.
//
// CheckSegments judges histories of a store of partitioned segments; its comment has the rules. Of partitions that lose what
// is not synced it judges each epoch, and that of the one before a prefix is left.
//
// Nothing here starts a task or keeps state between calls; a History must not be changed while it is checked.
package model
