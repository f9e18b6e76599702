package ledgers

import (
	"errors"
	"fmt"
	"log/slog"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host/oshost"
)

// Client is a client of ledgers on a host of its own, as an application has it.
type Client struct {
	*client.Client
	Host    *oshost.Host
	session *service.Client
}

// Dial makes a client of the cluster whose metadata store is at an address. A nil logger is slog.Default.
func Dial(metadataAddress string, config client.Config, logger *slog.Logger) (*Client, error) {
	h, err := oshost.New(oshost.Config{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("make a host for a client: %w", err)
	}
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(metadataAddress))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to the metadata store at %s: %w", metadataAddress, err), h.Close())
	}
	c, err := client.New(h, h.Root(), session, config)
	if err != nil {
		return nil, errors.Join(err, session.Close(), h.Close())
	}
	return &Client{Client: c, Host: h, session: session}, nil
}

// Close ends the client, its session and its host. The error names tasks that were left over.
func (c *Client) Close() error {
	c.Client.Close()
	return errors.Join(c.session.Close(), c.Host.Close())
}
