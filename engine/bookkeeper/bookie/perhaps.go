package bookie

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointCheckpointNow  host.Point = "bookie.checkpoint-now"   // a checkpoint before its time
	PointHoldNow        host.Point = "bookie.hold-now"         // a batch waits as for a full cache
	PointSlowNow        host.Point = "bookie.slow-now"         // a batch is slowed while a flush runs, whatever the cache holds
	PointReplayFlushNow host.Point = "bookie.replay-flush-now" // replay flushes a cache that is not full
	PointLookUpFew      host.Point = "bookie.look-up-few"      // entries of a range are looked up one at a time
)
