// Package defect is the switch of the planted bugs. It is all that the engine sees of them, and only in a program built
// with the overlay that package defects generates: the engine's sources never import it.
//
// # What it promises
//
//   - In an ordinary build no defect can be chosen, and Compiled is false.
//   - In an overlay build the environment variable LAKEBED_DEFECT chooses one for the whole program, read once at its
//     start, and Choose one for a while, such as a trial. Without either the program behaves like an ordinary build.
//
// # What it does not promise
//
// The choice belongs to the process and has no lock: trials with different defects do not run side by side in one
// process. Campaigns use a process for each.
package defect

import "lakebed/internal/invariant"

// Variable is the environment variable that chooses a defect for a whole program, such as a test binary.
const Variable = "LAKEBED_DEFECT"

// chosen is the defect that is on; empty: none. It is a package variable because the places that ask are spread over
// the engine, which must not carry a trace of it.
var chosen = fromEnvironment()

// On reports whether the defect of this id is on. The engine asks at each planted place.
func On(id string) bool { return chosen == id }

// Choose turns a defect on, and everything else off, until restore is called.
func Choose(id string) (restore func()) {
	invariant.Check(Compiled, "only a program built with the overlay has defects")
	before := chosen
	chosen = id
	return func() { chosen = before }
}
