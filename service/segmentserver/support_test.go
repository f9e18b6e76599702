package segmentserver_test

import (
	"io"
	"log/slog"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/segments"
	"lakebed/service/segmentserver"
	"lakebed/service/servicetest"
)

// served is a store on this machine's disk with a server.
type served struct {
	*servicetest.Served
	store *seglog.Store
}

// client talks to it over TCP.
func (s *served) client(t *testing.T) *segments.Client { return clientOf(t, s.TCP()) }

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
	store, server := seglog.DefaultConfig(), segmentserver.DefaultConfig()
	store.Volumes, server.Volumes = []string{"disk0", "disk1"}, 2
	store.FreeBytesMin = 0
	store.Partition.SegmentBytes = 16 << 20
	if change != nil {
		change(&store, &server)
	}
	h, err := oshost.New(oshost.Config{Logger: slog.New(slog.DiscardHandler), Volumes: map[string]string{"disk0": t.TempDir(), "disk1": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{}
	s.Served = servicetest.Serve(t, h, server.Service.SocketMode, func(failing host.Host) (io.Closer, *service.Service, error) {
		if s.store, err = seglog.Open(failing, h.Root(), store); err != nil {
			return nil, nil, err
		}
		made, err := segmentserver.New(s.store, server)
		return s.store, made, err
	})
	return s
}
