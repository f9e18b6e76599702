package commitlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/sim"
)

// smallConfig has files that hold some dozen messages, so that everything rolls.
func smallConfig(mode commitlog.FlushMode) commitlog.Config {
	c := commitlog.DefaultConfig()
	c.FileBytes, c.BodyBytesMax, c.PropertiesMax, c.GroupBytesMax = 12<<10, 2<<10, 1<<10, 4<<10
	c.Flush, c.FlushInterval = mode, 50*time.Millisecond
	c.QueueFileUnits, c.DispatchBytes = 16, 4<<10
	c.CheckpointInterval, c.CheckpointBytes, c.PendingUnitsMax = 200*time.Millisecond, 16<<10, 100
	c.OpenFilesMax, c.IndexSlots, c.IndexEntries = 4, 16, 40
	c.ReadAheadMin, c.ReadAheadMax = 256, 4<<10
	c.Retention.Interval = time.Hour
	return c
}

var (
	allModes          = []commitlog.FlushMode{commitlog.FlushAlways, commitlog.FlushGroup, commitlog.FlushInterval, commitlog.FlushNever}
	allPreallocations = []series.Preallocation{series.Sparse, series.Fallocated, series.ZeroFilled, series.Recycled}
)

// book is one store over several lives on a node.
type book struct {
	t      *testing.T
	world  *sim.World
	node   *sim.Node
	h      host.Host
	store  *commitlog.Store
	config commitlog.Config
	sent   map[string]int // messages by queue, in the order of their sending

	before func(life int, h host.Host) error // does something to the disk before a life, from 1 on, opens the store; nil: nothing
}

func newBook(t *testing.T, config commitlog.Config) *book { return newBookOf(t, config, 1) }

func newBookOf(t *testing.T, config commitlog.Config, seed uint64) *book {
	b := &book{t: t, world: sim.New(sim.Config{Seed: seed}), config: config, sent: map[string]int{}}
	b.node = b.world.NewNode("broker")
	return b
}

// lives runs one life after the other, whether each ends or crashes. Each opens the store, and closes it if it is still there.
func (b *book) lives(lives ...func() error) {
	b.t.Helper()
	next := func() {
		if b.node.Epoch() >= len(lives) {
			return
		}
		f := lives[b.node.Epoch()]
		b.node.Start(func(h host.Host) (err error) {
			b.h = h
			if b.before != nil {
				if err := b.before(b.node.Epoch(), h); err != nil {
					return err
				}
			}
			if b.store, err = commitlog.Open(h, h.Root(), b.config); err != nil {
				return err
			}
			return errors.Join(f(), b.store.Close())
		})
	}
	b.node.OnExit(func(err error, _ bool) {
		if err != nil {
			b.t.Errorf("life %d: %v", b.node.Epoch(), err)
		}
		b.world.At(0, next)
	})
	next()
	if v := b.world.Run(24 * time.Hour); v.Failed() {
		b.t.Fatal(v.String())
	}
}

func queueName(topic string, queue int32) string { return fmt.Sprintf("%s/%d", topic, queue) }

// makeMessage makes the n-th message of a queue.
func makeMessage(topic string, queue int32, n int) message.Message {
	properties, err := message.AppendProperties(nil,
		message.Property{Name: message.PropertyTags, Value: tagOf(n)}, message.Property{Name: message.PropertyKeys, Value: keyOf(n)})
	if err != nil {
		panic(err)
	}
	body := fmt.Appendf(nil, "%s/%d message %d ", topic, queue, n)
	for len(body) < 40+n*37%700 {
		body = append(body, byte(n))
	}
	return message.Message{Topic: []byte(topic), Queue: queue, Body: body, Properties: properties}
}

func tagOf(n int) string { return []string{"Aa", "BB", "red"}[n%3] }
func keyOf(n int) string { return fmt.Sprintf("key%d", n%7) }

// add appends the next message of a queue.
func (b *book) add(topic string, queue int32) error {
	name := queueName(topic, queue)
	n := b.sent[name]
	b.sent[name]++
	placed, err := b.store.Append(makeMessage(topic, queue, n))
	if err == nil && placed.QueueOffset != int64(n) {
		return fmt.Errorf("message %d of %s has offset %d", n, name, placed.QueueOffset)
	}
	return err
}

// addAll appends so many messages to each of some queues, from several tasks.
func (b *book) addAll(count int) error {
	group := b.h.Root().New("writers")
	var failed error
	for _, topic := range []string{"orders", "payments"} {
		for queue := range int32(2) {
			group.Go("writer", func() {
				for range count {
					if err := b.add(topic, queue); err != nil {
						failed = err
						return
					}
				}
			})
		}
	}
	group.Wait()
	return failed
}

// read pulls a queue from its first message to its end, and compares each with what was sent.
func (b *book) read(topic string, queue int32) (first, end int64, err error) {
	first, end, err = b.store.Bounds(topic, queue)
	if err != nil {
		return 0, 0, err
	}
	for at := first; at < end; {
		r, err := b.store.Pull(commitlog.PullRequest{Topic: topic, Queue: queue, Offset: at})
		if err != nil {
			return 0, 0, err
		}
		if r.Status != commitlog.Found {
			return 0, 0, fmt.Errorf("%s at %d of [%d, %d): %v", queueName(topic, queue), at, r.Min, r.Max, r.Status)
		}
		for _, m := range r.Messages {
			want := makeMessage(topic, queue, int(at))
			if m.QueueOffset != at || string(m.Body) != string(want.Body) || string(m.Properties) != string(want.Properties) {
				return 0, 0, fmt.Errorf("%s at %d: offset %d, %.40q", queueName(topic, queue), at, m.QueueOffset, m.Body)
			}
			at++
		}
		if at != r.Next {
			return 0, 0, fmt.Errorf("next is %d behind message %d", r.Next, at-1)
		}
	}
	return first, end, nil
}

// logFile opens a file of the log beside the store.
func (b *book) logFile(base int64) (host.File, error) {
	dir, err := b.h.Disk(commitlog.StoreVolume)
	if err != nil {
		return nil, err
	}
	logs, err := dir.Sub("commitlog")
	if err != nil {
		return nil, err
	}
	return logs.Open(series.FileName(base))
}

// settled waits until everything that was appended has its unit.
func (b *book) settled() error {
	for {
		stats := b.store.Stats()
		if stats.Dispatched == stats.Confirmed {
			return nil
		}
		if err := b.store.Failed(); err != nil {
			return err
		}
		b.h.Root().Sleep(time.Millisecond)
	}
}

// mustHold reads every queue. exact: all that was sent must be there, and nothing else may be anyway.
func (b *book) mustHold(exact bool) error {
	if err := b.settled(); err != nil {
		return err
	}
	for _, name := range host.SortedKeys(b.sent) {
		topic, queue := name[:len(name)-2], int32(name[len(name)-1]-'0')
		_, end, err := b.read(topic, queue)
		if err != nil && !errors.Is(err, commitlog.ErrNoQueue) { // the first message of a topic may be lost, too
			return err
		}
		if end > int64(b.sent[name]) || exact && end != int64(b.sent[name]) {
			return fmt.Errorf("%s ends at %d, %d were sent", name, end, b.sent[name])
		}
	}
	_, err := b.store.CheckAgreement()
	return err
}
