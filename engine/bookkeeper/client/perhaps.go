package client

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointSettleNow    host.Point = "client.settle-now"    // a writer does what its core asks, although more inputs are at hand
	PointPostNow      host.Point = "client.post-now"      // gathered adds are handed over before there are many
	PointSpeculateNow host.Point = "client.speculate-now" // another replica is asked, although the first has time left
	PointBatchLess    host.Point = "client.batch-less"    // a batch read asks for half of its share
	PointReadBesides  host.Point = "client.read-besides"  // a range is read entry by entry, although batches would do
	PointRefreshNow   host.Point = "client.refresh-now"   // metadata are read again before a read that has no need of it
)
