package sameness

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/sim"
	"lakebed/sim/disk"
)

// Settings are what a cluster that plays a script runs with. None of them may show in the State.
type Settings struct {
	Bookie node.Config // its store's id and Initialize are the cluster's
	Client client.Config
	// ReadEntries is how many entries the look at the end asks for at a time.
	ReadEntries int
	// World is how a simulated one schedules. Its seed is the one that Simulate is given.
	World sim.Config
	// PowerCut says what a kill is in a simulated world: the end of the machine, of whose writes so much survives that was not
	// synced. Nil: of the process alone.
	PowerCut *disk.Survival
	// Twist plants a difference, for tests. Nil: none.
	Twist Twist
}

// DefaultSettings make files roll and caches fill within a script.
func DefaultSettings() Settings {
	return Settings{
		Bookie: bookieConfig(), Client: clientConfig(), ReadEntries: readEntries,
		World: sim.Config{LockYieldPermille: 50},
	}
}

// withTwist are the default settings with a planted difference.
func withTwist(t Twist) *Settings {
	settings := DefaultSettings()
	settings.Twist = t
	return &settings
}

// withClient lets use work with a client of its own on a host.
func withClient(h host.Host, store string, config client.Config, use func(*client.Client) error) error {
	session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(store))
	if err != nil {
		return fmt.Errorf("connect to the metadata store at %s: %w", store, err)
	}
	c, err := client.New(h, h.Root(), session, config)
	if err != nil {
		return errors.Join(err, session.Close())
	}
	err = use(c)
	c.Close()
	return errors.Join(err, session.Close())
}

// playAndLook plays a script with one client, which then ends, and looks at what is left with another.
func playAndLook(h host.Host, store string, b bookies, s *Script, settings *Settings) (state State, err error) {
	var p *player
	err = withClient(h, store, settings.Client, func(c *client.Client) error {
		p = newPlayer(h, c, b, s, settings)
		return p.play()
	})
	if err != nil {
		return "", err
	}
	err = withClient(h, store, settings.Client, func(c *client.Client) error {
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
