package client_test

import (
	"fmt"
	"testing"
	"time"

	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/bookkeeper/wire"
	"lakebed/engine/host"
	"lakebed/sim"
)

const oldBookie ledger.BookieID = "old:3181"

// serveOldBookie has ten entries of ledger 1, and hangs up at batch reads, as bookies did before they knew them.
func serveOldBookie(h host.Host) error {
	listener, err := h.Net().Listen(string(oldBookie))
	if err != nil {
		return err
	}
	digester, err := ledger.NewDigester(ledger.CRC32C, nil)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		h.Root().Go("serve", func() {
			in := wire.NewInput(h.Memory(), 4096, wire.FrameBytesMax)
			defer in.Release()
			defer conn.Close()
			for answerOld(conn, in, digester) {
			}
		})
	}
}

func answerOld(conn host.Conn, in *wire.Input, digester *ledger.Digester) bool {
	packet, err := in.Next()
	if err != nil || packet == nil && in.Fill(conn) != nil {
		return false
	}
	if packet == nil {
		return true
	}
	var r wire.Request
	if r.Decode(packet) != nil || r.Operation == wire.BatchRead {
		return false
	}
	body := make([]byte, digester.Overhead())
	ledger.PutHeader(body, r.Ledger, r.Entry, r.Entry-1, 1)
	body = append(body, payload(r.Entry)...)
	digester.Seal(body)
	response := wire.Response{Version: r.Version, Operation: r.Operation, Ledger: r.Ledger, Entry: r.Entry, Body: body}
	return conn.WriteBuffers([][]byte{response.Append(nil)}) == nil
}

// TestBookiesThatHangUpAtBatchReadsAreReadOneByOne, and asked for a batch again only after a while.
func TestBookiesThatHangUpAtBatchReadsAreReadOneByOne(t *testing.T) {
	c := newCluster(t, 1, sim.LAN(), 1)
	old := c.world.NewNode("old")
	old.SetDaemon(true)
	old.Start(serveOldBookie)
	c.run(func(h host.Host, one *client.Client) error {
		session, err := service.Connect(h, h.Root(), service.DefaultClientConfig(storeAddr))
		if err != nil {
			return err
		}
		defer session.Close()
		m := ledger.Metadata{
			Quorum: ledger.Quorum{Ensemble: 1, Write: 1, Ack: 1}, State: ledger.Closed, LastEntry: 9, Digest: ledger.CRC32C,
			Fragments: []ledger.Fragment{{Ensemble: []ledger.BookieID{oldBookie}}},
		}
		if _, err := metadata.NewLedgers(h, h.Root(), session, metadata.DefaultLedgersConfig()).CreateAt(1, m, nil); err != nil {
			return err
		}
		r, err := one.Open(1, client.OpenOptions{})
		if err != nil {
			return err
		}
		entries, err := r.Read(3, 3)
		if err := holds(entries, err, 3, 3); err != nil {
			return err
		}
		h.Root().Sleep(5 * time.Second) // the connection has lasted
		for range 20 {
			entries, err := r.BatchRead(0, 10, 0)
			if err := holds(entries, err, 0, 9); err != nil {
				return err
			}
		}
		if n := c.visits(client.PointBatchPaused); n != 1 {
			return fmt.Errorf("%d batch reads cost a connection", n)
		}
		h.Root().Sleep(2 * time.Minute)
		entries, err = r.Read(0, 9)
		if err := holds(entries, err, 0, 9); err != nil {
			return err
		}
		if n := c.visits(client.PointBatchPaused); n != 2 {
			return fmt.Errorf("%d batch reads cost a connection, after a while", n)
		}
		return nil
	})
}
