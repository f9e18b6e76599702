package oshost

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"lakebed/engine/host"
)

// ErrLeftOver says that a node ended while tasks of it were still running.
var ErrLeftOver = errors.New("tasks left over")

// Config says what a node on this machine is given.
type Config struct {
	// Volumes maps the name of a volume to the directory that holds it. A missing directory is made on first use.
	Volumes map[string]string
	// Seed fixes the random streams. Zero draws one from the machine.
	Seed uint64
	// Logger receives the log lines; nil means slog.Default.
	Logger *slog.Logger
}

// Host is a node's view of this machine. It implements host.Host.
type Host struct {
	volumes map[string]string
	seed    uint64
	log     slog.Handler
	start   time.Time
	root    *group
	tasks   register
	locks   lockSet
	memory  memory
	waiters waiterPool
	vectors vectorPool
	directs directPool
}

var _ host.Host = (*Host)(nil)

// elapsedAtBirth keeps Elapsed away from zero, because a zero Deadline of a host.Scope means that there is none.
const elapsedAtBirth = time.Second

// New makes a host. It touches no volume yet. Whoever calls New calls Close when the node has ended; Run does both.
func New(config Config) (*Host, error) {
	for name, path := range config.Volumes {
		if name == "" || path == "" {
			return nil, fmt.Errorf("volume %q in directory %q: both must be named", name, path)
		}
	}
	seed, err := seedOf(config)
	if err != nil {
		return nil, err
	}
	logger := config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	h := &Host{
		volumes: maps.Clone(config.Volumes),
		seed:    seed,
		log:     logger.Handler(),
		start:   time.Now().Add(-elapsedAtBirth),
	}
	h.root = newGroup(h, "root")
	return h, nil
}

func seedOf(config Config) (uint64, error) {
	if config.Seed != 0 {
		return config.Seed, nil
	}
	var drawn [8]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(drawn[:]), nil
}

// Close ends the node. It gives up the directory locks the node still holds, or returns ErrLeftOver with the names of
// the tasks that still run. In that case the locks stay: such a task may still write.
func (h *Host) Close() error {
	if err := h.tasks.leftOver(); err != nil {
		return err
	}
	h.locks.releaseAll()
	return nil
}

// Now is the machine's wall clock.
func (h *Host) Now() host.Wall { return host.Wall(time.Now().UnixNano()) }

// Elapsed reads the monotonic clock.
func (h *Host) Elapsed() time.Duration { return time.Since(h.start) }

// Root is the group that Run stops when its context ends.
func (h *Host) Root() host.Group { return h.root }

// Disk opens the directory of a volume, and makes it durably if it is missing.
func (h *Host) Disk(volume string) (host.Dir, error) {
	path, ok := h.volumes[volume]
	if !ok {
		return nil, fmt.Errorf("volume %q is not configured: %w", volume, host.ErrNotExist)
	}
	if err := makeDurable(path); err != nil {
		return nil, explain(err, "open volume %q in %s", volume, path)
	}
	return &dir{host: h, path: path}, nil
}

// Net is the machine's TCP.
func (h *Host) Net() host.Net { return network{h} }

// NewMutex returns a plain sync.Mutex; the name serves the simulator.
func (h *Host) NewMutex(string) host.Mutex { return new(sync.Mutex) }

// NewCounter returns a plain atomic number; the name serves the simulator.
func (h *Host) NewCounter(string) host.Counter { return new(atomic.Int64) }

// Memory is the node's buffer pool.
func (h *Host) Memory() host.Memory { return &h.memory }

// Probe is inert on a real machine.
func (h *Host) Probe() host.Probe { return inertProbe{} }
