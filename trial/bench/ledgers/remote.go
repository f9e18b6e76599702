package ledgers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lakebed/trial/bench/processes"
)

// remote is a cluster of processes.
type remote struct{ *processes.Cluster }

func startProcesses(ctx context.Context, dir, executable string, kind clusterKind) (cluster, error) {
	c, err := processes.Start(ctx, processes.Options{
		Executable: executable, Dir: dir, Bookies: kind.bookies, Settings: kind.settings(),
	})
	if err != nil {
		return nil, err
	}
	return remote{c}, nil
}

// settings are those of ApplySizes and configure, by their names in bookkeeper.conf.
func (k clusterKind) settings() map[string]string {
	s := map[string]string{
		"journalMaxSizeMB":              strconv.Itoa(journalFileBytes >> 20),
		"dbStorage_writeCacheMaxSizeMb": strconv.Itoa(writeCacheBytes >> 20),
		"logSizeLimit":                  strconv.Itoa(logBytesMax),
	}
	if k.unsynced {
		s["journalSyncData"] = "false"
	}
	if k.forReads {
		s["flushInterval"] = fmt.Sprint(readCheckpointInterval.Milliseconds())
		s["dbStorage_readAheadCacheMaxSizeMb"] = strconv.Itoa(readAheadCacheBytes >> 20)
	}
	return s
}

func (r remote) Metadata() string { return r.MetadataAddress() }

func (r remote) restart(ctx context.Context) error {
	all := make([]int, r.Cluster.Bookies())
	for i := range all {
		all[i] = i
		if err := r.Stop(i); err != nil {
			return err
		}
	}
	return r.Restart(ctx, all...)
}

func (r remote) childCPU() (time.Duration, error) { return r.Usage().Total(), nil }
