package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"lakebed/trial/bench/processes/daemon"
)

func (a *app) metadataCommand() *cobra.Command {
	var listen string
	var logs logFlags
	c := &cobra.Command{
		Use:   "metadata",
		Short: "Run a metadata store, IN MEMORY: its cluster is lost when it ends",
		Long: `Run a metadata store for bookies and clients on this machine.

IT KEEPS EVERYTHING IN MEMORY. When it ends, however it ends, nobody knows any more which ledgers there are and where
they lie. The bookies of its cluster still have every entry, but refuse to serve another cluster: start again with empty
directories. It is for trying things out and for measuring.

When it serves it says so in one line on standard output:

  serving metadata 127.0.0.1:2181 in-memory

The log goes to standard error. SIGTERM and SIGINT end it, and a second one kills it.

Exit code 0: it was asked to end. 2: wrong use. 3: it could not serve; the error says what to do.`,
		Example: `  simrun metadata                              # at 127.0.0.1:2181
  simrun metadata --listen 127.0.0.1:0         # at a port that is free; the line on standard output tells
  simrun metadata --listen 0.0.0.0:2181        # for other machines: there is no password, so mind who can connect`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			logger, err := logs.logger(a)
			if err != nil {
				return err
			}
			if err := checkAddress("listen", listen, true); err != nil {
				return err
			}
			logger.Warn("this metadata store is in memory only: its cluster is lost when it ends")
			var served string
			return a.live(c, func(ctx context.Context) error {
				err := daemon.RunMetadata(ctx, daemon.MetadataOptions{Listen: listen, Logger: logger, Serving: func(s daemon.Announcement) {
					served = s.Address
					fmt.Fprintln(a.out, s)
				}})
				if err == nil {
					fmt.Fprintf(a.out, "stopped metadata %s: connections closed, and all that was in memory is gone\n", served)
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "address to listen on")
	logs.add(c)
	return c
}
