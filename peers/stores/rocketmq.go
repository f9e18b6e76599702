package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func rocketStore() Store {
	return Store{
		Name: "rocketmq", Kind: Peer, Broker: RocketMQ, Cannot: everywhere, Open: openRocket,
		How: "a broker and its name server as processes of their own, SYNC_FLUSH or ASYNC_FLUSH; rocketmq-client-go as client, SendSync, without compression; the broker groups; reads are PullFrom of each queue, 32 messages at most, the broker's default",
	}
}

const (
	rocketBroker  = "peers" // the broker's name, see package jvm
	rocketPull    = 32      // maxTransferCountOnMessageInMemory
	rocketNoPress = 1 << 30 // bodies longer than this are compressed
)

type rocketLog struct {
	topic    string
	queues   []*primitive.MessageQueue
	ends     []atomic.Int64 // of the queues, as acknowledgements said
	producer rocketmq.Producer
	consumer rocketmq.PullConsumer
}

// openRocket takes the addresses of the name server and of the broker, with a comma between them.
func openRocket(p Place) (Log, error) {
	rlog.SetLogLevel("error")
	names, broker, ok := strings.Cut(p.Address, ",")
	if !ok {
		return nil, fmt.Errorf("address %q: want the name server's and the broker's", p.Address)
	}
	resolver := primitive.NewPassthroughResolver([]string{names})
	l := &rocketLog{topic: p.Name, ends: make([]atomic.Int64, p.Point.Partitions)}
	for i := range p.Point.Partitions {
		l.queues = append(l.queues, &primitive.MessageQueue{Topic: l.topic, BrokerName: rocketBroker, QueueId: i})
	}
	if err := l.makeTopic(resolver, broker); err != nil {
		return nil, fmt.Errorf("make topic %s of %d queues: %w", l.topic, len(l.queues), err)
	}
	var err error
	l.producer, err = rocketmq.NewProducer(
		producer.WithNsResolver(resolver), producer.WithGroupName("peers-"+p.Name), producer.WithRetry(0), producer.WithSendMsgTimeout(brokerPatient),
		producer.WithQueueSelector(producer.NewManualQueueSelector()), producer.WithCompressMsgBodyOverHowmuch(rocketNoPress),
	)
	if err == nil {
		err = l.producer.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a producer: %w", err)
	}
	l.consumer, err = rocketmq.NewPullConsumer(consumer.WithNsResolver(resolver), consumer.WithGroupName("peers-reader-"+p.Name))
	if err == nil {
		err = l.consumer.Assign(l.topic, nil) // it wants to know a topic; with queues it would pull by itself
	}
	if err == nil {
		err = l.consumer.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a consumer: %w", err), l.producer.Shutdown())
	}
	return l, nil
}

func (l *rocketLog) makeTopic(resolver primitive.NsResolver, broker string) error {
	a, err := admin.NewAdmin(admin.WithResolver(resolver))
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	err = a.CreateTopic(ctx, admin.WithTopicCreate(l.topic), admin.WithBrokerAddrCreate(broker),
		admin.WithReadQueueNums(len(l.queues)), admin.WithWriteQueueNums(len(l.queues)))
	return errors.Join(err, a.Close())
}

func (l *rocketLog) Append(partition int, payload []byte) error {
	r, err := l.producer.SendSync(context.Background(), &primitive.Message{Topic: l.topic, Body: payload, Queue: l.queues[partition]})
	if err != nil {
		return err
	}
	if r.Status != primitive.SendOK {
		return fmt.Errorf("send to queue %d: status %d", partition, r.Status)
	}
	for end := &l.ends[partition]; ; {
		if known := end.Load(); known > r.QueueOffset || end.CompareAndSwap(known, r.QueueOffset+1) {
			return nil
		}
	}
}

// Read pulls every queue up to what was acknowledged. A pull at a queue's end would be held by the broker for seconds, and one
// of what is not dispatched yet is.
func (l *rocketLog) Read(visit func([]byte)) error {
	ctx, stop := context.WithTimeout(context.Background(), brokerPatient)
	defer stop()
	for _, queue := range l.queues {
		for at, end := int64(0), l.ends[queue.QueueId].Load(); at < end; {
			r, err := l.consumer.PullFrom(ctx, queue, at, rocketPull)
			if err != nil {
				return fmt.Errorf("pull queue %d at %d: %w", queue.QueueId, at, err)
			}
			if r.Status != primitive.PullFound {
				continue // until it is there, or the patience ends
			}
			for _, m := range r.GetMessageExts() {
				visit(m.Body)
			}
			at = r.NextBeginOffset
		}
	}
	return nil
}

func (l *rocketLog) Close() error { return errors.Join(l.consumer.Shutdown(), l.producer.Shutdown()) }
