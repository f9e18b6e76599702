package pool

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointParkNow  host.Point = "pool.park-now"  // a request waits in line, although its connection has room
	PointAvoidNow host.Point = "pool.avoid-now" // a bookie that did no wrong is not preferred
)
