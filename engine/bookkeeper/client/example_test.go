package client_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// A whole cluster in one process: a metadata server, three bookies with two volumes each, and a client that writes a
// ledger, reads it while it is open, and takes it over as another client would after the writer has died.
func Example() {
	data, err := os.MkdirTemp("", "lakebed-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	cluster, stop := context.WithCancel(context.Background())
	var processes sync.WaitGroup
	run := func(volumes map[string]string, boot func(host.Host) error) {
		processes.Go(func() {
			if err := oshost.Run(cluster, oshost.Config{Volumes: volumes}, boot); err != nil {
				log.Fatal(err) // the client would wait for it in vain
			}
		})
	}
	store := freeAddress()
	run(nil, serveMetadata(store))
	for i := range 3 {
		dir := filepath.Join(data, fmt.Sprint("bookie-", i))
		run(map[string]string{
			bookie.JournalVolume: filepath.Join(dir, "journal"), bookie.LedgerVolume: filepath.Join(dir, "ledger"),
		}, serveBookie(freeAddress(), store))
	}
	if err := oshost.Run(context.Background(), oshost.Config{}, useLedger(store)); err != nil {
		log.Fatal(err)
	}
	stop()
	processes.Wait()
	// Output:
	// appended 3 entries, the last one confirmed is 2
	// 0 "first"
	// 1 "second"
	// the recovered ledger ends at 2, with 16 bytes
	// the old writer: fenced
}

// freeAddress is an address that nobody listens on: one that was chosen beforehand may be the end of somebody's connection.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func serveMetadata(address string) func(host.Host) error {
	return func(h host.Host) error {
		listener, err := h.Net().Listen(address)
		if err != nil {
			return err
		}
		server, err := service.Serve(h, h.Root(), listener, service.DefaultServerConfig())
		if err != nil {
			return err
		}
		host.AwaitStop(h.Root())
		server.Close()
		return nil
	}
}

func serveBookie(address, metadata string) func(host.Host) error {
	return func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(metadata))
		if err != nil {
			return err
		}
		defer store.Close()
		config := node.DefaultConfig()
		config.Store.BookieID = address
		config.Initialize = true // the first bookie of a new cluster founds it
		return node.Run(h, store, config)
	}
}

func useLedger(metadata string) func(host.Host) error {
	return func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(metadata))
		if err != nil {
			return err
		}
		defer store.Close()
		return useStore(h, store)
	}
}

func useStore(h host.Host, store metadata.Store) error {
	c, err := client.New(h, h.Root(), store, client.DefaultConfig())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AwaitBookies(3, nil); err != nil {
		return err
	}
	w, err := c.Create(client.DefaultCreateOptions()) // three bookies, three copies, acknowledged when two have them
	if err != nil {
		return err
	}
	for _, text := range []string{"first", "second", "third"} {
		if _, err := w.AppendOne([]byte(text)); err != nil {
			return err
		}
	}
	fmt.Printf("appended 3 entries, the last one confirmed is %d\n", w.LastAddConfirmed())
	if err := readOpen(c, w); err != nil {
		return err
	}
	r, err := c.Open(w.ID(), client.OpenOptions{}) // with recovery: whoever writes it is shut out
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Printf("the recovered ledger ends at %d, with %d bytes\n", r.LastAddConfirmed(), r.Length())
	if _, err := w.AppendOne([]byte("late")); err != nil {
		fmt.Println("the old writer: fenced")
	}
	w.Abandon()
	return nil
}

// readOpen reads what a tailing reader may know: the LAC travels with the next entry, so the last one is not seen yet.
func readOpen(c *client.Client, w *client.Writer) error {
	r, err := c.OpenNoRecovery(w.ID(), client.OpenOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	last, err := r.ReadLastConfirmed()
	if err != nil {
		return err
	}
	entries, err := r.Read(0, last)
	if err != nil {
		return err
	}
	defer entries.Release()
	for _, e := range entries.List {
		fmt.Printf("%d %q\n", e.ID, e.Payload)
	}
	return nil
}
