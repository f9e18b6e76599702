package processes

import (
	"fmt"
	"io"
	"os"
	"time"

	"lakebed/trial/bench/processes/daemon"
)

// Defaults of a cluster.
const (
	StartTimeoutDefault = 30 * time.Second
	StopTimeoutDefault  = 30 * time.Second
	bookiesMax          = 256
)

// Options say which cluster to run.
type Options struct {
	Executable string // simrun; empty: this program
	// Command, if not nil, changes the command line of a child before it is started, such as to trace it. The child must be
	// the process that is started. i is 0 for the metadata store.
	Command  func(role daemon.Role, i int, line []string) []string
	Dir      string            // bookies have their data in Dir/bookie-0 and so on
	Bookies  int               // how many
	Settings map[string]string // of all bookies, by their names in bookkeeper.conf
	Env      []string          // of all bookies, besides this process's own
	Stderr   io.Writer         // what children write to standard error, besides the end of it that errors hold; nil: nowhere

	StartTimeout time.Duration // of one child; zero: StartTimeoutDefault
	StopTimeout  time.Duration // of one child; zero: StopTimeoutDefault
}

func (o *Options) complete() error {
	if o.Bookies < 1 || o.Bookies > bookiesMax {
		return fmt.Errorf("a cluster of %d bookies: must be 1 to %d", o.Bookies, bookiesMax)
	}
	if o.Dir == "" {
		return fmt.Errorf("a cluster needs a directory")
	}
	if o.Executable == "" {
		path, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		o.Executable = path
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = StartTimeoutDefault
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = StopTimeoutDefault
	}
	return nil
}
