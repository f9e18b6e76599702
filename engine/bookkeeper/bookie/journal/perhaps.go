package journal

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointSealNow   host.Point = "journal.seal-now"   // a group takes no more batches, although it has room
	PointRollNow   host.Point = "journal.roll-now"   // a file is left before it is full
	PointDropSpare host.Point = "journal.drop-spare" // a trimmed file is removed, although there is room for spares
)
