package daemon

import (
	"log/slog"
	"os"
	"runtime/debug"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/trial/bench/bounds"
)

// LimitMemory tells the collector of this process how much a bookie with these settings may hold, and logs it. Left to
// itself it lets garbage lie until the heap has doubled. The limit holds nobody back who needs more, but then the collector
// works hard; GOMEMLIMIT, the runtime's own variable, goes before it.
func LimitMemory(c node.Config, logger *slog.Logger) {
	if set := os.Getenv("GOMEMLIMIT"); set != "" {
		logger.Info("memory limit of the collector is as GOMEMLIMIT says", "GOMEMLIMIT", set)
		return
	}
	limit := bounds.Sum(bounds.Bookie(&c)) + bounds.Slack
	debug.SetMemoryLimit(limit)
	logger.Info("memory limit of the collector is the sum of the configured bounds", "mebibytes", limit>>20)
}
