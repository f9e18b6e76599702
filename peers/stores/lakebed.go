package stores

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// machine is the host on which one of our stores stands.
type machine struct{ *oshost.Host }

// newMachine makes a host with one volume below dir.
func newMachine(dir, volume string, seed uint64) (machine, error) {
	h, err := oshost.New(oshost.Config{
		Volumes: map[string]string{volume: filepath.Join(dir, volume)}, Seed: seed,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return machine{}, fmt.Errorf("make a host in %s: %w", dir, err)
	}
	return machine{h}, nil
}

// end stops what is left of the store, and reports tasks that do not end.
func (m machine) end(err error) error {
	m.Root().Stop()
	return errors.Join(err, m.Close())
}

var _ host.Host = machine{}

// diskRatio stands for the bounds on how full the disk may be: none of the stores is to refuse or to clean because of what
// else lies on the disk of this machine.
const diskRatio = 0.99

const topicName = "peers"

func nowMillis() int64 { return time.Now().UnixMilli() }
