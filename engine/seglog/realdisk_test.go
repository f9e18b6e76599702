package seglog_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/engine/seglog"
	"lakebed/engine/seglog/message"
	"lakebed/engine/seglog/partition"
)

// acknowledged is what producers on real goroutines know. Its lock is not the store's.
type acknowledged struct {
	mutex    sync.Mutex
	payloads map[seglog.Placed][]byte
	next     map[int]seglog.Cursor
}

func (a *acknowledged) add(p seglog.Placed, payload []byte) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.payloads[p] != nil {
		return fmt.Errorf("%+v was given twice", p)
	}
	a.payloads[p] = payload
	a.next[p.Partition] = max(a.next[p.Partition], p.First+1)
	return nil
}

func (a *acknowledged) get(p seglog.Placed) ([]byte, seglog.Cursor) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.payloads[p], a.next[p.Partition]
}

// TestRealDisksAndGoroutines runs producers, consumers, look-ups and retention at once, in each sync mode, through a restart.
// Under -race it looks for what the simulator cannot see.
func TestRealDisksAndGoroutines(t *testing.T) {
	for _, mode := range []partition.SyncMode{partition.SyncGroup, partition.SyncAlways, partition.SyncInterval, partition.SyncNever} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			volumes := map[string]string{}
			config := smallConfig()
			config.Partition.Sync, config.SyncInterval = mode, 5*time.Millisecond
			config.LookInterval, config.WatchInterval, config.CommitPatience = 10*time.Millisecond, 10*time.Millisecond, time.Minute
			config.FreeBytesMin = 0
			for _, v := range config.Volumes {
				volumes[v] = filepath.Join(dir, v)
			}
			known := &acknowledged{payloads: map[seglog.Placed][]byte{}, next: map[int]seglog.Cursor{}}
			for round := range 2 {
				config.Partition.GroupWait = time.Duration(round) * time.Millisecond
				err := oshost.Run(t.Context(), oshost.Config{Volumes: volumes, Seed: 1}, func(h host.Host) error {
					s, err := seglog.Open(h, h.Root(), config)
					if err != nil {
						return err
					}
					return errors.Join(bustle(t, h, s, known, round), s.Close())
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(known.payloads) < 50 {
				t.Errorf("only %d messages", len(known.payloads))
			}
		})
	}
}

const realPartitions = 4

// bustle is one life.
func bustle(t *testing.T, h host.Host, s *seglog.Store, known *acknowledged, round int) error {
	if round == 0 {
		if err := s.CreateTopic(topic, seglog.TopicConfig{Partitions: realPartitions, Retention: seglog.Retention{BytesMax: 30_000}}); err != nil {
			return err
		}
	}
	tasks := h.Root().New("clients")
	until := h.Elapsed() + 300*time.Millisecond
	while := func(name string, f func(turn int) error) {
		tasks.Go(name, func() {
			for turn := 0; h.Elapsed() < until; turn++ {
				if err := f(turn); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	for producer := range 4 {
		while("producer", func(turn int) error { return produce(h, s, known, producer, turn) })
	}
	for number := range realPartitions {
		var at seglog.Cursor
		while("consumer", func(int) error { return consume(s, known, number, &at) })
		while("seeker", func(int) error {
			c, err := s.Seek(topic, number, now(h)-20)
			_, next, bounds := s.Bounds(topic, number)
			if c > next {
				return fmt.Errorf("time is found at %d of %d", c, next)
			}
			h.Root().Sleep(time.Millisecond)
			return errors.Join(err, bounds)
		})
	}
	while("retention", func(int) error {
		h.Root().Sleep(3 * time.Millisecond)
		_, err := s.Topics()
		return errors.Join(err, s.Retain())
	})
	tasks.Wait()
	return nil
}

func produce(h host.Host, s *seglog.Store, known *acknowledged, producer, turn int) error {
	number := seglog.Balanced
	if producer%2 == 0 {
		number = turn % realPartitions
	}
	var payloads [][]byte
	for i := range 1 + turn%3 {
		text := fmt.Sprintf("producer %d, turn %d, message %d %s", producer, turn, i, bytes.Repeat([]byte("x"), turn%300))
		payloads = append(payloads, payload(now(h), text))
	}
	placed, err := s.Append(topic, number, payloads...)
	for i, p := range payloads {
		if err == nil {
			err = known.add(seglog.Placed{Partition: placed.Partition, First: placed.First + seglog.Cursor(i)}, p)
		}
	}
	return err
}

// consume reads on, and begins anew where retention has been.
func consume(s *seglog.Store, known *acknowledged, number int, at *seglog.Cursor) error {
	if there, err := s.Await(topic, number, *at, 5*time.Millisecond); !there || err != nil {
		return err
	}
	_, acked := known.get(seglog.Placed{Partition: number})
	batch, err := s.Read(topic, number, *at, seglog.Limits{Messages: 20, Bytes: 4000})
	if errors.Is(err, seglog.ErrTrimmed) {
		*at, _, err = s.Bounds(topic, number)
		return err
	}
	if err != nil {
		return err
	}
	defer batch.Release()
	if len(batch.Entries) == 0 && *at < acked {
		return fmt.Errorf("nothing at %d of partition %d, and messages up to %d are acknowledged", *at, number, acked)
	}
	for _, e := range batch.Entries {
		if e.Cursor != *at {
			return fmt.Errorf("cursor %d comes where %d should", e.Cursor, *at)
		}
		want, _ := known.get(seglog.Placed{Partition: number, First: e.Cursor})
		if want != nil && !bytes.Equal(want, e.Payload) { // nil: it is visible, and its producer is not told yet
			return fmt.Errorf("cursor %d of partition %d differs", e.Cursor, number)
		}
		if _, err := message.Parse(e.Payload); err != nil {
			return err
		}
		*at++
	}
	return nil
}
