package metadata

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointRetryNow  host.Point = "metadata.retry-now"   // a write is made again without a pause
	PointGiveUpNow host.Point = "metadata.give-up-now" // a write is given up before all its attempts
	PointBlockNow  host.Point = "metadata.block-now"   // ids are taken from the store, although some are left
)
