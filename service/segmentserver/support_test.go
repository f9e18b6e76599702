package segmentserver_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/segments"
	"lakebed/service/segmentserver"
)

// served is a store on this machine's disk with a server, which a test may stop before its end.
type served struct {
	store    *seglog.Store
	service  *service.Service
	address  string // of TCP
	socket   string
	pipe     *service.Pipe
	syncFail *atomic.Bool // syncs of the store fail from now on
	stop     func() error // stops server and store, in good order; may be called again
}

// client talks to it over TCP.
func (s *served) client(t *testing.T) *segments.Client {
	return clientOf(t, call.Config{URL: "http://" + s.address})
}

func clientOf(t *testing.T, config call.Config) *segments.Client {
	t.Helper()
	c, err := segments.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts a store and its server. Settings may be changed first.
func serve(t *testing.T, change func(*seglog.Config, *segmentserver.Config)) *served {
	t.Helper()
	dir := t.TempDir()
	store, server := seglog.DefaultConfig(), segmentserver.DefaultConfig()
	store.Volumes, server.Volumes = []string{"disk0", "disk1"}, 2
	store.FreeBytesMin = 0
	store.Partition.SegmentBytes = 16 << 20
	if change != nil {
		change(&store, &server)
	}
	h, err := oshost.New(oshost.Config{Logger: slog.New(slog.DiscardHandler), Volumes: map[string]string{"disk0": filepath.Join(dir, "a"), "disk1": filepath.Join(dir, "b")}})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{socket: filepath.Join(dir, "s"), pipe: service.NewPipe(), syncFail: &atomic.Bool{}}
	if s.store, err = seglog.Open(&failing{h, s.syncFail}, h.Root(), store); err != nil {
		t.Fatal(err)
	}
	if s.service, err = segmentserver.New(s.store, server); err != nil {
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
}

func (f *failing) Disk(volume string) (host.Dir, error) {
	d, err := f.Host.Disk(volume)
	return &failingDir{d, f.fail}, err
}

type failingDir struct {
	host.Dir
	fail *atomic.Bool
}

func (d *failingDir) Sub(name string) (host.Dir, error) {
	sub, err := d.Dir.Sub(name)
	return &failingDir{sub, d.fail}, err
}

func (d *failingDir) Create(name string) (host.File, error) {
	f, err := d.Dir.Create(name)
	return &failingFile{f, d.fail}, err
}

func (d *failingDir) Open(name string) (host.File, error) {
	f, err := d.Dir.Open(name)
	return &failingFile{f, d.fail}, err
}

type failingFile struct {
	host.File
	fail *atomic.Bool
}

func (f *failingFile) Sync() error {
	if f.fail.Load() {
		return errors.New("the device does not answer")
	}
	return f.File.Sync()
}

// within is a context that a test which hangs does not outlive.
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
