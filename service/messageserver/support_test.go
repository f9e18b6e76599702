package messageserver_test

import (
	"io"
	"log/slog"
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/messages"
	"lakebed/service/messageserver"
	"lakebed/service/servicetest"
)

// served is a store on this machine's disk with a server.
type served struct {
	*servicetest.Served
	store *commitlog.Store
}

// client talks to it over TCP.
func (s *served) client(t *testing.T) *messages.Client { return clientOf(t, s.TCP()) }

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
	store := smallStore()
	server := messageserver.DefaultConfig(store)
	if change != nil {
		change(&server)
	}
	h, err := oshost.New(oshost.Config{Logger: slog.New(slog.DiscardHandler), Volumes: map[string]string{commitlog.StoreVolume: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	s := &served{}
	s.Served = servicetest.Serve(t, h, server.Service.SocketMode, func(failing host.Host) (io.Closer, *service.Service, error) {
		if s.store, err = commitlog.Open(failing, h.Root(), store); err != nil {
			return nil, nil, err
		}
		made, err := messageserver.New(s.store, server)
		return s.store, made, err
	})
	return s
}
