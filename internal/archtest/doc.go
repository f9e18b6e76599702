// Package archtest holds the shape of the repository: which package may import which, and how long files and
// functions may grow. It is run by its own tests, so that `go test ./internal/...` is the whole check.
//
// # What it promises
//
// Imports run one way (rules.go). A broken rule is told in a sentence: who imports what, and which rule forbids it.
// Files are read whatever their build constraints are, and a folder that no rule covers is an error of its own, so that
// a new package is given its place when it is made.
//
// # Test files
//
// Tests may import more than the package they test, as the table says, with one line that is never crossed: nothing
// under engine/ imports the laboratory. The exception are the engine's external test packages (package x_test): they
// may import sim, faults and model, since crash enumeration runs the writers of files inside the simulated disk. An
// external test package is linked into nothing but its own test, so the engine itself still cannot see the simulator.
//
// # What it does not promise
//
// Nested modules (tools, interop, peers) are not covered. What the engine may use of the standard library and of
// third parties is the business of seamcheck.
package archtest
