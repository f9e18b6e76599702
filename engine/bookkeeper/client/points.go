package client

import "lakebed/engine/host"

// Who closed a ledger, in PointClosed.
const (
	closedByWriter   = "writer"
	closedByRecovery = "recovery"
)

// Points of the client: what checkers follow, and the rare states that a campaign must have reached. A is the ledger and B
// an entry unless it says otherwise.
const (
	// PointAcked: entry B and all before it are acknowledged to the writer's application. Once an entry. Extra: the bookies
	// whose answers were counted, separated by commas.
	PointAcked host.Point = "client.acked"
	// PointClosed: this client's CAS closed the ledger, or was found to have. B: last entry. Extra: "writer" or "recovery".
	PointClosed host.Point = "client.closed"

	PointEnsembleChanged  host.Point = "client.ensemble-changed"                // of a writer, in the metadata. B: first entry of the fragment
	PointRecoveryEnsemble host.Point = "client.ensemble-change-during-recovery" // B: first entry of the fragment
	PointResent           host.Point = "client.resent"                          // to a bookie that joined. Extra: the bookie
	PointFenced           host.Point = "client.fenced"                          // a writer finds itself fenced. B: its LAC
	PointWindowFull       host.Point = "client.window-full"                     // an append waits. B: entries in the window
	PointBudgetSpent      host.Point = "client.budget-spent"                    // an append waits for other ledgers' appends. B: -1
	PointSlowBookie       host.Point = "client.slow-bookie"                     // owes so many answers that appends wait. Extra: the bookie
	PointSendsFull        host.Point = "client.sends-full"                      // a writer has too many adds under way to send another. Extra: the bookie

	PointRecoveryStarted  host.Point = "client.recovery-started"   // the metadata say so. B: first entry of the last fragment
	PointRecoveryLostRace host.Point = "client.recovery-lost-race" // somebody else closed the ledger. B: last entry
	PointRecoveryReadd    host.Point = "client.recovery-re-add"    // an entry of the tail is written again

	// PointAllUnknown: a recovery closed in front of entry B although too few bookies proved its absence: all of its write
	// set answered, none has it, and some cannot prove that they never had.
	PointAllUnknown host.Point = "client.negative-by-all-unknown"
	// PointMaybeLost: a read found no replica that has entry B, and one that cannot prove that it never had.
	PointMaybeLost host.Point = "client.maybe-lost"

	PointCASUnknown  host.Point = "client.cas-unknown"  // the answer to a write of metadata was lost. B: 0
	PointCASConflict host.Point = "client.cas-conflict" // another client wrote the metadata first. B: 0

	PointReadFailover  host.Point = "client.read-failover"  // a replica failed, the next is asked. Extra: the bookie that failed
	PointReadRefreshed host.Point = "client.read-refreshed" // all replicas failed, but the metadata have changed
	PointBadDigest     host.Point = "client.bad-digest"     // a replica answered with other bytes. Extra: the bookie
	PointBatchCut      host.Point = "client.batch-cut"      // a batch read's answer is damaged behind its start. B: first entry cut off
	PointBatchShort    host.Point = "client.batch-short"    // a bookie answered with fewer entries than were asked. B: first entry left out
	PointBatchPaused   host.Point = "client.batch-paused"   // a batch read cost the connection. Extra: the bookie
)
