// Package replicated is what clients do to replicated ledgers, and the recording of what they saw. The same sessions run
// in a simulated cluster, where the record goes to the checkers, and on a real machine.
//
// # Sessions
//
// A session is one sequential caller of a client of package engine/bookkeeper/client. It does one chapter after the
// other, each chosen by weight:
//
//	write      creates a ledger and appends to it, several appends under way; then closes it or walks away
//	tail       opens a ledger without recovery and follows it: last confirmed entry, then the entries up to it
//	catch-up   reads a stretch of a ledger, entry by entry or in batches
//	take-over  opens a ledger with recovery, whether or not its writer lives, reads all of it, and may write on in another
//	delete     deletes a ledger, whoever uses it
//	foreign    writes a ledger without the client, where the ids of its entries outgrow 32 bits, and has it recovered
//
// Writers are not told when another session takes their ledger away, as nobody tells them in a real cluster.
//
// # What it promises
//
//   - Every operation is recorded with its call before it starts and its outcome after it ends. What a client's death cut
//     off is recorded as of unknown outcome, and may take effect at any later time.
//   - Stamps are one order over all clients, marks of the engine and writes of metadata.
//   - What a session does follows from its random stream and from what it saw, nothing else.
//   - No two appends have the same payload.
//   - A Watcher sees calls and answers as they are recorded, and Unfinished says what each session is at. Neither changes
//     what the record says.
//
// # What it does not promise
//
//   - It judges nothing. Answers that cannot be right are recorded like others; package model judges.
//
// A Lab outlives the processes of its clients. Sessions are tasks of a client's node, started anew in each process; they
// end when Lab.Finish was called, between two operations, or when their group stops.
package replicated
