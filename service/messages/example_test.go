package messages_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/host/oshost"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/messages"
	"lakebed/service/messageserver"
	"lakebed/service/wire"
)

// server is a commit log with a server in this process, for the example: elsewhere it is "simrun mq serve --dir DIR --socket PATH".
func server() (call.Config, func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{commitlog.StoreVolume: dir}})
	if err != nil {
		log.Fatal(err)
	}
	config := commitlog.DefaultConfig()
	config.FileBytes, config.AckAfterDispatch = 8<<20, true
	config.IndexSlots, config.IndexEntries = 100, 1000
	config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1
	store, err := commitlog.Open(h, h.Root(), config)
	if err != nil {
		log.Fatal(err)
	}
	s, err := messageserver.New(store, messageserver.DefaultConfig(config))
	if err != nil {
		log.Fatal(err)
	}
	pipe := service.NewPipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, pipe) }()
	return call.Config{Dial: func(context.Context) (net.Conn, error) { return pipe.Dial() }}, func() {
		stop()
		err := errors.Join(<-ended, store.Close())
		s.Join()
		h.Root().Stop()
		if err = errors.Join(err, h.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// A producer sends messages with tags and keys, a consumer pulls those that it wants, and one is found by its key.
func Example() {
	config, stop := server() // or call.Config{URL: "http://127.0.0.1:8081"}, or call.Config{Socket: "/run/mq.sock"}
	defer stop()
	ctx := context.Background()
	client, err := messages.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateTopic(ctx, messages.NewTopic{Name: "orders", Queues: 1}); err != nil {
		log.Fatal(err)
	}
	for n, tag := range []string{"paid", "refused", "paid"} {
		m := messages.NewMessage{Body: wire.Bytes(fmt.Sprintf("order %d is %s", n, tag)), Tag: tag, Keys: []string{fmt.Sprint("o-", n)}}
		if _, err := client.Append(ctx, "orders", messages.AnyQueue, m); err != nil {
			log.Fatal(err, errors.Is(err, wire.OutcomeUnknown))
		}
	}
	pulled, err := client.Pull(ctx, "orders", 0, 0, messages.PullOptions{Tags: "paid || shipped", Wait: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range pulled.Messages {
		fmt.Printf("%d: %s\n", m.Offset, m.Body)
	}
	fmt.Println("go on at", pulled.Next)
	found, err := client.Query(ctx, "orders", "o-1", time.Time{}, time.Time{}, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("by key: %s\n", found[0].Body)
	// Output:
	// 0: order 0 is paid
	// 2: order 2 is paid
	// go on at 3
	// by key: order 1 is refused
}
