package ledgers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// Defaults of a Local.
const (
	DefaultStartTimeout = 30 * time.Second
	registeredPoll      = 5 * time.Millisecond
)

// What the bookies of a bench are given by ApplySizes: five of them and their files fit on one machine.
const (
	journalFileBytes = 64 << 20
	writeCacheBytes  = 128 << 20
	logBytesMax      = 512 << 20
)

// ErrNoBookie says that a number is none of the cluster's bookies, or not in the state that was asked for.
var ErrNoBookie = errors.New("no such bookie")

// MetadataNode is the name of the metadata store's node, for WrapHost. Bookies are called by BookieNode.
const MetadataNode = "metadata"

// BookieNode is the name of a bookie's node, for WrapHost and for its directory.
func BookieNode(i int) string { return fmt.Sprintf("bookie-%d", i) }

// LocalOptions say what cluster to start.
type LocalOptions struct {
	Dir     string // each bookie has a directory below it, named after it; one Local uses it, once
	Bookies int
	// Unsynced acknowledges after the write and syncs at intervals: journalSyncData=false.
	Unsynced bool
	// Configure changes a bookie's settings, after Unsynced and ApplySizes. May be nil.
	Configure func(i int, c *bookienode.Config)
	// WrapHost stands between a node and its machine, to watch it, slow it or break it. May be nil. It is called at every
	// start of the node.
	WrapHost func(node string, h host.Host) host.Host
	// Logger takes the nodes' log lines. Nil: warnings go to stderr.
	Logger       *slog.Logger
	Seed         uint64        // of the nodes' random streams; zero draws one
	StartTimeout time.Duration // until a bookie is registered; zero: DefaultStartTimeout
}

// ApplySizes gives a bookie files and caches of which several fit on one machine.
func ApplySizes(c *bookienode.Config) {
	c.Store.Journal.FileBytes = journalFileBytes
	c.Store.WriteCacheBytesMax = writeCacheBytes
	c.Store.EntryLog.LogBytesMax = logBytesMax
}

// Local is a cluster in this process. Its methods may be called from any task.
type Local struct {
	options  LocalOptions
	store    *running // the metadata store
	metadata string   // its address
	session  *service.Client
	watcher  *oshost.Host // the session's

	mutex   sync.Mutex
	bookies []*localBookie
}

// localBookie is a bookie that runs or has run.
type localBookie struct {
	address string
	life    *running // nil while it is stopped
}

// running is a node that was started.
type running struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when err is set
	err   error
}

// StartLocal starts a metadata store and bookies, and returns when all are registered. The context bounds the start only.
func StartLocal(ctx context.Context, o LocalOptions) (*Local, error) {
	if o.Bookies < 1 {
		return nil, fmt.Errorf("a cluster of %d bookies: must have one", o.Bookies)
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	l := &Local{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Local) start(ctx context.Context) (err error) {
	if l.store, l.metadata, err = l.launch(MetadataNode, "", nil, serveMetadata); err != nil {
		return err
	}
	if l.watcher, err = oshost.New(oshost.Config{Seed: l.options.Seed, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		return fmt.Errorf("make a host to watch the cluster: %w", err)
	}
	if l.session, err = service.Connect(l.watcher, l.watcher.Root(), service.DefaultClientConfig(l.metadata)); err != nil {
		return fmt.Errorf("connect to the metadata store at %s: %w", l.metadata, err)
	}
	l.bookies = make([]*localBookie, l.options.Bookies)
	for i := range l.bookies {
		l.bookies[i] = &localBookie{}
		if err := l.startBookie(i); err != nil {
			return err
		}
	}
	for i := range l.bookies { // they start together: each fills a journal file first
		if err := l.awaitRegistered(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// Metadata is the address of the metadata store.
func (l *Local) Metadata() string { return l.metadata }

// Bookies are the addresses of all bookies, also of those that are stopped.
func (l *Local) Bookies() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	addresses := make([]string, len(l.bookies))
	for i, b := range l.bookies {
		addresses[i] = b.address
	}
	return addresses
}
