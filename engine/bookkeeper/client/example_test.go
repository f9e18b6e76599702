package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"lakebed/engine/bookkeeper/bookie"
	"lakebed/engine/bookkeeper/bookie/node"
	"lakebed/engine/bookkeeper/client"
	"lakebed/engine/bookkeeper/metadata/service"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

const exampleStore = "127.0.0.1:42181"

// A whole cluster in one process: a metadata server, three bookies with two volumes each, and a client that writes a
// ledger, reads it while it is open, and takes it over as another client would after the writer has died.
func Example() {
	data, err := os.MkdirTemp("", "lakebed-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(data)
	cluster, stop := context.WithCancel(context.Background())
	ended := make(chan error, 4)
	run := func(volumes map[string]string, boot func(host.Host) error) {
		go func() { ended <- oshost.Run(cluster, oshost.Config{Volumes: volumes}, boot) }()
	}
	run(nil, serveMetadata)
	for i := range 3 {
		dir := filepath.Join(data, fmt.Sprint("bookie-", i))
		run(map[string]string{
			bookie.JournalVolume: filepath.Join(dir, "journal"), bookie.LedgerVolume: filepath.Join(dir, "ledger"),
		}, serveBookie(fmt.Sprintf("127.0.0.1:%d", 43181+i)))
	}
	if err := oshost.Run(context.Background(), oshost.Config{}, useLedger); err != nil {
		log.Fatal(err)
	}
	stop()
	for range 4 {
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// appended 3 entries, the last one confirmed is 2
	// 0 "first"
	// 1 "second"
	// the recovered ledger ends at 2, with 16 bytes
	// the old writer: fenced
}

func serveMetadata(h host.Host) error {
	listener, err := h.Net().Listen(exampleStore)
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

func serveBookie(address string) func(host.Host) error {
	return func(h host.Host) error {
		store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(exampleStore))
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

func useLedger(h host.Host) error {
	store, err := service.Connect(h, h.Root(), service.DefaultClientConfig(exampleStore))
	if err != nil {
		return err
	}
	defer store.Close()
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
