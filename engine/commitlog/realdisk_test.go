package commitlog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/series"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
)

// onDisk runs one life of a store on this machine.
func onDisk(t *testing.T, dir string, config commitlog.Config, life func(h host.Host, s *commitlog.Store) error) {
	t.Helper()
	err := oshost.Run(t.Context(), oshost.Config{Volumes: map[string]string{commitlog.StoreVolume: dir}, Seed: 1}, func(h host.Host) error {
		s, err := commitlog.Open(h, h.Root(), config)
		if err != nil {
			return err
		}
		return errors.Join(life(h, s), s.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheStoreWorksOnARealDisk with writers, waiting consumers and retention as tasks of their own, through several starts, in
// every flush mode and with every preallocation. Under -race it looks for what the simulator cannot see.
func TestTheStoreWorksOnARealDisk(t *testing.T) {
	for i, mode := range allModes {
		config := smallConfig(mode)
		config.Preallocation, config.AckAfterDispatch = allPreallocations[i], i%2 == 0
		config.FlushInterval, config.CheckpointInterval = 3*time.Millisecond, 5*time.Millisecond
		config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1 // whatever disk this is
		dir := filepath.Join(t.TempDir(), "store")
		const writers, queues, each = 6, 3, 60
		perQueue := int64(writers / queues * each)
		for round := range int64(2) {
			config.GroupWait = time.Duration(round) * time.Millisecond
			onDisk(t, dir, config, func(h host.Host, s *commitlog.Store) error {
				if err := s.CreateTopic("orders", queues); err != nil {
					return err
				}
				tasks := h.Root().New("clients")
				failures := collected{}
				for w := range writers {
					tasks.Go("writer", func() {
						for n := range each {
							if _, err := s.Append(makeMessage("orders", int32(w%queues), n)); err != nil {
								failures.add(err)
								return
							}
						}
					})
				}
				for queue := range int32(queues) {
					tasks.Go("consumer", func() { failures.add(consume(s, queue, round*perQueue, (round+1)*perQueue)) })
				}
				tasks.Go("cleaner", func() {
					for range 10 {
						failures.add(s.Clean())
						tasks.Sleep(time.Millisecond)
					}
				})
				tasks.Wait()
				if err := failures.joined(); err != nil {
					return err
				}
				_, err := s.CheckAgreement()
				return err
			})
		}
		onDisk(t, dir, config, func(_ host.Host, s *commitlog.Store) error {
			a, err := s.CheckAgreement()
			if a.Queued != 2*writers*each {
				t.Errorf("%s: %d messages are there, %d were sent", mode, a.Queued, 2*writers*each)
			}
			return err
		})
	}
}

// TestQueuesBeginWhereTheLogDoesWhileFilesGo: pulls and bounds of several tasks look for a queue's first message while retention moves it. It
// never moves back, and who begins there gets it, or is told that it is gone by now.
func TestQueuesBeginWhereTheLogDoesWhileFilesGo(t *testing.T) {
	config := smallConfig(commitlog.FlushInterval)
	config.CheckpointInterval = time.Millisecond
	config.Retention.Age, config.Retention.DeleteHours = time.Millisecond, everyHour()
	config.Retention.DiskMaxUsed, config.Retention.DiskForcibly, config.Retention.DiskWarning = 1, 1, 1
	onDisk(t, filepath.Join(t.TempDir(), "store"), config, func(h host.Host, s *commitlog.Store) error {
		if err := s.CreateTopic("orders", 2); err != nil {
			return err
		}
		tasks := h.Root().New("clients")
		failures := collected{}
		writing := h.NewCounter("writing")
		writing.Store(1)
		tasks.Go("writer", func() {
			for n := range 600 {
				_, err := s.Append(makeMessage("orders", int32(n%2), n/2))
				failures.add(err)
			}
			writing.Store(0)
		})
		for reader := range int32(4) {
			tasks.Go("reader", func() {
				for writing.Load() > 0 {
					failures.add(begins(s, reader%2))
				}
			})
		}
		tasks.Go("cleaner", func() {
			for writing.Load() > 0 {
				failures.add(s.Clean())
				tasks.Sleep(time.Millisecond)
			}
		})
		tasks.Wait()
		if s.Stats().First == 0 {
			t.Error("no file has gone")
		}
		return failures.joined()
	})
}

// begins looks where a queue begins, twice, and pulls from there.
func begins(s *commitlog.Store, queue int32) error {
	low, high, err := s.Bounds("orders", queue)
	if err != nil || low == high {
		return err
	}
	r, err := s.Pull(commitlog.PullRequest{Topic: "orders", Queue: queue, Offset: low})
	if err != nil {
		return err
	}
	if r.Min < low || r.Status == commitlog.Found && r.Messages[0].QueueOffset != low || r.Status != commitlog.Found && r.Min == low && r.Max > low {
		return fmt.Errorf("queue %d begins at %d, and then: %v, %d to %d", queue, low, r.Status, r.Min, r.Max)
	}
	return nil
}

// consume pulls a queue between two offsets, and waits where it has to.
func consume(s *commitlog.Store, queue int32, at, end int64) error {
	for at < end {
		r, err := s.Pull(commitlog.PullRequest{Topic: "orders", Queue: queue, Offset: at, Suspend: 10 * time.Second})
		if err != nil {
			return err
		}
		if len(r.Messages) == 0 {
			return fmt.Errorf("queue %d at %d of %d: %v after waiting", queue, at, end, r.Status)
		}
		for _, m := range r.Messages {
			if m.QueueOffset != at {
				return fmt.Errorf("queue %d: message %d where %d comes next", queue, m.QueueOffset, at)
			}
			at++
		}
	}
	return nil
}

// collected are failures of several tasks.
type collected struct {
	mutex sync.Mutex
	all   []error
}

func (c *collected) add(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.all = append(c.all, err)
}

func (c *collected) joined() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return errors.Join(c.all...)
}

// BenchmarkAppend is one appender's view: 64 at the same time, 1 KiB each, in every flush mode.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range allModes {
		b.Run(string(mode), func(b *testing.B) {
			config := commitlog.DefaultConfig()
			config.Flush, config.FileBytes, config.Preallocation = mode, 256<<20, series.Fallocated
			volumes := map[string]string{commitlog.StoreVolume: b.TempDir()}
			err := oshost.Run(b.Context(), oshost.Config{Volumes: volumes, Seed: 1}, func(h host.Host) error {
				s, err := commitlog.Open(h, h.Root(), config)
				if err != nil {
					return err
				}
				body := make([]byte, 1024)
				tasks := h.Root().New("appenders")
				left := h.NewCounter("left")
				left.Store(int64(b.N))
				b.ResetTimer()
				for i := range int32(64) {
					tasks.Go("appender", func() {
						m := makeMessage("bench", i%4, 0)
						m.Body = body
						for left.Add(-1) >= 0 {
							if _, err := s.Append(m); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				tasks.Wait()
				b.StopTimer()
				b.SetBytes(1024)
				return s.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
