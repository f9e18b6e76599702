// Package sameness runs one recorded workload in several worlds and compares what is left of it: in a simulated cluster, on
// a cluster in this process over real files and sockets, and on processes of their own. It is experiment X-75.
//
// # What it promises
//
//   - A Script is a list of steps, as text: ledgers are created, appended to, closed, left by their writer, recovered, taken
//     over from a writer that lives, and deleted, while bookies are killed and come back. What the entries hold follows from
//     the script alone.
//   - The State at the end is text with a fixed form: of each ledger whether it is open, closed or deleted; of a closed one
//     its last entry, its length, and a digest of all entries, read back through a client that wrote none of them.
//   - Expected is the state that a script must end in, worked out without any engine. So a defect that all worlds share is
//     a difference too.
//   - Difference names the first line in which two states differ. One byte of one entry is enough, and so is one entry more
//     or less.
//
// # What is compared, and what is not
//
// A script says only what has one right outcome: a step that appends ends when all its entries are acknowledged, so a
// writer that walks away leaves nothing under way. Which bookies make an ensemble is drawn at random, and is not compared.
// Where fragments begin is compared where it is determined: with E = Qw = Qa no entry is acknowledged past a bookie that is
// gone, so that a new fragment begins at the first entry after the kill. With Qa < Qw it begins at whatever entry the
// failure was noticed, after a recovery at any entry of the tail, and a bookie that was killed for another ledger may
// belong to the ensemble or not: then the line says nothing of fragments.
//
// # What it does not promise
//
//   - Nothing about time. A world is as fast as it likes.
//   - Bookies of this process cannot be killed: there a kill is a stop in good order. In a simulated world and of a process
//     it is one without warning.
//   - The content of a ledger that is still open at the end is not compared: how much of it readers may see is a matter of
//     moments, since the LAC travels with later entries.
package sameness
