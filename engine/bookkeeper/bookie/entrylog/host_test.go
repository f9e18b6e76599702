package entrylog

import (
	"io"
	"log/slog"
	"testing"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

func newTestHost(t *testing.T) host.Host {
	t.Helper()
	h, err := oshost.New(oshost.Config{
		Volumes: map[string]string{"ledger": t.TempDir()}, Seed: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
