package lakebed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// LocalOptions say what StartLocal starts. The zero value is three bookies in a directory of their own.
type LocalOptions struct {
	// Dir holds the bookies' files: a directory that is empty or does not exist. Default: one below os.TempDir, which Close
	// removes.
	Dir string
	// Bookies is how many there are. Default 3.
	Bookies int
	// NoSync has bookies acknowledge what is written and not yet synced. Tests are faster, and crashes of the machine lose
	// data.
	NoSync bool
	// Logger receives what metadata server and bookies say. Default slog.Default.
	Logger *slog.Logger
}

// Local is a whole cluster in this process, over the loopback interface: for tests, and for trying out.
type Local struct {
	options   LocalOptions
	temporary bool
	metadata  *localNode
	bookies   []*localBookie
	stores    Config // for Open

	once    sync.Once
	problem error
}

// localBookie is a bookie that may be stopped and started again.
type localBookie struct {
	mutex   sync.Mutex
	node    *localNode // nil while it is stopped
	address string
	dir     string
}

// localNode is one node with a host of its own.
type localNode struct {
	address string
	stop    context.CancelFunc
	ended   chan struct{}
	problem error // valid when it has ended
}

// Sizes of a local bookie, far below the defaults: files are filled with zeros ahead of use.
const (
	localJournalBytes = 32 << 20
	localCacheBytes   = 64 << 20
)

// StartLocal starts a metadata server and bookies, and returns when all of them serve. The context bounds the start alone;
// the owner calls Close.
//
// The metadata are in memory and gone with the process; without them the bookies' files mean nothing, and another StartLocal
// refuses the directory.
func StartLocal(ctx context.Context, o LocalOptions) (*Local, error) {
	o.Bookies = orDefault(o.Bookies, 3)
	if o.Bookies < 0 {
		return nil, fmt.Errorf("start a local store of %d bookies: %w", o.Bookies, ErrInvalid)
	}
	l := &Local{options: o}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a local store: %w", err), l.Close())
	}
	return l, nil
}

func (l *Local) start(ctx context.Context) error {
	if err := l.settleDir(); err != nil {
		return err
	}
	var err error
	if l.metadata, err = l.run(ctx, nil, "127.0.0.1:0", serveMetadata); err != nil {
		return fmt.Errorf("metadata server: %w", err)
	}
	l.stores = Config{Metadata: []string{l.metadata.address}, Logger: l.options.Logger}
	for i := range l.options.Bookies {
		b := &localBookie{address: "127.0.0.1:0", dir: filepath.Join(l.options.Dir, fmt.Sprint("bookie-", i))}
		l.bookies = append(l.bookies, b)
		if err := l.StartBookie(ctx, i); err != nil {
			return err
		}
	}
	s, err := l.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.AwaitBookies(ctx, l.options.Bookies), s.Close())
}

// settleDir sees to it that there is an empty directory.
func (l *Local) settleDir() (err error) {
	if l.options.Dir == "" {
		l.options.Dir, err = os.MkdirTemp("", "lakebed-")
		l.temporary = err == nil
		return err
	}
	found, err := os.ReadDir(l.options.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.MkdirAll(l.options.Dir, 0o755)
	case err != nil:
		return err
	case len(found) > 0:
		return fmt.Errorf("%s is not empty: what a local store leaves there is of no use to another one, whose metadata are new: %w",
			l.options.Dir, ErrInvalid)
	}
	return nil
}

// Metadata returns the addresses of the metadata server, for Config.Metadata.
func (l *Local) Metadata() []string { return []string{l.metadata.address} }

// Open opens a store of the cluster with default settings. The caller closes it before the Local.
func (l *Local) Open(ctx context.Context) (*Store, error) { return Open(ctx, l.stores) }

// Bookies are the addresses of the bookies, by number.
func (l *Local) Bookies() []BookieID {
	var all []BookieID
	for _, b := range l.bookies {
		b.mutex.Lock()
		all = append(all, BookieID(b.address))
		b.mutex.Unlock()
	}
	return all
}

// StopBookie stops a bookie as SIGTERM would, and returns when it has ended. Its files stay. A bookie that is stopped already
// stays so.
func (l *Local) StopBookie(i int) error {
	if i < 0 || i >= len(l.bookies) {
		return fmt.Errorf("stop bookie %d of %d: %w", i, len(l.bookies), ErrInvalid)
	}
	b := l.bookies[i]
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.node == nil {
		return nil
	}
	n := b.node
	b.node = nil
	return n.end()
}

// StartBookie starts a bookie that was stopped, with its address and its files, and returns when it listens.
// Store.AwaitBookies tells when the metadata list it. A bookie that runs stays as it is.
func (l *Local) StartBookie(ctx context.Context, i int) error {
	if i < 0 || i >= len(l.bookies) {
		return fmt.Errorf("start bookie %d of %d: %w", i, len(l.bookies), ErrInvalid)
	}
	b := l.bookies[i]
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.node != nil && !b.node.hasEnded() {
		return nil
	}
	volumes := map[string]string{
		bookie.JournalVolume: filepath.Join(b.dir, "journal"), bookie.LedgerVolume: filepath.Join(b.dir, "ledger"),
	}
	n, err := l.run(ctx, volumes, b.address, l.serveBookie)
	if err != nil {
		return fmt.Errorf("start bookie %d in %s: %w", i, b.dir, err)
	}
	b.node, b.address = n, n.address
	return nil
}

// Close stops bookies and metadata server, and returns when nothing of them is left. It may be called again. The error tells
// of nodes that did not end well.
func (l *Local) Close() error {
	l.once.Do(func() {
		problems := make([]error, len(l.bookies))
		var stopping sync.WaitGroup
		for i := range l.bookies {
			stopping.Go(func() { problems[i] = l.StopBookie(i) })
		}
		stopping.Wait()
		if l.metadata != nil {
			problems = append(problems, l.metadata.end())
		}
		if l.temporary {
			problems = append(problems, os.RemoveAll(l.options.Dir))
		}
		l.problem = errors.Join(problems...)
	})
	return l.problem
}

// serving is what a node does once it listens.
type serving func(host.Host, host.Listener) error

// run starts a node that serves at an address, and returns when it listens there. Port 0 is any that is free: it is taken
// once and for all before the node learns of it, since a bookie's address is its identity.
func (l *Local) run(ctx context.Context, volumes map[string]string, address string, serve serving) (*localNode, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	n := &localNode{stop: stop, ended: make(chan struct{})}
	listening := make(chan struct{})
	go func() {
		defer close(n.ended)
		n.problem = oshost.Run(life, oshost.Config{Volumes: volumes, Logger: l.options.Logger}, func(h host.Host) error {
			listener, err := h.Net().Listen(address)
			if err != nil {
				return err
			}
			n.address = listener.Addr()
			close(listening)
			return serve(h, listener)
		})
	}()
	select {
	case <-listening:
		return n, nil
	case <-n.ended:
		stop()
		return nil, n.problem
	case <-ctx.Done():
		return nil, errors.Join(ended(ctx), n.end())
	}
}

func (n *localNode) end() error {
	n.stop()
	<-n.ended
	return n.problem
}

func (n *localNode) hasEnded() bool {
	select {
	case <-n.ended:
		return true
	default:
		return false
	}
}

func serveMetadata(h host.Host, listener host.Listener) error {
	server, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	host.AwaitStop(h.Root())
	server.Close()
	return nil
}

func (l *Local) serveBookie(h host.Host, listener host.Listener) error {
	taken := &listeningHost{Host: h, listener: listener}
	defer taken.forget()
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(l.metadata.address))
	if err != nil {
		return err
	}
	defer store.Close()
	config := node.DefaultConfig()
	config.Store.BookieID = listener.Addr()
	config.Store.Journal.FileBytes = localJournalBytes
	config.Store.WriteCacheBytesMax = localCacheBytes
	if l.options.NoSync {
		config.Store.Journal.Sync = journal.SyncNever
	}
	config.DiskUsageThreshold, config.DiskUsageLowWaterMark = 1, 1 // a full disk of the developer's is not what is tried here
	config.Initialize = true                                       // the first bookie of a new cluster founds it
	return node.Run(taken, store, config)
}

// listeningHost is a host on which somebody listens already.
type listeningHost struct {
	host.Host
	mutex    sync.Mutex
	listener host.Listener
}

func (h *listeningHost) Net() host.Net { return listeningNet{h.Host.Net(), h} }

// forget closes the listener if the node ended before it asked for it.
func (h *listeningHost) forget() {
	if l := h.take(); l != nil {
		_ = l.Close() // it is not closed yet, and has no other way to fail
	}
}

func (h *listeningHost) take() host.Listener {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	l := h.listener
	h.listener = nil
	return l
}

type listeningNet struct {
	host.Net
	host *listeningHost
}

// Listen hands out the listener that is there.
func (n listeningNet) Listen(address string) (host.Listener, error) {
	if l := n.host.take(); l != nil {
		return l, nil
	}
	return n.Net.Listen(address)
}
