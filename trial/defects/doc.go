// Package defects is the catalogue of planted bugs: mistakes that real systems made, or that our rules forbid, each with
// the scenario and the checkers that must find it. It says how good the laboratory is. A defect that nothing catches is a
// missing checker, point or fault.
//
// # What it promises
//
//   - The engine's sources carry no defect. An overlay for the go command, generated from the sources as they are, holds
//     all of them at once; each is off until it is chosen by name at run time (package defect).
//   - A place is named by file, function and syntax, and must match exactly once. An entry that has lost its place is an
//     error of WriteOverlay and fails a test, so that the catalogue follows the engine.
//   - A program with the overlay and no defect chosen does what the plain program does, event by event.
//   - A defect counts as caught only by a checker that its entry names, and only on a seed on which the engine does not
//     fail in the same way without it.
//   - Each entry says where it comes from, how it goes wrong, and what a plain unit test would have seen. docs/defects.md says
//     which known bugs of other systems have an entry, and why others have none.
//
// # What it does not promise
//
// Seconds of processor time depend on the machine. That no defect is left which the laboratory would miss is for the
// reader of the catalogue to judge.
//
// # An entry's edits
//
// A statement S is replaced by R as "if defect.On(id) { R } else { S }". An expression E of type T is replaced by the
// statements R as "func() T { if defect.On(id) { R }; return E }()". Several defects may share a place, and one may lie
// inside another's.
//
// # Detection
//
// A hunt runs trial after trial from a seed on, with one defect, until a named checker reports it or the budget of
// processor time is spent. Each runs in a process of its own (the program in hunter/, built with the overlay), because a
// planted bug may do anything. Run starts as many side by side as it is told, and takes the median of several hunts.
package defects
