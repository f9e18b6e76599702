package bench

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what this process has used so far.
type usage struct {
	cpu       time.Duration // user and system, all threads
	diskReads int64         // bytes fetched from a device
}

const usageBlockBytes = 512 // getrusage counts in these, whatever the device's blocks are

func usageNow() usage {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(fmt.Sprintf("getrusage of this process cannot fail: %v", err))
	}
	return usage{
		cpu:       time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		diskReads: int64(r.Inblock) * usageBlockBytes,
	}
}

// since is what was used between an earlier reading and this one.
func (u usage) since(earlier usage) usage {
	return usage{cpu: u.cpu - earlier.cpu, diskReads: u.diskReads - earlier.diskReads}
}
