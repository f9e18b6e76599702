// Package shrink makes a failing trial small: the fewest faults and client operations, and the plainest world, with which
// the same checker still reports the same class of violation.
//
// # What it promises
//
//   - What comes out has failed in the same way as what went in: the same checker, the same signature but for numbers in
//     it. With a planted bug, it does not fail so without the bug.
//   - A report that says minimal has seen that the failure goes away when any one fault or any one operation is removed.
//   - It ends within its budget of time and tries, or soon after the context does, with the smallest so far.
//   - Shrinking the same trial with the same budget of tries gives the same result.
//
// # What it does not promise
//
// That there is no smaller trial: removing two elements at once may work where removing each does not. That the two
// failures have one cause: a class is what a checker can tell.
//
// # Steps
//
// First everything that chance and workload did is made explicit, so that it can be taken away. Then, each only if the
// trial still fails: the world is healed as early as possible, drawn values take their plainest form, kinds of faults, nodes
// and clients go as a whole; triggers that count visits count them from the moment at which they struck, since the count
// would move with every operation that goes; delta debugging over faults, over the clients' steps and over the parts of
// steps; simpler parameters. This is repeated until nothing changes. The last pass removes each element once more, one
// at a time.
//
// Delta debugging is that of Zeller and Hildebrandt (IEEE TSE 28(2), 2002), with complements only: large pieces are taken
// away first, then smaller ones, down to single elements.
package shrink
