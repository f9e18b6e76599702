package messageserver_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/messages"
	"lakebed/service/messageserver"
)

// served is a store on this machine's disk with a server, which a test may stop before its end.
type served struct {
	store    *commitlog.Store
	service  *service.Service
	address  string
	socket   string
	pipe     *service.Pipe
	syncFail *atomic.Bool // syncs of the store fail from now on
	full     *atomic.Bool // no log file can be made from now on
	stop     func() error
}

func (s *served) client(t *testing.T) *messages.Client {
	return clientOf(t, call.Config{URL: "http://" + s.address})
}

func clientOf(t *testing.T, config call.Config) *messages.Client {
	t.Helper()
	c, err := messages.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// smallStore needs little disk.
func smallStore() commitlog.Config {
	store := commitlog.DefaultConfig()
	store.FileBytes, store.BodyBytesMax = 4<<20, 1<<20
	store.IndexSlots, store.IndexEntries, store.QueueFileUnits = 100, 1000, 1000
	store.AckAfterDispatch, store.AutoCreateTopic = true, false
	store.Retention.DiskMaxUsed, store.Retention.DiskForcibly, store.Retention.DiskWarning = 1, 1, 1 // whatever disk this is
	return store
}

// serve starts a store and its server. Bounds may be changed first.
func serve(t *testing.T, change func(*messageserver.Config)) *served {
	t.Helper()
	dir := t.TempDir()
	store := smallStore()
	server := messageserver.DefaultConfig(store)
	if change != nil {
		change(&server)
	}
	h, err := oshost.New(oshost.Config{Logger: slog.New(slog.DiscardHandler), Volumes: map[string]string{commitlog.StoreVolume: filepath.Join(dir, "store")}})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{socket: filepath.Join(dir, "s"), pipe: service.NewPipe(), syncFail: &atomic.Bool{}, full: &atomic.Bool{}}
	if s.store, err = commitlog.Open(&failing{h, s.syncFail, s.full}, h.Root(), store); err != nil {
		t.Fatal(err)
	}
	if s.service, err = messageserver.New(s.store, server); err != nil {
		t.Fatal(err)
	}
	tcp, err := service.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := service.ListenSocket(s.socket, server.Service.SocketMode)
	if err != nil {
		t.Fatal(err)
	}
	s.address = tcp.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.service.Serve(ctx, tcp, socket, s.pipe) }()
	stopped := false
	s.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		err := <-ended
		closed := s.store.Close()
		if s.syncFail.Load() {
			closed = nil // it says so
		}
		s.service.Join()
		h.Root().Stop()
		return errors.Join(err, closed, h.Close())
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// failing is a host whose syncs fail when told to.
type failing struct {
	host.Host
	fail *atomic.Bool
	full *atomic.Bool
}

func (f *failing) Disk(volume string) (host.Dir, error) {
	d, err := f.Host.Disk(volume)
	return &failingDir{d, f.fail, f.full}, err
}

type failingDir struct {
	host.Dir
	fail *atomic.Bool
	full *atomic.Bool
}

func (d *failingDir) Sub(name string) (host.Dir, error) {
	sub, err := d.Dir.Sub(name)
	return &failingDir{sub, d.fail, d.full}, err
}

func (d *failingDir) Create(name string) (host.File, error) {
	f, err := d.Dir.Create(name)
	return &failingFile{f, d.fail, d.full}, err
}

func (d *failingDir) Open(name string) (host.File, error) {
	f, err := d.Dir.Open(name)
	return &failingFile{f, d.fail, d.full}, err
}

type failingFile struct {
	host.File
	fail *atomic.Bool
	full *atomic.Bool
}

// Allocate has no room when told to.
func (f *failingFile) Allocate(offset, length int64) error {
	if f.full.Load() {
		return host.ErrNoSpace
	}
	return f.File.Allocate(offset, length)
}

func (f *failingFile) Sync() error {
	if f.fail.Load() {
		return errors.New("the device does not answer")
	}
	return f.File.Sync()
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// ways are all the ways to reach a server.
func (s *served) ways() map[string]call.Config {
	return map[string]call.Config{
		"tcp": {URL: "http://" + s.address}, "socket": {Socket: s.socket},
		"process": {Dial: func(context.Context) (net.Conn, error) { return s.pipe.Dial() }},
	}
}
