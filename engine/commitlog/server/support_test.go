package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/client"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/readahead"
	"lakebed/engine/commitlog/server"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

// storeConfig has files that hold some dozen messages, so that answers span several.
func storeConfig() commitlog.Config {
	c := commitlog.DefaultConfig()
	c.FileBytes, c.BodyBytesMax, c.PropertiesMax, c.GroupBytesMax = 16<<10, 8<<10, 1<<10, 4<<10
	c.QueueFileUnits, c.DispatchBytes, c.AckAfterDispatch = 50, 4<<10, true
	c.CheckpointInterval, c.CheckpointBytes, c.PendingUnitsMax = 200*time.Millisecond, 32<<10, 1000
	c.OpenFilesMax, c.KeyIndex, c.QueuesPerTopic = 8, false, 2
	c.PullBytesMax, c.PullCountMax = 20<<10, 1000
	c.Retention.Interval = time.Hour
	return c
}

func serverConfig(sender server.Sender) server.Config {
	c := server.DefaultConfig()
	c.Sender, c.SendBuffer, c.InputBuffer = sender, 3000, 512
	c.ProducesMax, c.PullsMax = 4, 3
	c.ReadAhead = readahead.Config{Min: 1 << 10, Max: 16 << 10}
	return c
}

func clientConfig() client.Config {
	c := client.DefaultConfig()
	c.FrameBytesMax, c.InputBuffer, c.Timeout, c.WriteStall, c.DialTimeout = 1<<20, 700, 5*time.Second, time.Second, time.Second
	return c
}

// broker runs a store with a server until its node is stopped.
type broker struct {
	store  commitlog.Config
	server server.Config
	seen   func(*commitlog.Store, *server.Server) // once both are there
}

func (b broker) boot(h host.Host, address string) error {
	store, err := commitlog.Open(h, h.Root(), b.store)
	if err != nil {
		return err
	}
	listener, err := h.Net().Listen(address)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	s := server.Serve(h, h.Root(), store, listener, b.server)
	if b.seen != nil {
		b.seen(store, s)
	}
	host.AwaitStop(h.Root())
	memory := h.Memory().InUse()
	s.Close()
	if b.server.Prefetch == server.PrefetchOff && h.Memory().InUse() > memory {
		return fmt.Errorf("%d bytes of buffers are in use after the close, %d before", h.Memory().InUse(), memory)
	}
	return store.Close()
}

// talk is what a client's node does.
type talk func(h host.Host, c *client.Client) error

func (f talk) boot(h host.Host, address string) error {
	c, err := client.New(h, h.Root(), address, clientConfig())
	if err != nil {
		return err
	}
	for range 1000 { // until the server is there
		if _, err = c.Pull(commitlog.PullRequest{Topic: "nobody"}); errors.Is(err, commitlog.ErrNoQueue) {
			break
		}
		h.Root().Sleep(5 * time.Millisecond)
	}
	err = f(h, c)
	c.Close()
	return err
}

const address = "broker:10911"

// inWorld lets a broker and a client meet in a simulated world. break may prepare the world.
func inWorld(t *testing.T, seed uint64, b broker, f talk, prepare ...func(w *sim.World, broker, client *sim.Node)) {
	t.Helper()
	w := sim.New(sim.Config{Seed: seed, LockYieldPermille: int(seed%3) * 100})
	s, c := w.NewNode("broker"), w.NewNode("client")
	c.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("client: %v", err)
		}
		s.Stop()
	})
	s.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Errorf("broker: %v", err)
		}
	})
	for _, p := range prepare {
		p(w, s, c)
	}
	s.Start(func(h host.Host) error { return b.boot(h, address) })
	c.Start(func(h host.Host) error { return f.boot(h, address) })
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

// onMachine lets them meet on goroutines, files and TCP.
func onMachine(t *testing.T, b broker, f talk) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	at := make(chan string, 1)
	seen := b.seen
	b.seen = func(store *commitlog.Store, s *server.Server) {
		if seen != nil {
			seen(store, s)
		}
		at <- s.Addr()
	}
	served := make(chan error, 1)
	volumes := map[string]string{commitlog.StoreVolume: t.TempDir()}
	go func() {
		served <- oshost.Run(ctx, oshost.Config{Volumes: volumes}, func(h host.Host) error { return b.boot(h, "127.0.0.1:0") })
	}()
	select {
	case where := <-at:
		if err := oshost.Run(context.Background(), oshost.Config{}, func(h host.Host) error { return f.boot(h, where) }); err != nil {
			t.Error(err)
		}
	case err := <-served:
		t.Fatal(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// makeMessage makes the n-th message of a queue. Lengths differ, and some are longer than what is sent at once.
func makeMessage(queue int32, n int) message.Message {
	tag := []string{"red", "blue"}[n%2]
	properties, err := message.AppendProperties(nil, message.Property{Name: message.PropertyTags, Value: tag})
	if err != nil {
		panic(err)
	}
	body := fmt.Appendf(nil, "queue %d message %d ", queue, n)
	for length := n * n * 37 % 4000; len(body) < length; {
		body = append(body, byte(n+len(body)))
	}
	return message.Message{Topic: []byte("orders"), Queue: queue, Body: body, Properties: properties, Flag: int32(n), BornTimestamp: int64(n)}
}

// fill appends messages to both queues.
func fill(c *client.Client, messages int) error {
	for n := range messages {
		for queue := range int32(2) {
			placed, err := c.Append(makeMessage(queue, n))
			if err != nil || placed.QueueOffset != int64(n) || placed.Queue != queue {
				return fmt.Errorf("message %d of queue %d was placed at %+v: %w", n, queue, placed, err)
			}
		}
	}
	return nil
}

// readAll pulls a queue to its end and compares it with what was filled in.
func readAll(c *client.Client, queue int32, messages int) error {
	for next := int64(0); next < int64(messages); {
		r, err := c.Pull(commitlog.PullRequest{Topic: "orders", Queue: queue, Offset: next})
		if err != nil {
			return err
		}
		if r.Status != commitlog.Found || r.Max != int64(messages) {
			return fmt.Errorf("pull at %d: %v, %d messages of %d, up to %d", next, r.Status, len(r.Messages), messages, r.Max)
		}
		for i := range r.Messages {
			if err := same(&r.Messages[i], queue, int(next)+i); err != nil {
				return err
			}
		}
		next += int64(len(r.Messages))
	}
	return nil
}

func same(got *message.Message, queue int32, n int) error {
	want := makeMessage(queue, n)
	if string(got.Body) != string(want.Body) || string(got.Properties) != string(want.Properties) || got.Flag != want.Flag ||
		got.BornTimestamp != want.BornTimestamp || got.QueueOffset != int64(n) {
		return fmt.Errorf("message %d of queue %d is another: %+v", n, queue, got)
	}
	return nil
}
