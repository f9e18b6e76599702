package faults

import (
	"errors"

	"lakebed/internal/invariant"
	"lakebed/sim/disk"
)

// The seam's own sentinel errors, which an operation that a plan lets fail must carry. This package knows the simulated
// world alone, so it has them from there: from operations that the disk model refuses.
var errInputOutput, errNoSpace = refusals()

func refusals() (inputOutput, noSpace error) {
	f, err := disk.New(disk.Config{Capacity: disk.PageSize}).Root().Create("full")
	invariant.Check(err == nil, "an empty disk takes a file")
	_, inputOutput = f.ReadAt(nil, -1)
	noSpace = f.Allocate(0, 2*disk.PageSize)
	inputOutput, noSpace = errors.Unwrap(inputOutput), errors.Unwrap(noSpace)
	invariant.Check(inputOutput != nil && noSpace != nil, "the disk model wraps the seam's errors")
	return inputOutput, noSpace
}
