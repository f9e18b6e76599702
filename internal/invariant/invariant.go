// Package invariant states what must hold. A broken invariant is a bug of ours, never of the input or the machine, so
// it panics: the simulator turns the panic into a verdict with the task's own stack, a real node dies before it can
// store a wrong state. Cheap checks stay on in production; dear ones ask host.Probe.Sample first.
package invariant

import "fmt"

// Broken is the value of the panic, so that a recovering caller can tell a broken invariant from a runtime error.
type Broken struct{ Message string }

func (b Broken) Error() string { return "invariant broken: " + b.Message }

// Check panics with message unless cond holds. The message is a sentence about what should have held.
func Check(cond bool, message string) {
	if !cond {
		panic(Broken{message})
	}
}

// Checkf is Check with a formatted message. Its arguments escape even when cond holds: keep it off hot paths.
func Checkf(cond bool, format string, args ...any) {
	if !cond {
		panic(Broken{fmt.Sprintf(format, args...)})
	}
}
