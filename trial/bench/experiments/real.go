package experiments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sys/unix"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/host"
	"lakebed/trial/bench/ledgers"
)

// realOptions say what cluster to start on this machine.
type realOptions struct {
	bookies   int
	client    client.Config
	configure func(i int, c *bookienode.Config) // nil: default settings
}

// real is a cluster on this machine: each node has its own host, volumes and sockets, and one client.
type real struct {
	*ledgers.Local
	client *ledgers.Client
	config client.Config // of the client
	limits []*limit      // of the bookies' journals
	dir    string
}

// inReal has f use a cluster on this machine, and takes it down.
func (r *run) inReal(ctx context.Context, o realOptions, f func(context.Context, *real) error) error {
	return r.inScratch(ctx, func(ctx context.Context, dir string) error {
		c := &real{dir: dir, config: o.client}
		names := map[string]*limit{}
		for i := range o.bookies {
			c.limits = append(c.limits, &limit{})
			names[ledgers.BookieNode(i)] = c.limits[i]
		}
		var err error
		c.Local, err = ledgers.StartLocal(ctx, ledgers.LocalOptions{
			Dir: dir, Bookies: o.bookies, Configure: o.configure, Logger: r.Logger, Seed: r.Seed,
			WrapHost: func(node string, h host.Host) host.Host {
				if l := names[node]; l != nil {
					return limited{h, l}
				}
				return h
			},
		})
		if err != nil {
			return err
		}
		if c.client, err = ledgers.Dial(c.Metadata(), o.client, r.Logger); err != nil {
			return errors.Join(err, c.Close())
		}
		err = f(ctx, c)
		for _, l := range c.limits { // a stuck disk cannot be closed
			l.release()
			l.factor.Store(0)
			l.rate.Store(0)
		}
		return errors.Join(err, c.client.Close(), c.Close())
	})
}

// newClient puts a client without any connection in the place of the old one.
func (c *real) newClient(logger *slog.Logger) error {
	if err := c.client.Close(); err != nil {
		return err
	}
	fresh, err := ledgers.Dial(c.Metadata(), c.config, logger)
	if err == nil {
		c.client = fresh
	}
	return err
}

// number is which bookie has an address; -1 for none.
func (c *real) number(id ledger.BookieID) int {
	for i, address := range c.Bookies() {
		if address == string(id) {
			return i
		}
	}
	return -1
}

// cpuMicros is the processor time that this process has used: clients and bookies together.
func cpuMicros() (float64, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read this process's processor time: %w", err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1000, nil
}
