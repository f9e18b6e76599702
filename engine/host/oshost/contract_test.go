package oshost_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"

	"go.uber.org/goleak"

	"lakebed/engine/host"
	"lakebed/engine/host/hosttest"
	"lakebed/engine/host/oshost"
)

// TestMain fails the package if a goroutine outlives the tests: every task and watcher must have an end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func configIn(directory string) oshost.Config {
	return oshost.Config{
		Volumes: map[string]string{hosttest.Volume: directory},
		Logger:  quiet(),
	}
}

// TestRealMachineKeepsTheContractOfTheSeam runs the suite that both worlds pass on goroutines, ext4 and loopback TCP.
func TestRealMachineKeepsTheContractOfTheSeam(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Harness {
		t.Parallel()
		return hosttest.Harness{
			Lives: func(lives ...hosttest.Boot) error { return liveOn(t.TempDir(), lives) },
			Meet: func(server, client hosttest.Talk) error {
				return meet(freeAddress(t), t.TempDir(), t.TempDir(), server, client)
			},
		}
	})
}

func liveOn(directory string, lives []hosttest.Boot) error {
	for _, boot := range lives {
		if err := oshost.Run(context.Background(), configIn(directory), boot); err != nil {
			return err
		}
	}
	return nil
}

// meet runs the two nodes side by side, and stops the server when the client is done.
func meet(address, serverDirectory, clientDirectory string, server, client hosttest.Talk) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() {
		served <- oshost.Run(ctx, configIn(serverDirectory), func(h host.Host) error { return server(h, address) })
	}()
	err := oshost.Run(context.Background(), configIn(clientDirectory), func(h host.Host) error {
		return client(h, address)
	})
	stop()
	return errors.Join(err, <-served)
}

// freeAddress asks the machine for a port nobody uses. Another process may take it before the server does, which would
// fail the test and not hide anything.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
