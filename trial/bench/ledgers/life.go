package ledgers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/journal"
	bookienode "lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// boot is a node's program: it serves at the listener until its root group stops.
type boot func(h host.Host, listener host.Listener) error

// launch starts a node in a goroutine of its own and returns once it listens. An empty address is chosen.
func (l *Local) launch(name, address string, volumes map[string]string, program boot) (*running, string, error) {
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, ended: make(chan struct{})}
	listens := make(chan string, 1)
	go func() {
		defer close(r.ended)
		defer stop()
		config := oshost.Config{Volumes: volumes, Seed: seedOf(l.options.Seed, name), Logger: l.options.Logger.With("node", name)}
		r.err = oshost.Run(ctx, config, func(machine host.Host) error {
			listener, err := listen(machine.Net(), address)
			if err != nil {
				return err
			}
			listens <- listener.Addr()
			h := machine
			if l.options.WrapHost != nil {
				h = l.options.WrapHost(name, machine)
			}
			return program(h, listener)
		})
	}()
	select {
	case address = <-listens:
		return r, address, nil
	case <-r.ended:
		return nil, "", fmt.Errorf("start %s: %w", name, r.err)
	}
}

// seedOf gives each node streams of its own.
func seedOf(seed uint64, name string) uint64 {
	if seed == 0 {
		return 0
	}
	for _, c := range []byte(name) {
		seed = seed*31 + uint64(c)
	}
	return max(seed, 1)
}

// end stops a node and waits for it.
func (r *running) end() error {
	r.stop()
	<-r.ended
	return r.err
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

// serveBookie is a bookie's process, as simrun bookie runs it.
func (l *Local) serveBookie(i int) boot {
	return func(h host.Host, listener host.Listener) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(l.metadata))
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		at := &prepared{Host: h, listener: listener}
		err = bookienode.Run(at, store, l.bookieConfig(i, listener.Addr()))
		return errors.Join(err, at.abandon(), store.Close())
	}
}

func (l *Local) bookieConfig(i int, address string) bookienode.Config {
	c := bookienode.DefaultConfig()
	ApplySizes(&c)
	if l.options.Unsynced {
		c.Store.Journal.Sync = journal.SyncInterval
	}
	if l.options.Configure != nil {
		l.options.Configure(i, &c)
	}
	c.Initialize = true // the store is as new as the directories
	c.Store.BookieID = address
	return c
}

// startBookie starts a bookie, at its old address if it has one. The caller holds the mutex, or is alone.
func (l *Local) startBookie(i int) error {
	b, name := l.bookies[i], BookieNode(i)
	dir := filepath.Join(l.options.Dir, name)
	volumes := map[string]string{
		bookie.JournalVolume: filepath.Join(dir, bookie.JournalVolume), bookie.LedgerVolume: filepath.Join(dir, bookie.LedgerVolume),
	}
	life, address, err := l.launch(name, b.address, volumes, l.serveBookie(i))
	if err != nil {
		return err
	}
	b.life, b.address = life, address
	return nil
}

// awaitRegistered returns once clients find a bookie.
func (l *Local) awaitRegistered(ctx context.Context, i int) error {
	l.mutex.Lock()
	b, life := l.bookies[i], l.bookies[i].life
	l.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.options.StartTimeout)
	defer cancel()
	scope, release := l.watcher.FromContext(ctx)
	defer release()
	key := metadata.Layout{Root: metadata.DefaultRoot}.WritableKey(ledger.BookieID(b.address))
	for {
		_, err := l.session.Get(key, scope)
		if err == nil {
			return nil
		}
		select {
		case <-life.ended:
			return fmt.Errorf("%s ended while it started: %w", BookieNode(i), life.err)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s at %s to register: %w (%w)", BookieNode(i), b.address, ctx.Err(), err)
		case <-time.After(registeredPoll):
		}
	}
}

// StopBookie ends a bookie in good order, as SIGTERM does, and waits for it. The error is how the bookie ended.
func (l *Local) StopBookie(i int) error {
	l.mutex.Lock()
	if i < 0 || i >= len(l.bookies) || l.bookies[i].life == nil {
		l.mutex.Unlock()
		return fmt.Errorf("stop bookie %d: %w, or it is stopped", i, ErrNoBookie)
	}
	life := l.bookies[i].life
	l.bookies[i].life = nil
	l.mutex.Unlock()
	return life.end()
}

// StartBookie starts a bookie that was stopped, at its address and with its directories, and returns when clients find it.
func (l *Local) StartBookie(ctx context.Context, i int) error {
	l.mutex.Lock()
	if i < 0 || i >= len(l.bookies) || l.bookies[i].life != nil {
		l.mutex.Unlock()
		return fmt.Errorf("start bookie %d: %w, or it runs", i, ErrNoBookie)
	}
	err := l.startBookie(i)
	l.mutex.Unlock()
	if err != nil {
		return err
	}
	return l.awaitRegistered(ctx, i)
}

// Ended is closed when a bookie has ended, whether it was asked to or not. Nil for one that is stopped already.
func (l *Local) Ended(i int) <-chan struct{} {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if i < 0 || i >= len(l.bookies) || l.bookies[i].life == nil {
		return nil
	}
	return l.bookies[i].life.ended
}

// Close ends all nodes in good order: bookies together, then the metadata store. It may be called again.
func (l *Local) Close() error {
	l.mutex.Lock()
	var lives []*running
	for _, b := range l.bookies {
		if b != nil && b.life != nil {
			b.life.stop()
			lives = append(lives, b.life)
			b.life = nil
		}
	}
	l.mutex.Unlock()
	var failed error
	for _, life := range lives {
		failed = errors.Join(failed, life.end())
	}
	if l.session != nil {
		failed = errors.Join(failed, l.session.Close())
		l.session = nil
	}
	if l.watcher != nil {
		failed = errors.Join(failed, l.watcher.Close())
		l.watcher = nil
	}
	if l.store != nil {
		failed = errors.Join(failed, l.store.end())
		l.store = nil
	}
	return failed
}
