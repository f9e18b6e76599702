// Package death kills the processes of a cluster without warning, at random moments under load, and looks for what was
// acknowledged.
//
// # What it promises
//
// A round writes a ledger from a process of its own, kills bookies, the writer, or both with SIGKILL, starts the bookies
// again, recovers the ledger as another client would, and reads it. It finds
//
//   - an acknowledged entry that is not there, or not byte for byte what was written,
//   - an entry that is there and never was written, twice, or in another place,
//   - acknowledgements that do not come in the order of entries, or one behind the end of a recovered ledger: the writer
//     was not shut out,
//   - a closed ledger whose end another recovery finds elsewhere,
//   - a bookie that does not come back, and a writer that neither goes on nor ends,
//   - a writer that has ended before the kill, which then met no load.
//
// When all rounds are over the bookies are stopped and started once more, and every ledger of every round is read again.
//
// An acknowledgement counts as promised from the moment at which the writer process has written it to a pipe; this
// process reads them there and appends them to a log of its own, so that no kill can reach them. What entries hold is
// derived from seed, ledger and entry, so nothing else needs to be kept.
//
// # What it does not promise
//
//   - The seed draws moments and contents, but real processes do not run the same way twice.
//   - SIGKILL takes no byte from the page cache, so a bookie that never syncs passes. Package calls shows from a trace of
//     system calls that acknowledgements wait for the sync; power cuts are simulated.
//   - The metadata store is not killed: the one of simrun metadata is in memory.
//
// # What it leaves
//
// Below its directory: what bookies keep, and "acks-NNN.log" for each round: the ledger, then one acknowledged entry a line.
package death
