package sameness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host/oshost"
	"lakebed/trial/bench/ledgers"
	"lakebed/trial/bench/processes"
)

// onThisMachine plays a script from a host of this process.
func onThisMachine(store string, b bookies, s *Script, settings *Settings) (State, error) {
	// A context that ends does not stop the player: a script takes seconds, and each of its calls has a bound of its own.
	var state State
	h, err := oshost.New(oshost.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", fmt.Errorf("make a host for the player: %w", err)
	}
	state, err = playAndLook(h, store, b, s, settings)
	return state, errors.Join(err, h.Close())
}

// localBookies are those of a cluster in this process. A kill is a stop in good order.
type localBookies struct {
	ctx     context.Context
	cluster *ledgers.Local
	down    []int
}

// InProcess plays a script on a cluster of this process, over real files and sockets. The directory must be empty.
func InProcess(ctx context.Context, dir string, s *Script, settings *Settings) (State, error) {
	cluster, err := ledgers.StartLocal(ctx, ledgers.LocalOptions{
		Dir: dir, Bookies: s.Bookies, Logger: slog.New(slog.DiscardHandler),
		Configure: func(_ int, c *node.Config) { *c = settings.Bookie },
	})
	if err != nil {
		return "", fmt.Errorf("start a cluster in this process: %w", err)
	}
	state, err := onThisMachine(cluster.Metadata(), &localBookies{ctx: ctx, cluster: cluster}, s, settings)
	return state, errors.Join(err, cluster.Close())
}

func (b *localBookies) kill(id ledger.BookieID) error {
	i := slices.Index(b.cluster.Bookies(), string(id))
	if i < 0 {
		return fmt.Errorf("kill %s: %w", id, ledgers.ErrNoBookie)
	}
	if slices.Contains(b.down, i) {
		return nil
	}
	b.down = append(b.down, i)
	return b.cluster.StopBookie(i)
}

func (b *localBookies) restart() error {
	down := b.down
	b.down = nil
	for _, i := range down {
		if err := b.cluster.StartBookie(b.ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// processBookies are processes. A kill is SIGKILL.
type processBookies struct {
	ctx     context.Context
	cluster *processes.Cluster
}

// onProcesses plays a script on a cluster of processes.
func onProcesses(ctx context.Context, dir, executable string, s *Script, t Twist) (State, error) {
	cluster, err := processes.Start(ctx, processes.Options{Executable: executable, Dir: dir, Bookies: s.Bookies, Settings: processSettings()})
	if err != nil {
		return "", fmt.Errorf("start a cluster of processes: %w", err)
	}
	state, err := onThisMachine(cluster.MetadataAddress(), &processBookies{ctx: ctx, cluster: cluster}, s, withTwist(t))
	return state, errors.Join(err, cluster.Close())
}

// processSettings keep files small, so that many bookies start quickly. The other settings are those of an operator who
// sets nothing.
func processSettings() map[string]string {
	return map[string]string{"journalMaxSizeMB": "32"}
}

func (b *processBookies) kill(id ledger.BookieID) error {
	for i := range b.cluster.Bookies() {
		if b.cluster.BookieAddress(i) == string(id) {
			if !b.cluster.Alive(i) {
				return nil
			}
			return b.cluster.Kill(i)
		}
	}
	return fmt.Errorf("kill %s: %w", id, processes.ErrNoBookie)
}

func (b *processBookies) restart() error {
	var down []int
	for i := range b.cluster.Bookies() {
		if !b.cluster.Alive(i) {
			down = append(down, i)
		}
	}
	return b.cluster.Restart(b.ctx, down...)
}
