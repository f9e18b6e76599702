package series

import (
	"fmt"
	"time"

	"lakebed/engine/host"
)

// Preallocation says what a file holds before its first byte is written (C-15).
type Preallocation string

// The ways of preparing a file. What a full volume means depends on them: with Sparse it can strike at any write, with
// the others only where a file is made.
const (
	Sparse     Preallocation = "sparse"      // full size, no blocks: what upstream does
	Fallocated Preallocation = "fallocated"  // blocks are reserved, and not written
	ZeroFilled Preallocation = "zero-filled" // blocks are written: overwriting them later syncs faster
	Recycled   Preallocation = "recycled"    // a removed file is used again; zero-filled if there is none
)

// Config holds the settings of a series.
type Config struct {
	FileBytes     int64         // size of a file
	Preallocation Preallocation // how a file is prepared
	SparesMax     int           // removed files kept to be used again, Recycled only
	RetryPause    time.Duration // between attempts to prepare a file

	Advice         host.Advice // how files will be read
	MappedFilesMax int         // files that Piece.Mapping keeps mapped; zero: it maps none
	MappedWrites   bool        // a Writer copies what is short into the page cache, see host.MemoryWriter
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	switch c.Preallocation {
	case Sparse, Fallocated, ZeroFilled, Recycled:
	default:
		return fmt.Errorf("preallocation %q: want sparse, fallocated, zero-filled or recycled", c.Preallocation)
	}
	if c.FileBytes < 1 || c.SparesMax < 0 || c.RetryPause <= 0 {
		return fmt.Errorf("file size %d, spare files %d, retry pause %v: must be positive, not negative, positive",
			c.FileBytes, c.SparesMax, c.RetryPause)
	}
	if c.MappedFilesMax < 0 || c.Advice > host.AdviseRandom {
		return fmt.Errorf("mapped files %d, advice %d: must not be negative, and of whole files", c.MappedFilesMax, c.Advice)
	}
	return nil
}
