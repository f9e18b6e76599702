package daemon

import (
	"context"
	"fmt"
	"log/slog"

	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// MetadataOptions say which metadata store to run.
type MetadataOptions struct {
	Listen  string // port 0: the machine chooses, and the announcement tells
	Logger  *slog.Logger
	Serving func(Announcement)
}

// RunMetadata is the life of a metadata store that keeps everything in memory. It returns nil after the context has ended.
func RunMetadata(ctx context.Context, o MetadataOptions) error {
	return oshost.Run(ctx, oshost.Config{Logger: o.Logger}, func(h host.Host) error {
		listener, err := h.Net().Listen(o.Listen)
		if err != nil {
			return fmt.Errorf("metadata store: listen on %s: %w", o.Listen, err)
		}
		server, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
		if err != nil {
			return fmt.Errorf("metadata store at %s: %w", listener.Addr(), err)
		}
		if o.Serving != nil {
			o.Serving(Announcement{Role: Metadata, Address: server.Addr(), Start: InMemory})
		}
		host.AwaitStop(h.Root())
		server.Close()
		return nil
	})
}
