package ledgers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
)

// cluster is what a run measures: in this process, or processes of their own.
type cluster interface {
	Metadata() string
	// restart stops every bookie in good order and starts it again.
	restart(ctx context.Context) error
	// childCPU is the time of processors that other processes have used for the cluster.
	childCPU() (time.Duration, error)
	Close() error
}

// clusterKind says which cluster cells need.
type clusterKind struct {
	bookies  int
	unsynced bool
	forReads bool
}

// What the bookies that are read from are given. Nothing but an end starts a checkpoint, so that what shall be read from
// the write cache stays there; and their read-ahead cache is so small that whoever walks through a ledger finds nothing that
// an earlier walk has left.
const (
	readCheckpointInterval = time.Hour
	readAheadCacheBytes    = 8 << 20
)

// configure changes the settings of a bookie in this process.
func (k clusterKind) configure(_ int, c *bookienode.Config) {
	if k.forReads {
		c.Store.CheckpointInterval = readCheckpointInterval
		c.Store.EntryLog.ReadCacheBytesMax = readAheadCacheBytes
	}
}

// served is a cluster that is being measured, with its clients.
type served struct {
	cluster
	kind    clusterKind
	dir     string
	clients []*Client
}

// serve starts a cluster.
func (l *lab) serve(ctx context.Context, kind clusterKind) (*served, error) {
	dir, err := l.newDir("cluster")
	if err != nil {
		return nil, err
	}
	s := &served{kind: kind, dir: dir}
	if l.options.Processes {
		s.cluster, err = startProcesses(ctx, dir, l.options.Executable, kind)
	} else {
		s.cluster, err = startLocal(ctx, dir, kind, l.options)
	}
	if err != nil {
		return nil, fmt.Errorf("start a cluster of %d bookies: %w", kind.bookies, err)
	}
	return s, nil
}

func startLocal(ctx context.Context, dir string, kind clusterKind, o Options) (cluster, error) {
	c, err := StartLocal(ctx, LocalOptions{
		Dir: dir, Bookies: kind.bookies, Unsynced: kind.unsynced, Configure: kind.configure, Seed: o.Seed, Logger: o.Logger,
	})
	if err != nil {
		return nil, err // not a nil *Local in an interface
	}
	return c, nil
}

func (l *Local) restart(ctx context.Context) error {
	for i := range l.Bookies() {
		if err := l.StopBookie(i); err != nil {
			return err
		}
	}
	for i := range l.Bookies() {
		if err := l.StartBookie(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func (l *Local) childCPU() (time.Duration, error) { return 0, nil }

// cpu is the meter of everything: clients and lines in this process, and bookies wherever they are.
func (s *served) cpu() (time.Duration, error) {
	own, err := ownCPU()
	if err != nil {
		return 0, err
	}
	children, err := s.childCPU()
	return own + children, err
}

// newClient dials. The client ends with the cluster, or before by dropClients.
func (s *served) newClient(config client.Config) (*Client, error) {
	c, err := Dial(s.Metadata(), config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return nil, err
	}
	s.clients = append(s.clients, c)
	return c, nil
}

func (s *served) dropClients() (err error) {
	for _, c := range s.clients {
		err = errors.Join(err, c.Close())
	}
	s.clients = nil
	return err
}

// end closes everything and removes the directory: a run of many clusters would fill the disk.
func (s *served) end() error {
	return errors.Join(s.dropClients(), s.Close(), os.RemoveAll(s.dir))
}
