package consumer

import (
	"errors"
	"fmt"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
)

var (
	// ErrClosed says that the consumer is closed, or its group stops.
	ErrClosed = errors.New("consumer is closed")
	// ErrAhead says that the offset is behind the end of the queue: it is another queue's, or the log was lost.
	ErrAhead = errors.New("offset is behind the end of the queue")
)

// Delivery says how messages come.
type Delivery string

// The ways.
const (
	LongPoll  Delivery = "long-poll"  // a pull that finds nothing waits in the store
	ShortPoll Delivery = "short-poll" // a pull that finds nothing is answered so, and comes again
	Push      Delivery = "push"       // the store's side sends as far as permits reach
)

// Config says how a consumer takes messages.
type Config struct {
	Delivery     Delivery
	Hold         time.Duration // LongPoll: how long a pull waits in the store (brokerSuspendMaxTimeMillis)
	PollInterval time.Duration // ShortPoll: between two pulls that find nothing (shortPollingTimeMills)
	Permits      int           // Push: messages sent and not taken yet (receiverQueueSize)
	Count        int           // messages of one answer (pullBatchSize)
}

// DefaultConfig is long polling with upstream's times.
func DefaultConfig() Config {
	return Config{Delivery: LongPoll, Hold: 15 * time.Second, PollInterval: time.Second, Permits: 1000, Count: 32}
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.Delivery != LongPoll && c.Delivery != ShortPoll && c.Delivery != Push:
		return fmt.Errorf("delivery %q: want long-poll, short-poll or push", c.Delivery)
	case c.Hold <= 0 || c.PollInterval <= 0 || c.Permits < 1 || c.Count < 1:
		return fmt.Errorf("hold %v, poll interval %v, permits %d and messages of an answer %d: must be positive",
			c.Hold, c.PollInterval, c.Permits, c.Count)
	}
	return nil
}

// Source is the store, or what stands for it.
type Source interface {
	Pull(r commitlog.PullRequest) (commitlog.PullResult, error)
}

// Queue names a queue and where in it to begin.
type Queue struct {
	Topic  string
	ID     int32
	Offset int64
}

// Stats count what a consumer did.
type Stats struct {
	Requests        int64 // that a client on another machine would have sent: pulls, or grants of permits
	Empty           int64 // of them, those that were answered with nothing
	Messages        int64 // received
	Missed          int64 // removed before they were received
	WaitingMax      int   // messages that were sent and not taken, at most
	WaitingBytes    int64 // their bytes now
	WaitingBytesMax int64 // and at most
}

// Consumer takes the messages of one queue. One task may receive at a time.
type Consumer struct {
	h      host.Host
	tasks  host.Group
	source Source
	config Config
	queue  Queue // its offset is that of the next pull

	mutex   host.Mutex
	changed host.Cond // messages came, or permits, or the end
	waiting []message.Message
	permits int // messages that may still be sent
	taken   int // messages received since permits were granted last
	failed  error
	stats   Stats
}

// Open makes a consumer whose tasks belong below g.
func Open(h host.Host, g host.Group, source Source, queue Queue, config Config) (*Consumer, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("open consumer: %w", err)
	}
	c := &Consumer{h: h, tasks: g.New("consumer"), source: source, config: config, queue: queue, mutex: h.NewMutex("consumer")}
	c.changed = c.tasks.NewCond(c.mutex)
	if config.Delivery == Push {
		c.permits, c.stats.Requests = config.Permits, 1
		c.tasks.Go("consumer-push", c.push)
	}
	return c, nil
}

// Close ends the consumer. A pull under way ends when its time is over.
func (c *Consumer) Close() {
	c.tasks.Stop()
	c.tasks.Wait()
}

// Receive returns the next messages, in the order of the queue, and waits until there are any. ErrClosed: the consumer's group
// stops.
func (c *Consumer) Receive() ([]message.Message, error) {
	if c.config.Delivery == Push {
		return c.receivePushed()
	}
	for !c.tasks.Stopping() {
		found, err := c.pull(c.config.Count)
		c.mutex.Lock()
		c.stats.Requests++
		c.stats.Messages += int64(len(found))
		if len(found) == 0 && err == nil {
			c.stats.Empty++
		}
		c.mutex.Unlock()
		if len(found) > 0 || err != nil {
			return found, err
		}
		if c.config.Delivery == ShortPoll && !c.tasks.Sleep(c.config.PollInterval) {
			break
		}
	}
	return nil, ErrClosed
}

// pull asks the store once. It is called by one task.
func (c *Consumer) pull(count int) ([]message.Message, error) {
	r := commitlog.PullRequest{Topic: c.queue.Topic, Queue: c.queue.ID, Offset: c.queue.Offset, Count: count}
	if c.config.Delivery != ShortPoll {
		r.Suspend = c.config.Hold
	}
	found, err := c.source.Pull(r)
	switch {
	case err != nil:
		return nil, fmt.Errorf("receive from queue %d of topic %s: %w", c.queue.ID, c.queue.Topic, err)
	case found.Status == commitlog.OffsetOverflowBadly:
		return nil, fmt.Errorf("offset %d of queue %d of topic %s, which ends at %d: %w",
			c.queue.Offset, c.queue.ID, c.queue.Topic, found.Max, ErrAhead)
	case found.Status == commitlog.OffsetTooSmall:
		c.mutex.Lock()
		c.stats.Missed += found.Next - c.queue.Offset
		c.mutex.Unlock()
	case found.Status == commitlog.NoMessageInQueue:
		return nil, nil // its next offset says nothing about ours
	}
	c.queue.Offset = found.Next
	return found.Messages, nil
}

// push is the store's side of Push: it sends while there are permits.
func (c *Consumer) push() {
	for {
		count, ok := c.awaitPermits()
		if !ok {
			return
		}
		found, err := c.pull(count)
		c.mutex.Lock()
		c.permits -= len(found)
		c.waiting = append(c.waiting, found...)
		for i := range found {
			c.stats.WaitingBytes += int64(found[i].Size())
		}
		c.stats.WaitingMax = max(c.stats.WaitingMax, len(c.waiting))
		c.stats.WaitingBytesMax = max(c.stats.WaitingBytesMax, c.stats.WaitingBytes)
		c.failed = err
		c.changed.Broadcast()
		c.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// awaitPermits is how many messages may be sent together.
func (c *Consumer) awaitPermits() (int, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.permits == 0 {
		if !c.changed.Wait() {
			return 0, false
		}
	}
	return min(c.permits, c.config.Count), !c.tasks.Stopping()
}

// receivePushed takes messages that were sent, as many as one answer would have. Permits are granted again when half of them
// were used, so that sending goes on meanwhile.
func (c *Consumer) receivePushed() ([]message.Message, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for len(c.waiting) == 0 {
		if c.failed != nil {
			return nil, c.failed
		}
		if !c.changed.Wait() {
			return nil, ErrClosed
		}
	}
	n := min(len(c.waiting), c.config.Count)
	found := append([]message.Message(nil), c.waiting[:n]...)
	c.waiting = append(c.waiting[:0], c.waiting[n:]...)
	for i := range found {
		c.stats.WaitingBytes -= int64(found[i].Size())
	}
	c.stats.Messages += int64(n)
	if c.taken += n; 2*c.taken >= c.config.Permits {
		c.permits += c.taken
		c.taken = 0
		c.stats.Requests++
		c.changed.Broadcast()
	}
	return found, nil
}

// Stats tells what the consumer did so far.
func (c *Consumer) Stats() Stats {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.stats
}
