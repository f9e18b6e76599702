package segments_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"

	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/service"
	"lakebed/service/call"
	"lakebed/service/segments"
	"lakebed/service/segmentserver"
	"lakebed/service/wire"
)

// server is a segment log with a server in this process, for the examples: elsewhere it is "simrun log serve --dir DIR --socket PATH".
func server() (call.Config, func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	h, err := oshost.New(oshost.Config{Volumes: map[string]string{"disk0": dir}})
	if err != nil {
		log.Fatal(err)
	}
	config := seglog.DefaultConfig()
	config.FreeBytesMin = 0
	store, err := seglog.Open(h, h.Root(), config)
	if err != nil {
		log.Fatal(err)
	}
	s, err := segmentserver.New(store, segmentserver.DefaultConfig())
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

// A producer appends, a consumer reads on from where it was.
func Example() {
	config, stop := server() // or call.Config{URL: "http://127.0.0.1:8080"}, or call.Config{Socket: "/run/mstore.sock"}
	defer stop()
	ctx := context.Background()
	client, err := segments.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateTopic(ctx, segments.NewTopic{Name: "access", Partitions: 1}); err != nil {
		log.Fatal(err)
	}
	at := uint64(1555553312)
	group := []segments.Group{{Time: &at, Source: wire.Bytes("edge-7"), Payload: wire.Bytes("GET /index.html 200\nGET /a 404\n")}}
	placed, err := client.Append(ctx, "access", segments.Balanced, group)
	switch {
	case errors.Is(err, wire.OutcomeUnknown):
		log.Fatal("it may be stored or not; only you know whether it may be stored twice: ", err)
	case err != nil:
		log.Fatal("it is not stored: ", err)
	}
	fmt.Println("first cursor", placed.First)

	batch, err := client.Fetch(ctx, "access", 0, segments.Oldest(), segments.FetchOptions{Groups: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range batch.Messages {
		fmt.Printf("%d: %s", m.Cursor, m.Groups[0].Payload)
	}
	fmt.Println("go on at", batch.Next)
	// Output:
	// first cursor 0
	// 0: GET /index.html 200
	// GET /a 404
	// go on at 1
}

// What retention has removed, and what is not there yet, are told apart by class.
func ExampleClient_Fetch() {
	config, stop := server()
	defer stop()
	ctx := context.Background()
	client, err := segments.New(config)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, err = client.Fetch(ctx, "none", 0, segments.At(5), segments.FetchOptions{})
	fmt.Println(errors.Is(err, wire.NotFound))
	if _, err := client.CreateTopic(ctx, segments.NewTopic{Name: "access", Partitions: 1}); err != nil {
		log.Fatal(err)
	}
	_, err = client.Fetch(ctx, "access", 0, segments.At(5), segments.FetchOptions{})
	fmt.Println(errors.Is(err, wire.Beyond))
	// Output:
	// true
	// true
}
