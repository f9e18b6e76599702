package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"lakebed/trial/campaign"
)

// openFilesMin is how many files a process must be allowed to have open: Go's runtime ends a program with a stack of its own where it
// cannot open the first few, and no command does its work with fewer.
const openFilesMin = 32

// enoughFiles refuses to begin under a limit that would end the program without a word.
func enoughFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= openFilesMin {
		return nil // unknown is no reason to refuse
	}
	return fmt.Errorf("%w: this process may open %d files, and needs %d: see ulimit -n", campaign.ErrEnvironment, limit.Cur, openFilesMin)
}
