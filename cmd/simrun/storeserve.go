package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/wire"
	"lakebed/trial/campaign"
)

// reachFlags say where a store is: in directories that this process opens, or behind a server.
type reachFlags struct {
	dirs   []string
	url    string
	socket string
	json   bool
	makes  bool // the command makes a store where there is none

	sort, other storeSort
	settings    []string // flags of a store that this process opens
}

// storeSort is a sort of store that a directory may hold.
type storeSort struct{ name, folder, command string }

var (
	segmentLog = storeSort{"segment log", "mstore", "simrun log"}
	messageLog = storeSort{"commit log", "commitlog", "simrun mq"}
)

func (s storeSort) in(dir string) bool {
	_, path := volumePath(dir, 0)
	info, err := os.Stat(filepath.Join(path, s.folder))
	return err == nil && info.IsDir()
}

// holds reports that no directory holds a store of this sort. To open one there would make it: beside a store of the other
// sort that is always a mistake, and elsewhere it is one of a command that only looks.
func (f *reachFlags) holds() error {
	sort, other := f.sort, f.other
	for _, dir := range f.dirs {
		if _, path := volumePath(dir, 0); isFile(path) {
			return fmt.Errorf("%w: %s is no directory: want one for a %s", campaign.ErrUsage, path, sort.name)
		}
	}
	for _, dir := range f.dirs {
		if sort.in(dir) {
			return nil
		}
	}
	for _, dir := range f.dirs {
		if other.in(dir) {
			return fmt.Errorf("%w: %s holds a %s, no %s: see %s", campaign.ErrUsage, dir, other.name, sort.name, other.command)
		}
	}
	if _, err := os.Stat(f.firstPath()); !f.makes && err == nil {
		return fmt.Errorf("%w: %s holds no %s: %s create TOPIC makes one", campaign.ErrUsage, f.firstPath(), sort.name, sort.command)
	}
	return nil // made, or the host says that there is no such directory
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func (f *reachFlags) firstPath() string {
	_, path := volumePath(f.dirs[0], 0)
	return path
}

func (f *reachFlags) add(c *cobra.Command, severalDirs bool) {
	flags := c.PersistentFlags()
	about := "directory of the store, which this process opens: no other may have it open"
	if severalDirs {
		about = "data directory of the store, which this process opens; may be given several times, always in the same order"
	}
	flags.StringArrayVar(&f.dirs, "dir", nil, about)
	flags.StringVar(&f.url, "url", "", "server to ask, http://HOST:PORT")
	flags.StringVar(&f.socket, "socket", "", "unix socket of the server to ask; of serve: the one to make")
	flags.BoolVar(&f.json, "json", false, "print JSON: one object, or one a line for each message")
	_ = c.MarkPersistentFlagDirname("dir")
}

// opener opens a store, makes its service, and says how the store is closed.
type opener func(host.Host, *slog.Logger) (*service.Service, func() error, error)

// openStore is what serve and commands with --dir open.
type openStore struct {
	volumes map[string]string
	open    opener
	logger  *slog.Logger
}

// serve takes what listen returns, opens a store, says so to opened, and serves the store there until the context ends: then requests
// under way get their answers, and the store is closed. An address that cannot be taken is found out first: a start may take long, and
// changes what is on disk. Who connects meanwhile waits.
func (o *openStore) serve(ctx context.Context, listen func() ([]net.Listener, error), opened func() error) error {
	listeners, err := listen()
	if err != nil {
		return err
	}
	served := false
	err = oshost.Run(context.WithoutCancel(ctx), oshost.Config{Volumes: o.volumes, Logger: o.logger}, func(h host.Host) error {
		s, closeStore, err := o.open(h, o.logger)
		if err != nil {
			return err
		}
		if err = opened(); err == nil {
			served = true
			err = s.Serve(ctx, listeners...)
		}
		if errors.Is(err, service.ErrDrainOverdue) {
			return err // a disk that hangs would hold the store's end, too: what is acknowledged is safe, and the process ends
		}
		err = errors.Join(err, closeStore())
		s.Join()
		return err
	})
	if !served {
		err = errors.Join(err, closeAll(listeners))
	}
	return err
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

// within serves a store to this process alone, while use runs.
func (o *openStore) within(ctx context.Context, use func(call.Config) error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	pipe, ready, ended := service.NewPipe(), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- o.serve(serving, func() ([]net.Listener, error) { return []net.Listener{pipe}, nil }, func() error {
			close(ready)
			return nil
		})
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	err := use(call.Config{Dial: func(context.Context) (net.Conn, error) { return pipe.Dial() }})
	stop()
	return errors.Join(err, <-ended)
}

// reach runs use with a way to the store that the flags name.
func (a *app) reach(c *cobra.Command, f *reachFlags, open func() (*openStore, error), use func(context.Context, call.Config) error) error {
	ctx, release := oshost.UntilTerminated(c.Context())
	defer release()
	var err error
	switch {
	case len(f.dirs) > 0 && (f.url != "" || f.socket != "") || f.url != "" && f.socket != "":
		return fmt.Errorf("%w: --dir, --url and --socket each name a store: want one of them", campaign.ErrUsage)
	case len(f.dirs) == 0 && f.url == "" && f.socket == "":
		return fmt.Errorf("%w: which store? want --dir DIR, --url http://HOST:PORT or --socket PATH", campaign.ErrUsage)
	case len(f.dirs) > 0:
		for _, dir := range f.dirs {
			_, path := volumePath(dir, 0)
			if !isDirectory(path) {
				return fmt.Errorf("%w: there is no directory %s; serve and create make one", campaign.ErrUsage, path)
			}
		}
		var o *openStore
		if o, err = open(); err == nil {
			err = o.within(ctx, func(config call.Config) error { return use(ctx, config) })
		}
	default:
		if err := service.CheckSocketPath(f.socket); err != nil {
			return asUsage(err)
		}
		for _, name := range f.settings {
			if c.Flags().Changed(name) {
				return fmt.Errorf("%w: --%s is a setting of a store that --dir opens: a server has been given its own", campaign.ErrUsage, name)
			}
		}
		err = use(ctx, call.Config{URL: f.url, Socket: f.socket})
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, wire.OutcomeUnknown) {
		return ctx.Err()
	}
	return f.explain(err)
}

// volumePath is the name and the path of the n-th data directory, which is given as PATH or NAME=PATH.
func volumePath(dir string, n int) (name, path string) {
	if name, path, named := strings.Cut(dir, "="); named && name != "" && !strings.ContainsRune(name, os.PathSeparator) {
		return name, path
	}
	return fmt.Sprintf("disk%d", n), dir
}

// explain sorts errors into exit codes and says what to do about them.
func (f *reachFlags) explain(err error) error {
	if err == nil || errors.Is(err, campaign.ErrUsage) {
		return err
	}
	if errors.Is(err, wire.WrongService) {
		return asUsage(fmt.Errorf("%w\nthe commands for a %s are: %s", err, f.other.name, f.other.command))
	}
	if errors.Is(err, wire.Foreign) {
		return asUsage(fmt.Errorf("%w\nwant the address of a server of a %s: see %s serve --help", err, f.sort.name, f.sort.command))
	}
	for _, class := range []wire.Class{wire.Invalid, wire.NotFound, wire.Exists, wire.TooLarge, wire.UnsupportedType, wire.NotAllowed, wire.Trimmed, wire.Beyond} {
		if errors.Is(err, class) && !errors.Is(err, wire.OutcomeUnknown) {
			return asUsage(err)
		}
	}
	switch {
	case errors.Is(err, wire.OutcomeUnknown):
		err = fmt.Errorf("%w\nit may be stored or not: look before you send it again", err)
	case errors.Is(err, wire.Unreachable):
		err = fmt.Errorf("%w\ndoes a server run there? see: %s serve --help", err, f.sort.command)
	case errors.Is(err, host.ErrLocked):
		err = fmt.Errorf("%w\nanother process has the store open: ask its server with --url or --socket", err)
	}
	return fmt.Errorf("%w: %w", campaign.ErrEnvironment, err)
}

// serveFlags are what both kinds of servers share.
type serveFlags struct {
	listen string
	logs   logFlags
	bounds service.Config
}

func (f *serveFlags) add(c *cobra.Command) {
	f.bounds = service.DefaultConfig()
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "", "TCP address to listen on, such as 127.0.0.1:8080; port 0 lets the machine choose")
	flags.Int64Var(&f.bounds.BodyBytesMax, "body-bytes", f.bounds.BodyBytesMax, "longest body of a request")
	flags.IntVar(&f.bounds.RequestsMax, "requests", f.bounds.RequestsMax, "requests under way at a time; others are refused")
	flags.IntVar(&f.bounds.WaitsMax, "waits", f.bounds.WaitsMax, "requests that wait for messages at a time; others are refused")
	flags.DurationVar(&f.bounds.DrainMax, "drain", f.bounds.DrainMax, "how long a stop waits for requests under way")
	f.logs.add(c)
}

// serveStore serves a store until the command is interrupted.
func (a *app) serveStore(c *cobra.Command, f *serveFlags, reach *reachFlags, what string, open func() (*openStore, error)) error {
	switch {
	case len(reach.dirs) == 0:
		return fmt.Errorf("%w: serve needs --dir, the directory that it keeps everything in", campaign.ErrUsage)
	case f.listen == "" && reach.socket == "":
		return fmt.Errorf("%w: serve needs --listen HOST:PORT, --socket PATH, or both", campaign.ErrUsage)
	case reach.url != "":
		return fmt.Errorf("%w: --url asks a server, and serve is one: want --listen", campaign.ErrUsage)
	}
	if f.listen != "" {
		if err := checkAddress("listen", f.listen, true); err != nil {
			return err
		}
	}
	if err := service.CheckSocketPath(reach.socket); err != nil {
		return asUsage(err)
	}
	if err := f.bounds.Validate(); err != nil {
		return asUsage(err)
	}
	o, err := open()
	if err != nil {
		return asUsage(err)
	}
	if o.logger, err = f.logs.logger(a); err != nil {
		return err
	}
	var told string
	err = a.live(c, func(ctx context.Context) error {
		return o.serve(ctx, func() (listeners []net.Listener, err error) {
			listeners, told, err = listenFor(f, reach)
			return listeners, err
		}, func() error {
			_, err := fmt.Fprintf(a.out, "serving %s at%s\n", what, told)
			return err
		})
	})
	if err == nil {
		fmt.Fprintf(a.out, "stopped %s: every request has its answer, and the store is closed\n", what)
	}
	return err
}

// listenFor takes the addresses, and says what they are.
func listenFor(f *serveFlags, reach *reachFlags) (listeners []net.Listener, told string, err error) {
	if f.listen != "" {
		l, err := service.Listen(f.listen)
		if err != nil {
			return nil, "", err
		}
		listeners = append(listeners, l)
		told += " http://" + l.Addr().String()
	}
	if reach.socket != "" {
		l, err := reach.listenSocket(f.bounds.SocketMode)
		if err != nil {
			return nil, "", errors.Join(err, closeAll(listeners))
		}
		listeners = append(listeners, l)
		told += " socket " + reach.socket
	}
	return listeners, told, nil
}

// listenSocket makes the socket, and before that the directory of a new store, if it is to lie in there.
func (f *reachFlags) listenSocket(mode fs.FileMode) (net.Listener, error) {
	for i, dir := range f.dirs {
		if _, path := volumePath(dir, i); filepath.Clean(path) == filepath.Dir(f.socket) {
			if err := os.Mkdir(path, 0o755); err != nil && !isDirectory(path) {
				return nil, err
			}
		}
	}
	return service.ListenSocket(f.socket, mode)
}

// errorLog holds errors only, for commands that open a store for a moment.
func (a *app) errorLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError}))
}

// oneName is for commands that take one name.
func oneName(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, arguments []string) error {
		if len(arguments) != 1 {
			return fmt.Errorf("%s takes %s, not %d arguments", c.CommandPath(), what, len(arguments))
		}
		return nil
	}
}
