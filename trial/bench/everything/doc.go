// Package everything lets all that there is of replicated ledgers happen at once on this machine, on goroutines, files and
// sockets, and checks what the clients saw. Its test is the one to run under the race detector.
//
// # What it promises
//
//   - Run starts a metadata store, bookies, and several clients, each with sessions that write ledgers, follow them while
//     they are written, read them entry by entry and in batches, take them over from their writers, delete them, and write
//     some without the client. Bookies stop and come back all the time, one after the other, and for a while one's journal
//     does not sync. Writers change their ensembles because of both.
//   - Every operation is recorded, and the checkers of package model say what is wrong with the record. At the end a new
//     client opens every ledger and reads all of it.
//   - A Report says how much happened. Report.Weak names what did not happen at all: a run without it proves little.
//
// # What it does not promise
//
//   - Nobody is killed and no byte is lost here. That is for the simulated worlds, and for processes (package death).
//   - The record is kept in memory, some hundred bytes an operation.
package everything
