package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func natsStore() Store {
	return Store{
		Name: "nats jetstream", Kind: Peer, Cannot: everywhere, Open: openNATS,
		How: "a server in this process without sockets, one stream with a file store, SyncAlways where synced; a partition is a subject, as its users do it; appends are Publish of the client library, and pay for its protocol; reads are an ordered consumer",
	}
}

const (
	natsStart   = 10 * time.Second
	natsPatient = 30 * time.Second
	natsUnsync  = time.Hour // between its syncs where nothing is to be synced; the default is two minutes
	natsFetch   = 5000      // messages asked for ahead by a consumer
)

type natsLog struct {
	server   *server.Server
	conn     *nats.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream
	subjects []string
}

func openNATS(p Place) (Log, error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "peers", JetStream: true, StoreDir: p.Dir, DontListen: true, NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
		JetStreamMaxStore: 1 << 40, JetStreamMaxMemory: 1 << 30, SyncAlways: p.Point.Synced, SyncInterval: natsUnsync,
	})
	if err != nil {
		return nil, fmt.Errorf("make a server: %w", err)
	}
	l := &natsLog{server: s}
	for i := range p.Point.Partitions {
		l.subjects = append(l.subjects, fmt.Sprintf("peers.%d", i))
	}
	s.Start()
	if !s.ReadyForConnections(natsStart) {
		return nil, errors.Join(fmt.Errorf("the server is not ready after %v", natsStart), l.Close())
	}
	if l.conn, err = nats.Connect("", nats.InProcessServer(s)); err == nil {
		l.js, err = jetstream.New(l.conn)
	}
	if err == nil {
		err = l.makeStream()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *natsLog) makeStream() (err error) {
	ctx, stop := context.WithTimeout(context.Background(), natsPatient)
	defer stop()
	l.stream, err = l.js.CreateStream(ctx, jetstream.StreamConfig{Name: "peers", Subjects: []string{"peers.*"}, Storage: jetstream.FileStorage})
	return err
}

func (l *natsLog) Append(partition int, payload []byte) error {
	ctx, stop := context.WithTimeout(context.Background(), natsPatient)
	defer stop()
	_, err := l.js.Publish(ctx, l.subjects[partition], payload)
	return err
}

func (l *natsLog) Read(visit func([]byte)) error {
	ctx, stop := context.WithTimeout(context.Background(), natsPatient)
	defer stop()
	info, err := l.stream.Info(ctx)
	if err != nil {
		return err
	}
	consumer, err := l.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(natsFetch))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for range info.State.Msgs {
		m, err := messages.Next(jetstream.NextMaxWait(natsPatient))
		if err != nil {
			return err
		}
		visit(m.Data())
	}
	return nil
}

func (l *natsLog) Close() error {
	if l.conn != nil {
		l.conn.Close()
	}
	l.server.Shutdown()
	l.server.WaitForShutdown()
	return nil
}
