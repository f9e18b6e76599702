package sameness

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
)

// withClient lets use work with a client of its own on a host.
func withClient(h host.Host, store string, use func(*client.Client) error) error {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(store))
	if err != nil {
		return fmt.Errorf("connect to the metadata store at %s: %w", store, err)
	}
	c, err := client.New(h, h.Root(), session, clientConfig())
	if err != nil {
		return errors.Join(err, session.Close())
	}
	err = use(c)
	c.Close()
	return errors.Join(err, session.Close())
}

// playAndLook plays a script with one client, which then ends, and looks at what is left with another.
func playAndLook(h host.Host, store string, b bookies, s *Script, t twist) (state State, err error) {
	var p *player
	err = withClient(h, store, func(c *client.Client) error {
		p = newPlayer(h, c, b, s, t)
		return p.play()
	})
	if err != nil {
		return "", err
	}
	err = withClient(h, store, func(c *client.Client) error {
		state, err = p.look(c)
		return err
	})
	return state, err
}

// bookieConfig makes files roll and caches fill within a script, and is fit for simulated disks.
func bookieConfig() node.Config {
	c := node.DefaultConfig()
	b := &c.Store
	b.Journal.FileBytes, b.Journal.GroupBytesMax = 2<<20, 128<<10
	b.EntryLog.LogBytesMax, b.EntryLog.GroupBytes = 1<<20, 32<<10
	b.EntryLog.IndexCacheBytesMax, b.EntryLog.ReadCacheBytesMax = 64<<10, 64<<10
	b.WriteCacheBytesMax, b.ChunkBytes = 1<<20, 64<<10
	b.EntryBytesMax, b.BatchBytesMax = 256<<10, 512<<10
	b.CheckpointInterval = 500 * time.Millisecond
	c.Server.BatchBytesMax = b.BatchBytesMax / 2
	return c
}
