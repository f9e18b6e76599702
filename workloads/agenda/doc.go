// Package agenda says which operations the clients of a trial do, and from which numbers each is drawn.
//
// # What it promises
//
//   - An operation has a name: its client, the step of that client, and the part of that step. A client goes on counting
//     its steps when its process starts again.
//   - Each part of each step draws from a stream of its own. One that is left out shifts nothing that another draws.
//   - An agenda that keeps some operations leaves out all others; the pauses of a client stay, so that what is kept happens
//     at about the time at which it would happen anyway. A client of which nothing is kept is absent.
//
// # What it does not promise
//
// What a client does follows from its stream and from what it saw. When an operation is left out others see something
// else, so a read may choose another entry than before, and the third part of a step may be another call.
//
// An agenda may be used from tasks on real goroutines; its lock is never held across a call of the engine.
package agenda
