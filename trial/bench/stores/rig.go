package stores

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog/partition"
)

// subject is an open store with its partitions.
type subject interface {
	// appender makes a client that sends payloads of this length. The number tells clients apart.
	appender(number, payload int) appender
	// read reads a batch of a partition from a place on, and returns how many messages there were and where to go on; none:
	// that was the end.
	read(partition int, from int64) (messages int, bytes int64, next int64, err error)
	// seek finds the first message of a partition with this time or a later one. times are those that there are.
	seek(partition int, at int64) (int64, error)
	times() (first, last int64)
	close() error
}

// appender appends one message to a partition, and returns when it is acknowledged.
type appender interface {
	append(partition int) error
}

// Rig is a store on this machine, with so many partitions.
type Rig struct {
	Kind Kind
	Policy
	Partitions int

	observer *observer
	machine  *oshost.Host
	store    subject
	dir      string
	seed     uint64
	turn     int // partitions that rounds so far have gone through
}

// FilesMax bounds the files that a store has open.
const FilesMax = 4000

// Open opens a store below dir, and makes the partitions if they are not there. Its groups do not wait.
func Open(dir string, kind Kind, mode Mode, partitions int, seed uint64) (*Rig, error) {
	return OpenWith(dir, kind, Policy{Mode: mode}, partitions, seed)
}

// OpenWith is Open with groups that may wait for more.
func OpenWith(dir string, kind Kind, policy Policy, partitions int, seed uint64) (*Rig, error) {
	r := &Rig{Kind: kind, Policy: policy, Partitions: partitions, dir: dir, seed: seed}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Rig) open() error {
	config := oshost.Config{Volumes: map[string]string{}, Seed: r.seed, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	for _, v := range []string{segmentVolume, commitlog.StoreVolume, bookie.JournalVolume, bookie.LedgerVolume} {
		config.Volumes[v] = filepath.Join(r.dir, v)
	}
	machine, err := oshost.New(config)
	if err != nil {
		return fmt.Errorf("make a host in %s: %w", r.dir, err)
	}
	observed := &observer{Host: machine}
	open := map[Kind]func(h host.Host, policy Policy, partitions int) (subject, error){
		SegmentLog: openSegments, CommitLog: openMessages, EntryLog: openBookie,
	}[r.Kind]
	store, err := open(observed, r.Policy, r.Partitions)
	if err != nil {
		machine.Root().Stop()
		return errors.Join(fmt.Errorf("open %s with %d partitions: %w", r.Kind, r.Partitions, err), machine.Close())
	}
	r.machine, r.observer, r.store = machine, observed, store
	return nil
}

// Close closes the store and waits for all of its tasks. A store that is closed stays so.
func (r *Rig) Close() error {
	if r.store == nil {
		return nil
	}
	err := r.store.close()
	r.machine.Root().Stop()
	r.store = nil
	return errors.Join(err, r.machine.Close())
}

// Restart closes the store, has the page cache forget its files, and opens it again: how long the opening took.
func (r *Rig) Restart() (time.Duration, error) {
	if err := r.Close(); err != nil {
		return 0, err
	}
	if err := dropCache(r.dir); err != nil {
		return 0, fmt.Errorf("drop the page cache of %s: %w", r.dir, err)
	}
	begun := time.Now()
	err := r.open()
	return time.Since(begun), err
}

// OpenFiles is how many files below the store's directory this process has open now.
func (r *Rig) OpenFiles() (count int) {
	const descriptors = "/proc/self/fd"
	entries, err := os.ReadDir(descriptors)
	below, failed := filepath.Abs(r.dir)
	if err != nil || failed != nil {
		return 0
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(descriptors, e.Name())); err == nil && strings.HasPrefix(target, below+"/") {
			count++
		}
	}
	return count
}

// observer is a host whose probe hears how large the groups are that the store writes.
type observer struct {
	host.Host
	mutex  sync.Mutex
	groups []int64 // bytes, in the order written
}

func (o *observer) Probe() host.Probe       { return o }
func (o *observer) Active() bool            { return false }
func (o *observer) Perhaps(host.Point) bool { return false }
func (o *observer) Sample() bool            { return false }

// Mark runs inside the engine's tasks, some of them on the path being measured: it stays cheap.
func (o *observer) Mark(e host.Event) {
	switch e.Name {
	case partition.PointWritten, commitlog.PointWritten, journal.PointGroupWritten:
	default:
		return
	}
	o.mutex.Lock()
	o.groups = append(o.groups, e.B)
	o.mutex.Unlock()
}

func (o *observer) takeGroups() []int64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	groups := o.groups
	o.groups = make([]int64, 0, cap(groups))
	return groups
}

// Image makes a directory with what a process would find that is killed now: links to the files of the store, which must be
// idle and must not be written to afterwards, except by closing it.
func (r *Rig) Image(to string) error {
	return filepath.WalkDir(r.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(r.dir, path)
		switch target := filepath.Join(to, below); {
		case err != nil:
			return err
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case e.Type().IsRegular():
			return os.Link(path, target)
		}
		return nil
	})
}

// DropCache makes the page cache forget every file below a directory.
func DropCache(dir string) error { return dropCache(dir) }
