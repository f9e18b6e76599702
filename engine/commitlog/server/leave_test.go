package server_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/client"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/commitlog/wire"
	"lakebed/engine/host"
)

// TestPullsOfAClientThatLeavesDoNotWait, on real sockets, though it has asked for more than may be under way at once: what it has
// asked for is no reason not to see that it has gone.
func TestPullsOfAClientThatLeavesDoNotWait(t *testing.T) {
	b := broker{store: storeConfig(), server: serverConfig(server.SendFile)}
	var at string
	var store *commitlog.Store
	b.seen = func(s *commitlog.Store, each *server.Server) { store, at = s, each.Addr() }
	onMachine(t, b, func(h host.Host, c *client.Client) error {
		if err := fill(c, 1); err != nil {
			return err
		}
		for _, asked := range []int{1, b.server.PullsMax, 10 * b.server.PullsMax} {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				return err
			}
			var all []byte
			for n := range asked {
				all = wire.AppendPull(all, wire.Sequence(n), &wire.Pull{Topic: []byte("orders"), Offset: 1, SuspendMillis: 15_000})
			}
			if _, err := conn.Write(all); err != nil {
				return err
			}
			waits := min(asked, b.server.PullsMax)
			if err := awaitSuspended(h, store, waits); err != nil {
				return fmt.Errorf("%d pulls: %w", asked, err)
			}
			if err := conn.Close(); err != nil {
				return err
			}
			if err := awaitSuspended(h, store, 0); err != nil {
				return fmt.Errorf("after a client with %d pulls has gone: %w", asked, err)
			}
		}
		return nil
	})
}

// awaitSuspended returns when so many pulls wait.
func awaitSuspended(h host.Host, store *commitlog.Store, want int) error {
	for range 1000 {
		if store.Stats().Suspended == want {
			return nil
		}
		h.Root().Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("%d pulls wait, not %d", store.Stats().Suspended, want)
}
