package death

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// withClient runs f with a client of its own: another machine's, as far as bookies and the metadata store can tell.
func withClient(ctx context.Context, metadata string, logger *slog.Logger, f func(h host.Host, c *client.Client) error) error {
	if logger == nil {
		logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return oshost.Run(ctx, oshost.Config{Logger: logger}, func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(metadata))
		if err != nil {
			return err
		}
		c, err := client.New(h, h.Root(), store, client.DefaultConfig())
		if err != nil {
			return errors.Join(err, store.Close())
		}
		err = f(h, c)
		c.Close()
		return errors.Join(err, store.Close())
	})
}
