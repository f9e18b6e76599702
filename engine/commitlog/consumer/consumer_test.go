package consumer_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/consumer"
	"lakebed/engine/commitlog/message"
	"lakebed/engine/host"
	"lakebed/engine/host/oshost"
	"lakebed/sim"
)

const topic = "orders"

func storeConfig() commitlog.Config {
	c := commitlog.DefaultConfig()
	c.FileBytes, c.BodyBytesMax, c.PropertiesMax, c.KeyIndex = 16<<10, 2<<10, 100, false
	c.Retention.Interval = time.Hour
	return c
}

func settings(d consumer.Delivery) consumer.Config {
	c := consumer.DefaultConfig()
	c.Delivery, c.Permits, c.Count, c.PollInterval = d, 10, 4, 50*time.Millisecond
	return c
}

var deliveries = []consumer.Delivery{consumer.LongPoll, consumer.ShortPoll, consumer.Push}

// inStore runs f with a store on a simulated node.
func inStore(t *testing.T, f func(h host.Host, s *commitlog.Store) error) {
	t.Helper()
	w := sim.New(sim.Config{Seed: 3})
	n := w.NewNode("broker")
	n.Start(func(h host.Host) error { return withStore(h, f) })
	n.OnExit(func(err error, _ bool) {
		if err != nil {
			t.Error(err)
		}
	})
	if v := w.Run(time.Hour); v.Failed() {
		t.Fatal(v.String())
	}
}

func withStore(h host.Host, f func(h host.Host, s *commitlog.Store) error) error {
	s, err := commitlog.Open(h, h.Root(), storeConfig())
	if err != nil {
		return err
	}
	if err := s.CreateTopic(topic, 1); err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(f(h, s), s.Close())
}

func appendAll(s *commitlog.Store, from, to int) error {
	for n := from; n < to; n++ {
		if _, err := s.Append(message.Message{Topic: []byte(topic), Body: fmt.Appendf(nil, "%d", n)}); err != nil {
			return err
		}
	}
	return nil
}

// take receives until so many messages have come, and wants them in order.
func take(c *consumer.Consumer, from, to int) error {
	for from < to {
		found, err := c.Receive()
		if err != nil {
			return err
		}
		for _, m := range found {
			if string(m.Body) != fmt.Sprint(from) {
				return fmt.Errorf("message %s comes where %d should", m.Body, from)
			}
			from++
		}
	}
	return nil
}

// TestMessagesComeInOrderAndOnce, those that are there and those that come later, in every way of delivery.
func TestMessagesComeInOrderAndOnce(t *testing.T) {
	for _, d := range deliveries {
		inStore(t, func(h host.Host, s *commitlog.Store) error {
			if err := appendAll(s, 0, 50); err != nil {
				return err
			}
			c, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic}, settings(d))
			if err != nil {
				return err
			}
			if err := take(c, 0, 50); err != nil {
				return fmt.Errorf("%s: %w", d, err)
			}
			h.Root().Go("later", func() {
				h.Root().Sleep(time.Second)
				if err := appendAll(s, 50, 70); err != nil {
					t.Error(err)
				}
			})
			err = take(c, 50, 70)
			if got := c.Stats().Messages; got != 70 {
				t.Errorf("%s: %d messages", d, got)
			}
			c.Close()
			return err
		})
	}
}

// TestAPollAsksAsOftenAsItsTimesSay: in ten seconds of nothing a long poll of three seconds asks four times, a short one of
// 50 ms some two hundred times, and a push asks for permits once.
func TestAPollAsksAsOftenAsItsTimesSay(t *testing.T) {
	for d, bounds := range map[consumer.Delivery][2]int64{consumer.LongPoll: {3, 4}, consumer.ShortPoll: {150, 201}, consumer.Push: {1, 1}} {
		inStore(t, func(h host.Host, s *commitlog.Store) error {
			config := settings(d)
			config.Hold = 3 * time.Second
			c, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic}, config)
			if err != nil {
				return err
			}
			receiver := h.Root().New("receiver")
			receiver.Go("receiver", func() {
				if found, err := c.Receive(); !errors.Is(err, consumer.ErrClosed) {
					t.Errorf("%s: %v, %v", d, found, err)
				}
			})
			h.Root().Sleep(10 * time.Second)
			if n := c.Stats().Requests; n < bounds[0] || n > bounds[1] {
				t.Errorf("%s asked %d times, want %d to %d", d, n, bounds[0], bounds[1])
			}
			c.Close()
			receiver.Wait()
			return nil
		})
	}
}

// TestPermitsBoundWhatIsUnderWay: nobody receives, and no more than the permits are sent.
func TestPermitsBoundWhatIsUnderWay(t *testing.T) {
	inStore(t, func(h host.Host, s *commitlog.Store) error {
		if err := appendAll(s, 0, 100); err != nil {
			return err
		}
		c, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic}, settings(consumer.Push))
		if err != nil {
			return err
		}
		h.Root().Sleep(time.Second)
		if got := c.Stats(); got.WaitingMax != 10 || got.WaitingBytes != got.WaitingBytesMax {
			t.Errorf("%+v, with ten permits", got)
		}
		err = take(c, 0, 100)
		if got := c.Stats(); got.WaitingMax > 10 || got.WaitingBytes != 0 {
			t.Errorf("%+v after all were taken", got)
		}
		c.Close()
		return err
	})
}

// TestAnOffsetBehindTheEndIsAnError, and so are settings that cannot work.
func TestAnOffsetBehindTheEndIsAnError(t *testing.T) {
	inStore(t, func(h host.Host, s *commitlog.Store) error {
		if err := appendAll(s, 0, 3); err != nil {
			return err
		}
		for _, d := range deliveries {
			c, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic, Offset: 9}, settings(d))
			if err != nil {
				return err
			}
			if _, err := c.Receive(); !errors.Is(err, consumer.ErrAhead) {
				t.Errorf("%s: %v", d, err)
			}
			c.Close()
		}
		for _, wrong := range []func(*consumer.Config){
			func(c *consumer.Config) { c.Delivery = "mail" }, func(c *consumer.Config) { c.Permits = 0 },
		} {
			config := settings(consumer.Push)
			wrong(&config)
			if _, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic}, config); err == nil {
				t.Errorf("%+v is taken", config)
			}
		}
		return nil
	})
}

// TestConsumersOnGoroutines take what several producers send, in every way. Under -race it looks for what the simulator
// cannot see.
func TestConsumersOnGoroutines(t *testing.T) {
	for _, d := range deliveries {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			config := oshost.Config{Volumes: map[string]string{commitlog.StoreVolume: t.TempDir()}, Seed: 1}
			err := oshost.Run(t.Context(), config, func(h host.Host) error {
				return withStore(h, func(h host.Host, s *commitlog.Store) error { return bustle(h, s, d) })
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func bustle(h host.Host, s *commitlog.Store, d consumer.Delivery) error {
	const producers, each = 3, 40
	var mutex sync.Mutex
	var failed error
	tasks := h.Root().New("producers")
	for range producers {
		tasks.Go("producer", func() {
			err := appendAll(s, 0, each)
			mutex.Lock()
			defer mutex.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	config := settings(d)
	config.PollInterval, config.Hold = time.Millisecond, 100*time.Millisecond
	c, err := consumer.Open(h, h.Root(), s, consumer.Queue{Topic: topic}, config)
	if err != nil {
		return err
	}
	for at := int64(0); at < producers*each; {
		found, err := c.Receive()
		if err != nil {
			return err
		}
		for _, m := range found {
			if m.QueueOffset != at {
				return fmt.Errorf("offset %d comes where %d should", m.QueueOffset, at)
			}
			at++
		}
	}
	tasks.Wait()
	c.Close()
	return failed
}
