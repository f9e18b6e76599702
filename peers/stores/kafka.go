package stores

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func kafkaStore() Store {
	return Store{
		Name: "kafka", Kind: Peer, Broker: Kafka, Cannot: everywhere, Open: openKafka,
		How: "a broker with KRaft as a process of its own, its launcher's settings of the JVM, flush.messages=1 where synced; franz-go as client, without linger and compression, acks all; the client groups what waits for it",
	}
}

const brokerPatient = 60 * time.Second

type kafkaLog struct {
	address string
	topic   string
	parts   int
	client  *kgo.Client
}

func openKafka(p Place) (Log, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(p.Address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RequiredAcks(kgo.AllISRAcks()),
	)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", p.Address, err)
	}
	l := &kafkaLog{address: p.Address, topic: p.Name, parts: p.Point.Partitions, client: client}
	if err = l.makeTopic(p.Point.Synced); err != nil {
		client.Close()
		return nil, fmt.Errorf("make topic %s of %d partitions: %w", l.topic, l.parts, err)
	}
	return l, nil
}

func (l *kafkaLog) makeTopic(synced bool) error {
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = l.topic, int32(l.parts), 1
	if synced {
		flush := kmsg.NewCreateTopicsRequestTopicConfig()
		flush.Name, flush.Value = "flush.messages", kmsg.StringPtr("1")
		topic.Configs = append(topic.Configs, flush)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = int32(brokerPatient / time.Millisecond)
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, l.client)
	if err != nil {
		return err
	}
	for _, t := range response.Topics {
		err = errors.Join(err, kerr.ErrorForCode(t.ErrorCode))
	}
	return err
}

func (l *kafkaLog) Append(partition int, payload []byte) error {
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	return l.client.ProduceSync(ctx, &kgo.Record{Topic: l.topic, Partition: int32(partition), Value: payload}).FirstErr()
}

// Read consumes all partitions at once, each from its start to what is its end now.
func (l *kafkaLog) Read(visit func([]byte)) error {
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	left, err := l.ends(ctx)
	if err != nil {
		return fmt.Errorf("ask for the ends of %s: %w", l.topic, err)
	}
	from := map[int32]kgo.Offset{}
	for i := range int32(l.parts) {
		from[i] = kgo.NewOffset().AtStart()
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(l.address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: from}))
	if err != nil {
		return err
	}
	defer consumer.Close()
	for left > 0 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("fetch from %s: %w", l.topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			visit(r.Value)
			left--
		})
	}
	return nil
}

// ends is the number of records: nothing is ever removed here, so it is the sum of the ends.
func (l *kafkaLog) ends(ctx context.Context) (sum int64, err error) {
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = l.topic
	for i := range int32(l.parts) {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = i, -1
		topic.Partitions = append(topic.Partitions, part)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, l.client)
	if err != nil {
		return 0, err
	}
	for _, t := range response.Topics {
		for _, part := range t.Partitions {
			err = errors.Join(err, kerr.ErrorForCode(part.ErrorCode))
			sum += part.Offset
		}
	}
	return sum, err
}

// Close removes the topic, so that the broker gives back the room.
func (l *kafkaLog) Close() error {
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	defer l.client.Close()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(l.topic)
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = int32(brokerPatient / time.Millisecond)
	request.Topics = append(request.Topics, topic)
	request.TopicNames = []string{l.topic}
	response, err := request.RequestWith(ctx, l.client)
	if err != nil {
		return fmt.Errorf("remove topic %s: %w", l.topic, err)
	}
	for _, t := range response.Topics {
		err = errors.Join(err, kerr.ErrorForCode(t.ErrorCode))
	}
	return err
}
