package server

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointSubmitNow  host.Point = "server.submit-now"   // a batch goes to the store, although more adds are at hand
	PointFlushNow   host.Point = "server.flush-now"    // answers are written, although there is room for more
	PointBatchOfOne host.Point = "server.batch-of-one" // a batch read is answered with one entry
)
