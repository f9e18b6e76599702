package entrylog

import "lakebed/engine/host"

// Places where the world may choose a branch that is legal at any time and that timing or sizes take rarely.
const (
	PointCloseNow       host.Point = "entrylog.close-now"        // a log is closed before it is full
	PointGroupNow       host.Point = "entrylog.group-now"        // a group of a flush ends before it is full
	PointReadPastAhead  host.Point = "entrylog.read-past-ahead"  // an entry is read from the log, although it may have been read ahead
	PointReadPastBlocks host.Point = "entrylog.read-past-blocks" // an index block is read from the log, although it may be cached
	PointReadAheadLess  host.Point = "entrylog.read-ahead-less"  // half of what may be read ahead is
	PointReadLess       host.Point = "entrylog.read-less"        // half of the entries that lie together are read in one call
)
